// One action on several streams: what is sent to each of them, which are left alone, and how the requests are sent.
import { APIError } from "./api";
import type { Change, Labels, Monitor } from "./types";

export type Action =
  | { kind: "stop" }
  | { kind: "pause"; until: string } // RFC 3339
  | { kind: "resume" }
  | { kind: "move"; ms: number } // later; less than 0: earlier
  | { kind: "change"; config: NonNullable<Change["config"]> }
  | { kind: "label"; labels: Record<string, string | null> } // null: removed
  | { kind: "silence" };

// Reason says why an action leaves a stream alone.
export type Reason = "ended" | "begun" | "unplanned" | "unpaused" | "same";

// Plan is what an action does. A change is computed once, so that sending it again does nothing twice.
export interface Plan {
  changes: ReadonlyMap<string, Change | null>; // by the id of the monitor; null: no change, but its end or a silence
  skipped: ReadonlyMap<string, Reason>;
  endsOnly: number; // of those that are moved, how many have begun, so that only their end is moved
}

// planOf plans an action on streams; undefined: the stream ended long ago.
export function planOf(action: Action, streams: ReadonlyMap<string, Monitor | undefined>): Plan {
  const changes = new Map<string, Change | null>();
  const skipped = new Map<string, Reason>();
  let endsOnly = 0;
  for (const [id, monitor] of streams) {
    const change = !monitor || monitor.ended_at ? "ended" : changeOf(action, monitor);
    if (typeof change === "string") skipped.set(id, change);
    else changes.set(id, change);
    if (action.kind === "move" && monitor?.config.scheduled_start_time && change instanceof Object && !change.config?.scheduled_start_time) endsOnly++;
  }
  return { changes, skipped, endsOnly };
}

function changeOf(action: Action, monitor: Monitor): Change | null | Reason {
  switch (action.kind) {
    case "pause":
      return { paused_until: action.until };
    case "resume":
      return monitor.paused_until ? { paused_until: null } : "unpaused";
    case "move":
      return moved(monitor, action.ms);
    case "change":
      return { config: action.config };
    case "label":
      return hasAll(monitor.labels, action.labels) ? "same" : { labels: action.labels };
    default:
      return null;
  }
}

// moved is the planned start and end at other times. The start of a stream that has begun stays.
function moved({ status, config }: Monitor, ms: number): Change | Reason {
  const at = (time: string) => new Date(Date.parse(time) + ms).toISOString();
  const { scheduled_start_time: start, scheduled_end_time: end } = config;
  const begun = status === "monitoring";
  if (!start && !end) return "unplanned";
  if (begun && !end) return "begun";
  return { config: { ...(start && !begun && { scheduled_start_time: at(start) }), ...(end && { scheduled_end_time: at(end) }) } };
}

const hasAll = (labels: Labels | undefined, wanted: Record<string, string | null>) => Object.entries(wanted).every(([name, value]) => (labels?.[name] ?? null) === value);

const atOnce = 5; // requests
const usualWaitSec = 5;

interface Progress {
  done: (id: string, error: unknown) => void; // null: it was carried out
  waits: (sec: number) => void; // for the rate limit; 0: no longer
  stopped: () => boolean; // whether nothing more is to be sent
}

// sendAll sends a request for each id, five at a time. The rate limit is waited for.
export async function sendAll(ids: readonly string[], send: (id: string) => Promise<unknown>, { done, waits, stopped }: Progress): Promise<void> {
  const left = [...ids];
  const one = async (id: string): Promise<void> => {
    try {
      await send(id);
      done(id, null);
    } catch (error) {
      if (!(error instanceof APIError && error.code === "RATE_LIMIT_EXCEEDED")) return done(id, error);
      left.unshift(id);
      await wait(error.retryAfterSec ?? usualWaitSec);
    }
  };
  const wait = async (sec: number) => {
    waits(sec);
    for (let waited = 0; waited < sec && !stopped(); waited++) await new Promise((end) => setTimeout(end, 1000));
    waits(0);
  };
  const work = async () => {
    while (left.length > 0 && !stopped()) await one(left.shift()!);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}
