// Lanes: what a stream was like over time. A bucket shows its worst state by height; hatched is where nobody looked.
import type { Bucket, ConditionName } from "../types";
import { hatch, type Sheet } from "./canvas";

export type SpanState = "good" | "warning" | "trouble" | "waiting" | "paused" | "unknown" | "none";
export interface Span {
  state: SpanState;
  from: number; // ms since 1970
  to: number;
}
export interface Mark {
  at: number;
  kind: "now" | "alert" | "onset";
}

const heights: Record<SpanState, number> = { good: 0.36, waiting: 0.36, paused: 0.18, warning: 0.74, trouble: 1, unknown: 1, none: 0 };
const tokens: Record<SpanState, string> = { good: "--ok", waiting: "--waiting", paused: "--waiting", warning: "--warning", trouble: "--trouble", unknown: "--line-2", none: "--well" };

export function drawLane(sheet: Sheet, spans: readonly Span[], from: number, to: number, marks: readonly Mark[] = []): void {
  const { c, width, height, colour } = sheet;
  const x = (at: number) => ((at - from) / (to - from)) * width;
  c.clearRect(0, 0, width, height);
  for (const span of spans) {
    if (span.state === "none" || span.to <= from || span.from >= to) continue;
    const left = x(Math.max(span.from, from));
    const wide = Math.max(x(Math.min(span.to, to)) - left, span.state === "good" ? 0.5 : 2.5); // trouble of a second stays visible
    c.fillStyle = colour("--well");
    c.fillRect(left, 0, wide, height);
    if (span.state === "unknown") {
      hatch(sheet, left, 0, wide, height);
      continue;
    }
    const high = heights[span.state] * height;
    c.fillStyle = colour(tokens[span.state]);
    c.fillRect(left, height - high, wide, high);
  }
  drawMarks(sheet, marks, x);
}

export function drawMarks({ c, height, colour }: Sheet, marks: readonly Mark[], x: (at: number) => number): void {
  for (const mark of marks) {
    c.strokeStyle = colour(mark.kind === "now" ? "--text" : "--text-2");
    c.lineWidth = mark.kind === "now" ? 1.5 : 1;
    c.setLineDash(mark.kind === "alert" ? [2, 2] : []);
    c.beginPath();
    c.moveTo(Math.round(x(mark.at)) + 0.5, 0);
    c.lineTo(Math.round(x(mark.at)) + 0.5, height);
    c.stroke();
    c.setLineDash([]);
  }
}

export type LaneName = "stream" | "video" | "audio" | "segments";

const spanStates: Record<string, SpanState> = {
  ok: "good",
  live: "good",
  upcoming: "waiting",
  late: "warning",
  blind: "warning",
  unknown: "unknown",
  paused: "paused",
  none: "none",
};

export const spanState = (state: string): SpanState => spanStates[state] ?? "trouble";

// spansOf joins the buckets of one lane. What the monitor did not live is left out.
export function spansOf(buckets: readonly Bucket[], lane: LaneName, bucketSec: number, until: number): Span[] {
  const spans: Span[] = [];
  for (const bucket of buckets) {
    const from = Date.parse(bucket.from);
    const to = Math.min(from + bucketSec * 1000, until);
    const state = bucket[lane] ? spanState(bucket[lane].state) : "none";
    const last = spans.at(-1);
    if (to <= from) continue;
    if (last && last.state === state && last.to >= from - 1) last.to = to;
    else spans.push({ state, from, to });
  }
  return spans;
}

// troubleFrom adds the time between an onset and the report that told of it, which the history still has as good.
export function troubleFrom(onset: number, spans: readonly Span[]): readonly Span[] {
  const reported = spans.find((span) => span.state === "trouble" && span.to > onset);
  if (!reported || reported.from <= onset) return spans;
  const between = spans.filter((span) => span.to > onset && span.from < reported.from);
  return between.every((span) => span.state === "good") ? [...spans, { state: "trouble", from: onset, to: reported.to }] : spans;
}

// overall is one lane for the whole stream: the worst of all lanes in each bucket.
export function overall(buckets: readonly Bucket[], bucketSec: number, until: number): Span[] {
  const order: SpanState[] = ["none", "waiting", "good", "paused", "unknown", "warning", "trouble"];
  const spans: Span[] = [];
  for (const bucket of buckets) {
    const from = Date.parse(bucket.from);
    const to = Math.min(from + bucketSec * 1000, until);
    if (to <= from) continue;
    const upcoming = bucket.stream?.state === "upcoming";
    const lanes = upcoming ? [bucket.stream] : [bucket.stream, bucket.video, bucket.audio, bucket.segments];
    const state = lanes.map((l) => (l ? spanState(l.state) : "none")).reduce<SpanState>((worst, s) => (order.indexOf(s) > order.indexOf(worst) ? s : worst), "none");
    const last = spans.at(-1);
    if (last && last.state === state && last.to >= from - 1) last.to = to;
    else spans.push({ state, from, to });
  }
  return spans;
}

// spanOfCondition is the state that a lasting condition has in a lane.
export const spanOfCondition = (name: ConditionName): SpanState => (name === "late" || name === "blind" ? "warning" : "trouble");
