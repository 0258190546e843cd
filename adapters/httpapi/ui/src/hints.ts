// Hints: what the recorded history suggests about streams. They are no alerts.
import type { Hint, HintKind, Incident, Monitor } from "./types";
import type { Item } from "./wall";

export const hintKinds: readonly HintKind[] = ["quieter", "recurring", "late_starts"];

// hintsOf are the hints of an incident, with those of its monitor as they are now while it is open.
export function hintsOf(incident: Incident, monitor: Monitor | null): readonly Hint[] {
  const present = incident.state === "open" ? (monitor?.hints ?? []) : [];
  return [...(incident.hints ?? []).filter((h) => !present.some((p) => p.kind === h.kind && p.condition === h.condition)), ...present];
}

// hintsOnWall are the hints of streams, the newest first.
export function hintsOnWall(items: readonly Item[]): { item: Item; hint: Hint }[] {
  const all = items.flatMap((item) => (item.monitor?.hints ?? []).map((hint) => ({ item, hint })));
  return all.sort((a, b) => Date.parse(b.hint.since) - Date.parse(a.hint.since) || a.item.number - b.item.number);
}
