// The order of the wall, apart from how it looks: which state a stream is in, who comes first, when the list may move.
import { detectorOf } from "./detectors";
import { recoveredMs } from "./feedstate";
import { endOf, isTaken, worst } from "./incident";
import type { Condition, Incident, Monitor } from "./types";

export type State = "trouble" | "warning" | "recovered" | "waiting" | "on_air" | "paused" | "off";
export const states: readonly State[] = ["trouble", "warning", "recovered", "waiting", "on_air", "paused", "off"];

export interface Item {
  id: string; // of the monitor
  number: number; // of the stream, from 1; 0: it has none any more
  state: State;
  monitor: Monitor | null; // null: it ended long ago, its incident is open
  incident: Incident | null;
  condition: Condition | null; // what is wrong now, the worst of it
  since: number; // onset, end of the trouble, or scheduled start, in ms since 1970; 0: unknown
  pinned: boolean;
  late: boolean; // nobody has looked in time
}

const warnings = ["blind", "late"];

const untold = new Map<string, Condition>();

// untoldOf is always the same of one name, so that nothing is drawn anew.
function untoldOf(name: Condition["name"]): Condition {
  if (!untold.has(name)) untold.set(name, { name, started_at: "", last_started_at: "", ended_at: null, count: 1, longest_sec: 0, spans: [] });
  return untold.get(name)!;
}

// isTold reports whether a condition is an incident's. Others are what a stream's health says, of unknown onset.
export const isTold = (condition: Condition | null): boolean => Boolean(condition?.last_started_at);

// lasting is what is wrong with a stream now: the worst of its incident, also of a resolved one, else what its health says.
export function lasting(monitor: Monitor | null, incident: Incident | null): Condition | null {
  if (incident && (incident.state === "open" || isActive(monitor))) {
    const condition = worst(incident);
    if (condition) return condition;
  }
  if (!isActive(monitor)) return null;
  const { health, stream_status, last_error } = monitor!;
  const bad = [health.video, health.audio].find((state) => !["ok", "unknown", "none"].includes(state));
  if (bad) return untoldOf(detectorOf(bad)?.condition ?? bad);
  const unseen = stream_status === "unknown" || (stream_status === "live" && health.video !== "ok" && health.audio === "unknown");
  return unseen && last_error ? untoldOf("blind") : null;
}

// stateOf is how one stream stands. incident is its newest one. What is no incident yet is a warning, but a person's
// resolution makes nothing good.
export function stateOf(monitor: Monitor | null, incident: Incident | null, now: number): State {
  if (isPaused(monitor, now)) return "paused";
  const condition = lasting(monitor, incident);
  if (condition) return warnings.includes(condition.name) || !(isTold(condition) || incident?.resolved_by) ? "warning" : "trouble";
  if (incident?.state === "open") return "recovered";
  if (incident?.resolved_at && !incident.resolved_by_pause && now - Date.parse(incident.resolved_at) < recoveredMs && isActive(monitor)) return "recovered";
  if (!isActive(monitor)) return "off";
  return monitor!.status === "monitoring" ? "on_air" : "waiting";
}

// isPaused reports whether nobody looks at a stream. A pause ends by itself, without a change of the monitor.
export const isPaused = (monitor: Monitor | null, now: number): boolean => isActive(monitor) && Date.parse(monitor!.paused_until ?? "") > now;

function isActive(monitor: Monitor | null): boolean {
  return monitor !== null && ["initializing", "waiting", "monitoring"].includes(monitor.status);
}

// since is the moment that an item's timer counts from.
export function since(state: State, monitor: Monitor | null, incident: Incident | null): number {
  const at = (text: string | null | undefined) => (text ? Date.parse(text) : 0);
  switch (state) {
    case "trouble":
    case "warning":
      return at(lasting(monitor, incident)?.last_started_at);
    case "recovered":
      return at(endOf(incident!));
    case "waiting":
      return at(monitor!.config.scheduled_start_time);
    default:
      return 0;
  }
}

// compare puts pinned streams first, then trouble before warnings, then the newest onset. Waiting: the soonest first.
export function compare(a: Item, b: Item): number {
  if (a.pinned !== b.pinned) return a.pinned ? -1 : 1;
  if (a.state !== b.state) return states.indexOf(a.state) - states.indexOf(b.state);
  if (a.state === "waiting") return (a.since || Infinity) - (b.since || Infinity) || byNumber(a, b);
  if (a.since !== b.since) return b.since - a.since;
  return byNumber(a, b);
}

// unownedFirst moves what somebody has behind what nobody has, also behind what is pinned.
export function unownedFirst(all: readonly Item[]): Item[] {
  const owned = (item: Item) => Number(item.incident ? isTaken(item.incident) : false);
  return [...all].sort((a, b) => owned(a) - owned(b));
}

// newest is the incident that says how each monitor stands: the open one, else the one resolved last.
export function newestIncidents(all: Iterable<Incident>): Map<string, Incident> {
  const found = new Map<string, Incident>();
  const weight = (i: Incident) => (i.resolved_at ? Date.parse(i.resolved_at) : Infinity);
  for (const incident of all) {
    const other = found.get(incident.monitor_id);
    if (!other || weight(incident) > weight(other)) found.set(incident.monitor_id, incident);
  }
  return found;
}

// numberOf is the number of a stream, by which people call it. Once its monitor has ended for long, another stream may have it.
export function numberOf(monitor: Monitor | null, now: number): number {
  if (!monitor || (monitor.ended_at && now - Date.parse(monitor.ended_at) >= recoveredMs)) return 0;
  return monitor.number;
}

// byNumber puts the lowest number first, and streams without one last.
export const byNumber = (a: Item, b: Item): number => (a.number || Infinity) - (b.number || Infinity) || a.id.localeCompare(b.id);

export type Cells = readonly (Item | undefined)[]; // undefined: the place is free

const mostGroups = 8; // more are shown as one

// stripOf is the cells of each group, which are the same on every screen. In a group alone the cell of a stream is that of its
// number; of several groups, or of a part of all streams, each has its own streams by number.
export function stripOf(all: readonly Item[], groupOf: (item: Item) => string, part = false): (readonly [string, Cells])[] {
  const names = [...new Set(all.map(groupOf))].sort((a, b) => Number(!a) - Number(!b) || a.localeCompare(b));
  if (names.length > 1 && names.length <= mostGroups) return names.map((name) => [name, all.filter((i) => groupOf(i) === name).sort(byNumber)]);
  if (part) return [[names.length === 1 ? names[0]! : "", [...all].sort(byNumber)]];
  const cells: (Item | undefined)[] = new Array(Math.max(0, ...all.map((i) => i.number))).fill(undefined);
  for (const item of all) if (item.number) cells[item.number - 1] = item;
  return [[names.length === 1 ? names[0]! : "", [...cells, ...all.filter((i) => !i.number)]]];
}

// resort is the order to show. A list that is held (under the pointer or the focus) keeps its order, and what is new waits.
export function resort(shown: readonly string[], wanted: readonly string[], held: boolean): { shown: readonly string[]; waiting: number } {
  if (!held || shown.length === 0) return { shown: same(shown, wanted) ? shown : wanted, waiting: 0 };
  const known = new Set(shown);
  return { shown, waiting: wanted.filter((id) => !known.has(id)).length };
}

export function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((id, i) => id === b[i]);
}

// matches reports whether a stream fits what was typed: a text, or its number.
export function matches(item: Item, words: string, texts: readonly string[]): boolean {
  const wanted = words.trim().toLocaleLowerCase();
  if (!wanted) return true;
  if (/^\d{1,4}$/.test(wanted) && item.number === Number(wanted)) return true;
  return texts.some((text) => text.toLocaleLowerCase().includes(wanted));
}

export const numberText = (number: number) => (number ? String(number).padStart(3, "0") : "–");
