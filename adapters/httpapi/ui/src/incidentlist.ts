// How incidents are listed: a storm is one row.
import { worst } from "./incident";
import type { Acknowledgement, Condition, Incident } from "./types";

export interface Storm {
  kind: "storm";
  incidents: Incident[];
}
export interface Single {
  kind: "single";
  incident: Incident;
}
export type Entry = Single | Storm;

const stormMs = 60_000;
const stormSize = 5;

// storms joins what began with the same condition within a minute of each other: the cause is common.
export function storms(all: readonly Incident[]): Entry[] {
  const entries: Entry[] = [];
  for (let i = 0; i < all.length; ) {
    const begin = all[i]!;
    let end = i + 1;
    while (end < all.length && firstCondition(all[end]!) === firstCondition(begin) && near(all[end - 1]!, all[end]!)) end++;
    if (end - i >= stormSize) entries.push({ kind: "storm", incidents: all.slice(i, end) });
    else for (const incident of all.slice(i, end)) entries.push({ kind: "single", incident });
    i = end;
  }
  return entries;
}

const near = (a: Incident, b: Incident) => Math.abs(Date.parse(a.started_at) - Date.parse(b.started_at)) <= stormMs;
export const firstCondition = (incident: Incident) => incident.conditions[0]?.name ?? "";

// sinceOf is the onset of what lasts: of its worst condition, whose lamp stands beside it. Without one it is the incident's.
export const sinceOf = (incident: Incident): string => worst(incident)?.last_started_at ?? incident.started_at;

// troubleSpans is when there was any of the conditions, in ms since 1970: what overlaps is one.
function troubleSpans(conditions: readonly Condition[], now: number): [number, number][] {
  const spans = conditions.flatMap((c) => c.spans).map((s): [number, number] => [Date.parse(s.started_at), s.ended_at ? Date.parse(s.ended_at) : now]);
  const joined: [number, number][] = [];
  for (const [from, to] of spans.sort((a, b) => a[0] - b[0])) {
    const last = joined.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else joined.push([from, Math.max(from, to)]);
  }
  return joined;
}

// troubleSec is for how long there was any of the conditions, without the pauses.
export const troubleSec = (conditions: readonly Condition[], now: number): number => troubleSpans(conditions, now).reduce((sum, [from, to]) => sum + to - from, 0) / 1000;

// troubleTimes is how often there was any of the conditions, with pauses between.
export const troubleTimes = (conditions: readonly Condition[], now: number): number => troubleSpans(conditions, now).length;

// troubleOfAll adds the trouble of each stream: an incident that another one took over counts once.
export function troubleOfAll(all: readonly Incident[], now: number): number {
  const ids = [...new Set(all.map((i) => i.monitor_id))];
  return ids.reduce((sum, id) => sum + troubleSec(all.filter((i) => i.monitor_id === id).flatMap((i) => i.conditions), now), 0);
}

// earlierOwners is who acknowledged an incident before it was reopened or got worse, in order.
export const earlierOwners = (incident: Incident): Acknowledgement[] => incident.acknowledgements.filter((a) => Date.parse(a.at) !== Date.parse(incident.acknowledged_at ?? ""));

// ownersOf is everybody who acknowledged an incident, also before it was reopened.
export const ownersOf = (incident: Incident): string[] => [...new Set(incident.acknowledgements.map((a) => a.by))];

// lastedSec counts since sinceOf; of an incident without a lasting condition it is the whole trouble.
export const lastedSec = (incident: Incident, now: number): number => (worst(incident) ? (now - Date.parse(sinceOf(incident))) / 1000 : troubleSec(incident.conditions, now));
