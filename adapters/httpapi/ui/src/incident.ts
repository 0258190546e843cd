// What one incident says: its worst condition, its end, and whether somebody has it.
import { conditionNames } from "./detectors";
import type { Condition, Incident } from "./types";

// worst is the worst condition of an incident that lasts.
export function worst(incident: Incident): Condition | null {
  const lasting = incident.conditions.filter((c) => c.ended_at === null);
  const worstFirst = conditionNames();
  const rank = ({ name }: Condition) => (worstFirst.includes(name) ? worstFirst.indexOf(name) : 2); // as the first detector's
  return lasting.sort((a, b) => rank(a) - rank(b))[0] ?? null;
}

// gotWorse reports whether an incident is more severe than when somebody acknowledged it, or another condition has begun since and lasts.
const gotWorse = (incident: Incident): boolean =>
  incident.severity > (incident.acknowledged_severity ?? incident.severity) ||
  incident.conditions.some((c) => c.ended_at === null && Date.parse(c.started_at) > Date.parse(incident.acknowledged_at!));

// isTaken reports whether somebody has resolved an incident, or acknowledged it and it has not got worse since.
export const isTaken = (incident: Incident): boolean => incident.state === "resolved" || (Boolean(incident.acknowledged_at) && !gotWorse(incident));

// needsSomebody reports whether an incident lasts and nobody has it. Every count of what is left to do counts by it.
export const needsSomebody = (incident: Incident): boolean => incident.state === "open" && !isTaken(incident) && worst(incident) !== null;

// endOf is when the trouble ended; null: it lasts.
export function endOf(incident: Incident): string | null {
  let end: string | null = incident.started_at;
  for (const condition of incident.conditions) {
    if (condition.ended_at === null) return null;
    if (Date.parse(condition.ended_at) > Date.parse(end)) end = condition.ended_at;
  }
  return end;
}
