// How the severity of an incident grows with the time that a condition lasts (docs/specification.md, section 16.1).
import { detectorOf } from "./detectors";
import type { Condition, Incident } from "./types";

const minuteSec = 60;
const steps: Partial<Record<string, [severity: number, afterSec: number][]>> = {
  late: [[1, 10 * minuteSec], [2, 30 * minuteSec]],
  no_media: [[3, 5 * minuteSec]],
  blind: [[1, 15 * minuteSec], [2, 60 * minuteSec]],
};

// nextSeverity is the next step of an incident if this condition lasts on; null: none is ahead.
export function nextSeverity(incident: Incident, condition: Condition, now: number): { severity: number; at: number } | null {
  if (condition.ended_at !== null || incident.state !== "open") return null;
  const ofDetector = detectorOf(condition.name)?.severity.map((s): [number, number] => [s.severity, s.after_sec]);
  for (const [severity, afterSec] of steps[condition.name] ?? ofDetector ?? []) {
    const at = Date.parse(condition.last_started_at) + afterSec * 1000;
    if (severity > (incident.severity_now ?? 0) && at > now) return { severity, at };
  }
  return null;
}
