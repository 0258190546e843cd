// The history of one monitor: which span of time is shown, and what it sums up to.
import type { SpanState, Span } from "./draw/lanes";
import type { Bucket, EventRecord, Timeline } from "./types";

export type SpanName = "1h" | "6h" | "24h" | "7d";
export const spanNames: readonly SpanName[] = ["1h", "6h", "24h", "7d"];

const hourSec = 3600;
const spans: Record<SpanName, { sec: number; bucketSec: number }> = {
  "1h": { sec: hourSec, bucketSec: 15 },
  "6h": { sec: 6 * hourSec, bucketSec: 60 },
  "24h": { sec: 24 * hourSec, bucketSec: 300 },
  "7d": { sec: 168 * hourSec, bucketSec: 1800 },
};

// spanFor is the chosen span, else the shortest one that holds the whole watch, at most a day.
export function spanFor(chosen: string | null, watchedSec: number): SpanName {
  const name = spanNames.find((n) => n === chosen);
  return name ?? (["1h", "6h"] as const).find((n) => spans[n].sec >= watchedSec) ?? "24h";
}

export interface Window {
  from: number; // ms since 1970, a whole bucket
  to: number;
  buckets: number;
}

const fewestBuckets = 40;

// windowOf ends with the bucket that now is in, so that the same request has the same answer for a while. It begins shortly
// before the registration if that is within the span: what is before it is empty.
export function windowOf(name: SpanName, now: number, registered = 0): Window {
  const { sec, bucketSec } = spans[name];
  const bucketMs = bucketSec * 1000;
  const to = (Math.floor(now / bucketMs) + 1) * bucketMs;
  const known = Math.ceil(((to - registered) / bucketMs) * 1.1);
  const buckets = Math.min(sec / bucketSec, Math.max(fewestBuckets, known));
  return { from: to - buckets * bucketMs, to, buckets };
}

export interface Sums {
  watchedSec: number; // picture and sound were looked at
  lifeSec: number; // the stream was to be watched
  unseenSec: number; // it was, and nobody looked
  pausedSec: number; // nobody was to look
  conditions: Record<string, { sec: number; times: number; lasts: boolean }>;
}

const quiet = ["ok", "live", "upcoming", "unknown", "none", "paused"];

// sumUp adds up the shares of all buckets until now. A condition counts once for buckets in a row.
export function sumUp({ buckets, bucket_sec: sec }: Timeline, now: number): Sums {
  const sums: Sums = { watchedSec: 0, lifeSec: 0, unseenSec: 0, pausedSec: 0, conditions: {} };
  let before = new Set<string>();
  for (const bucket of buckets) {
    if (Date.parse(bucket.from) >= now) break;
    const present = new Set<string>();
    for (const [state, share] of shares(bucket)) {
      const sum = (sums.conditions[state] ??= { sec: 0, times: 0, lasts: false });
      sum.sec += share * sec;
      if (!before.has(state)) sum.times++;
      present.add(state);
    }
    if (bucket.stream) {
      const total = Object.values(bucket.stream.share).reduce((a, b) => a + b, 0);
      const waits = (bucket.stream.share.upcoming ?? 0) + (bucket.stream.share.late ?? 0);
      const unseen = bucket.video ? (bucket.video.share.unknown ?? 0) : (bucket.stream.share.unknown ?? 0);
      const paused = bucket.stream.share.paused ?? 0;
      const life = Math.max(0, total - waits - paused);
      sums.lifeSec += life * sec;
      sums.unseenSec += Math.min(life, unseen) * sec;
      sums.pausedSec += paused * sec;
    }
    before = present;
  }
  sums.watchedSec = Math.max(0, sums.lifeSec - sums.unseenSec);
  for (const state of before) sums.conditions[state]!.lasts = true;
  return sums;
}

function shares(bucket: Bucket): [string, number][] {
  return [bucket.stream, bucket.video, bucket.audio, bucket.segments]
    .flatMap((lane) => Object.entries(lane?.share ?? {}))
    .filter(([state, share]) => share > 0 && !quiet.includes(state));
}

const deliveryStates = { sent: "good", pending: "warning", failed: "trouble" } as const satisfies Record<string, SpanState>;

// deliverySpans shows each delivery from its event until it arrived, wide enough to be seen.
export function deliverySpans(events: readonly EventRecord[], { from, to }: Pick<Window, "from" | "to">, now: number): Span[] {
  const least = (to - from) / 250;
  return events
    .flatMap((e): Span[] => {
      if (e.webhook_status === "none") return [];
      const began = Date.parse(e.created_at);
      const end = e.sent_at ? Date.parse(e.sent_at) : e.webhook_status === "pending" ? now : began;
      return [{ state: deliveryStates[e.webhook_status], from: began, to: Math.max(end, began + least) }];
    })
    .filter((span) => span.to > from && span.from < to)
    .sort((a, b) => a.from - b.from);
}
