// Streams that have ended, as the address asks for them.
import { get } from "./api";
import { wantedLabels } from "./labels";
import type { Labels, Metadata } from "./types";

export const outcomes = ["completed", "stopped", "error"] as const;

export interface Ended {
  monitor_id: string;
  number: number;
  stream_url: string;
  status: (typeof outcomes)[number];
  reason?: string; // of an error
  created_at: string;
  ended_at: string;
  metadata: Metadata;
  labels: Labels;
  channel_id?: string;
}

// filterOf is what the gateway is asked for. A day is that of the viewer's zone.
export function filterOf(q: URLSearchParams) {
  const [year, month, day] = (q.get("day") ?? "").split("-").map(Number);
  const begin = year && month && day ? new Date(year, month - 1, day) : null;
  const end = year && month && day ? new Date(year, month - 1, day + 1) : null;
  return {
    ended: true,
    ended_from: begin?.toISOString() ?? null,
    ended_to: end?.toISOString() ?? null,
    status: q.get("outcome"),
    channel_id: q.get("channel"),
    q: q.get("q"),
    label: Object.entries(wantedLabels(q)).map(([name, value]) => `${name}:${value}`),
  };
}

export const readEnded = (of: ReturnType<typeof filterOf>, most: number, after: string | null, abort?: AbortSignal) =>
  get<{ monitors: Ended[]; pagination: { total: number }; next: string | null }>("/api/v1/monitors", { ...of, limit: most, after }, abort);
