// Incidents and channels as tables for spreadsheets (RFC 4180). Columns are named as in the API, times are UTC: a program may read it, too.
import { ownersOf, troubleSec } from "./incidentlist";
import { endOf } from "./incident";
import { known, type Labelled } from "./labels";
import { channelOf, titleOf, type Named } from "./names";
import type { Channel, Incident } from "./types";

type Cell = string | number | boolean | null;

const incidentColumns: Record<string, (incident: Incident, stream: Named, now: number) => Cell> = {
  incident_id: (i) => i.incident_id,
  state: (i) => i.state,
  severity: (i) => i.severity,
  severity_now: (i) => i.severity_now,
  conditions: (i) => i.conditions.map((c) => c.name).join(" "),
  started_at: (i) => utc(i.started_at),
  ended_at: (i) => utc(endOf(i)),
  duration_sec: (i, _, now) => Math.round(troubleSec(i.conditions, now)),
  resolved_at: (i) => utc(i.resolved_at),
  reopened: (i) => i.reopened,
  acknowledged_by: (i) => ownersOf(i).join(", "),
  acknowledged_at: (i) => utc(i.acknowledgements[0]?.at ?? null),
  false_positive: (i) => i.false_positive,
  number: (_, stream) => stream.number || null,
  monitor_id: (i) => i.monitor_id,
  channel_id: (_, stream) => stream.channel_id ?? null,
  stream_url: (i) => i.stream_url,
  channel_name: (_, stream) => channelOf(stream),
  stream_title: (_, stream) => titleOf(stream),
};

const utc = (at: string | null) => at && new Date(at).toISOString();

export function csvOf(incidents: readonly Incident[], streamOf: (incident: Incident) => Named, now: number): string {
  const labels = labelColumns(incidents);
  return table([...Object.keys(incidentColumns), ...labels.names], incidents.map((incident) => [...Object.values(incidentColumns).map((value) => value(incident, streamOf(incident), now)), ...labels.of(incident)]));
}

const channelColumns: Record<string, (channel: Channel) => Cell> = {
  channel_id: (c) => c.channel_id,
  channel_url: (c) => c.channel_url,
  source_id: (c) => c.source_id,
  handle: (c) => c.handle,
  title: (c) => c.title,
  preset: (c) => c.config.preset ?? null,
  cookie_jar: (c) => c.cookie_jar,
  created_at: (c) => utc(c.created_at),
  stopped_at: (c) => utc(c.stopped_at),
  read_at: (c) => utc(c.reading.read_at),
  failure: (c) => c.reading.failure,
  failing_since: (c) => utc(c.reading.failing_since),
  unreadable_since: (c) => utc(c.reading.unreadable_since),
  watched: (c) => c.counts.watched,
  wanted: (c) => c.counts.wanted,
  no_room: (c) => c.counts.no_room,
  pending: (c) => c.counts.pending,
  skipped: (c) => c.counts.skipped,
  over: (c) => c.counts.over,
};

export function csvOfChannels(channels: readonly Channel[]): string {
  const labels = labelColumns(channels);
  return table([...Object.keys(channelColumns), ...labels.names], channels.map((channel) => [...Object.values(channelColumns).map((value) => value(channel)), ...labels.of(channel)]));
}

// labelColumns are a column for each label that there is, named as in a file of registrations.
function labelColumns(all: readonly Labelled[]) {
  const names = [...known(all).keys()];
  return { names: names.map((name) => `labels.${name}`), of: ({ labels }: Labelled): Cell[] => names.map((name) => labels?.[name] ?? null) };
}

function table(names: string[], rows: Cell[][]): string {
  const lines = [names, ...rows].map((cells) => cells.map(quoted).join(","));
  return `\ufeff${lines.join("\r\n")}\r\n`; // Excel takes it for UTF-8 by its first character
}

// quoted puts an apostrophe before a stranger's text that a spreadsheet would run as a formula. Some take full-width signs for signs.
function quoted(cell: Cell): string {
  if (typeof cell !== "string") return cell === null ? "" : String(cell);
  const inert = /^[=+\-@＝＋－＠\t\r\n]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}

// save makes the browser store a file.
export function save(name: string, content: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser may still read it
}
