// Destinations, routes and silences: the objects of the API (openapi.yaml) and its requests.
import { get, post, request } from "./api";
import type { Weekday, Window } from "./duty";
import type { Language } from "./settings";
import type { ConditionName, DeliveryAttempt, HintKind, Labels } from "./types";

export type KindName = "webhook" | "slack" | "discord" | "teams" | "line" | "telegram" | "pagerduty" | "ntfy" | "email";

export interface Field {
  name: string;
  secret: boolean;
  required: boolean;
  example: string;
  words: Record<Language, { label: string; hint: string }>;
}

export interface Kind {
  kind: KindName;
  gets: "events" | "incidents";
  edits: boolean;
  fields: Field[];
}

export interface Health {
  state: "unused" | "working" | "failing" | "disabled";
  failing_since: string | null;
  last_error: string | null;
  delivered_at: string | null;
  retry_at: string | null;
  pending: number;
  delivered_24h: number[]; // one number for each hour, oldest first
  failed_24h: number[];
}

export interface Destination {
  destination_id: string;
  name: string;
  kind: KindName;
  language: "en" | "ja";
  config: Record<string, string>;
  secrets: string[] | Record<string, string>; // the names of those that are set
  fallback: string | null;
  enabled: boolean;
  disabled_reason: "gone" | "failed_for_days" | null;
  owner: string | null;
  health: Health;
}

export interface DestinationChange {
  name?: string;
  kind?: KindName;
  language?: "en" | "ja";
  config?: Record<string, string | null>;
  secrets?: Record<string, string | null>;
  fallback?: string | null;
  enabled?: boolean;
}

export interface Match {
  events?: string[];
  conditions?: ConditionName[];
  min_severity?: number;
  max_severity?: number; // of a silence: what is more severe is told
  monitors?: string[];
  metadata?: Record<string, string>;
  labels?: Labels;
  hints?: HintKind[]; // of a route for hints alone
}

export interface Route {
  route_id: string;
  name: string;
  match: Match;
  windows: Window[];
  destinations: string[];
  on_duty: boolean;
  delay_sec: number;
  repeat_sec: number;
  continue: boolean;
  default: boolean;
  owner: string | null;
}

export type RouteChange = Partial<Pick<Route, "name" | "match" | "windows" | "destinations" | "on_duty" | "delay_sec" | "repeat_sec" | "continue">>;

const entries = (of: Record<string, string> = {}) => Object.entries(of).map((entry) => entry.join("\n"));
const lists = (m: Match) => [m.events, m.conditions, m.monitors].map((list: string[] = []) => list);

// includes reports whether a match selects all that another one does.
function includes(wide: Match, narrow: Match): boolean {
  const hints = [wide.hints ?? [], narrow.hints ?? []] as const;
  return (
    (wide.min_severity ?? 0) <= (narrow.min_severity ?? 0) &&
    lists(wide).every((list, i) => list.length === 0 || (lists(narrow)[i]!.length > 0 && lists(narrow)[i]!.every((one) => list.includes(one)))) &&
    entries(wide.metadata).every((one) => entries(narrow.metadata).includes(one)) &&
    entries(wide.labels).every((one) => entries(narrow.labels).includes(one)) &&
    (hints[0].length > 0) === (hints[1].length > 0) &&
    hints[1].every((kind) => hints[0].includes(kind))
  );
}

// endingBefore is the route that ends the search before one, at any time and for all that this matches. The default route always serves whoever is on duty.
export const endingBefore = (all: readonly Route[], at: number): Route | undefined =>
  all[at]!.default ? undefined : all.slice(0, at).find((r) => !r.continue && r.windows.length === 0 && includes(r.match, all[at]!.match));

export type { Weekday, Window } from "./duty";
export const weekdays: readonly Weekday[] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

export interface Silence {
  silence_id: string;
  match: Match;
  from: string;
  to: string | null;
  until_recovered: boolean;
  window: Window | null;
  skip_until: string | null;
  by: string;
  comment: string;
  state: "scheduled" | "active" | "ended";
  next_at: string | null;
  everything: boolean;
  owner: string | null;
}

export type SilenceChange = Partial<Pick<Silence, "match" | "from" | "to" | "until_recovered" | "window" | "skip_until" | "by" | "comment">>;

const highest = 3; // severity

// selectsEverything is true of a silence of every incident of every stream.
export const selectsEverything = (m: Match): boolean =>
  ![m.events, m.conditions, m.monitors, Object.keys(m.metadata ?? {}), Object.keys(m.labels ?? {})].some((list) => list?.length) && !m.min_severity && (m.max_severity ?? highest) >= highest;

export interface Test {
  delivered: boolean;
  attempt: DeliveryAttempt;
  note?: string | null; // what else the channel says
}

export interface Reason {
  criterion: string;
  wanted: string;
  got: string;
  ok: boolean;
}

interface Found {
  result: "matched" | "not_matched" | "not_reached";
  reasons: Reason[];
}

export interface Explanation {
  routes: (Found & {
    route_id: string;
    name: string;
    destinations: (Found & { destination_id: string; name: string; delay_sec: number; gets: Kind["gets"]; enabled: boolean })[]; // found by what it gets
  })[];
  silences: { silence_id: string; until: string | null; reasons: Reason[] }[];
  destinations: { destination_id: string; name: string; route_id: string; delay_sec: number; silenced: boolean }[];
  paused_until: string | null; // nobody looks at the stream until then
}

const segment = encodeURIComponent;
const v1 = "/api/v1";

export const destinations = {
  kinds: (signal?: AbortSignal) => get<{ kinds: Kind[] }>(`${v1}/destination-kinds`, {}, signal),
  list: (signal?: AbortSignal) => get<{ destinations: Destination[] }>(`${v1}/destinations`, {}, signal),
  create: (d: DestinationChange) => post<Destination>(`${v1}/destinations`, d),
  change: (id: string, d: DestinationChange) => request<Destination>("PATCH", `${v1}/destinations/${segment(id)}`, d),
  remove: (id: string) => request<void>("DELETE", `${v1}/destinations/${segment(id)}`),
  test: (id: string) => post<Test>(`${v1}/destinations/${segment(id)}/test`, {}),
};

export const routes = {
  list: (signal?: AbortSignal) => get<{ routes: Route[] }>(`${v1}/routes`, {}, signal),
  create: (r: RouteChange) => post<Route>(`${v1}/routes`, r),
  change: (id: string, r: RouteChange) => request<Route>("PATCH", `${v1}/routes/${segment(id)}`, r),
  remove: (id: string) => request<void>("DELETE", `${v1}/routes/${segment(id)}`),
  order: (ids: string[]) => request<{ routes: Route[] }>("PUT", `${v1}/routes/order`, { routes: ids }),
  explain: (about: { monitor_id?: string; event_type?: string; channel_id?: string; conditions?: string[]; severity?: number; at?: string }, signal?: AbortSignal) => post<Explanation>(`${v1}/routes/explain`, about, signal),
};

export const silences = {
  list: (signal?: AbortSignal) => get<{ silences: Silence[] }>(`${v1}/silences`, {}, signal),
  create: (s: SilenceChange) => post<Silence>(`${v1}/silences`, s),
  change: (id: string, s: SilenceChange) => request<Silence>("PATCH", `${v1}/silences/${segment(id)}`, s),
  end: (id: string) => request<void>("DELETE", `${v1}/silences/${segment(id)}`),
};

// secretNames are the secrets of a destination that are set.
export const secretNames = (d: Destination): string[] => (Array.isArray(d.secrets) ? d.secrets : Object.keys(d.secrets));

// metadataOf reads "channel_name=A, venue.city=B" as people type it.
export function metadataOf(typed: string): Record<string, string> {
  const pairs = typed
    .split(/[,、\n]/)
    .map((pair) => pair.split("="))
    .filter(([path, value]) => path?.trim() && value !== undefined);
  return Object.fromEntries(pairs.map(([path, ...value]) => [path!.trim(), value.join("=").trim()]));
}

// metadataText is the reverse of metadataOf.
export const metadataText = (metadata: Record<string, string> = {}) =>
  Object.entries(metadata)
    .map(([path, value]) => `${path}=${value}`)
    .join(", ");

// moved is a list with one of its elements moved by one place; the same list if that is not possible.
export function moved<T>(list: readonly T[], from: number, by: -1 | 1): readonly T[] {
  const to = from + by;
  if (to < 0 || to >= list.length) return list;
  const other = [...list];
  [other[from], other[to]] = [other[to]!, other[from]!];
  return other;
}
