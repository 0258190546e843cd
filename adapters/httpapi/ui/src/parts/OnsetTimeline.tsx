import { useCallback, useMemo } from "preact/hooks";
import { monitors as api } from "../api";
import { detectorOf, detectors, judgedBy } from "../detectors";
import { drawAxis } from "../draw/axis";
import { useCanvas, type Sheet } from "../draw/canvas";
import { spansOf, troubleFrom, type LaneName, type Mark } from "../draw/lanes";
import { text } from "../i18n";
import { useRead } from "../read";
import { now } from "../store";
import { clockDay, decimal } from "../time";
import type { Bucket, Condition, Incident, Monitor, Timeline } from "../types";
import { healthWord } from "./State";
import { Glyph } from "./Glyph";
import type { GlyphName } from "./glyphs";
import { Lane } from "./Lane";
import { Plot } from "./Plot";

const sideMs = 5 * 60_000;
const buckets = 120;
export const lanes: [LaneName, GlyphName][] = [["stream", "stream"], ["video", "video"], ["audio", "sound"], ["segments", "segments"]];

// OnsetTimeline shows all lanes from 5 minutes before the onset of a condition to 5 minutes after it.
export function OnsetTimeline({ incident, condition, monitor }: { incident: Incident; condition: Condition; monitor: Monitor | null }) {
  const words = text.value;
  const onset = Date.parse(condition.last_started_at);
  const [from, to] = [onset - sideMs, onset + sideMs];
  // While the five minutes go on, each half minute of them is read once.
  const reached = Math.min(to, Math.floor(now.value / 30_000) * 30_000);
  const read = (abort: AbortSignal) => api.timeline(incident.monitor_id, new Date(from).toISOString(), new Date(to).toISOString(), buckets, abort);
  const timeline = useRead(read, [incident.monitor_id, from, incident.updated_at, reached]).answer;
  const until = Math.min(to, now.peek());
  const alert = condition.alert?.at;
  const marks = useMemo<Mark[]>(
    () => [{ at: onset, kind: "onset" }, ...(alert ? [{ at: Date.parse(alert), kind: "alert" } as const] : []), ...(until < to ? [{ at: until, kind: "now" } as const] : [])],
    [onset, alert, until],
  );
  const drawn = timeline.value;
  return (
    <section class="card" aria-labelledby="around-title">
      <div class="card-head">
        <h2 id="around-title">{words.incident.lanes}</h2>
        <Legend />
      </div>
      {drawn && (
        <>
          <div class="lanes">
            {lanes.map(([lane, glyph]) => (
              <LaneRow key={lane} lane={lane} glyph={glyph} timeline={drawn} until={until} marks={marks} onset={laneOf(condition.name) === lane ? onset : undefined} />
            ))}
            <Measures timeline={drawn} from={from} to={to} until={until} marks={marks} incident={incident} monitor={monitor} />
            <span />
            <Axis from={from} to={to} strong={onset} />
          </div>
          <AsTable timeline={drawn} until={until} />
        </>
      )}
    </section>
  );
}

export function Legend() {
  const words = text.value.common.legend;
  return (
    <p class="legend end">
      <span class="is-on_air">
        <i />
        {words.good}
      </span>
      <span class="is-warning">
        <i />
        {words.warning}
      </span>
      <span class="is-trouble">
        <i />
        {words.trouble}
      </span>
      <span class="is-paused">
        <i />
        {words.paused}
      </span>
      <span class="nobody">
        <i />
        {words.nobody}
      </span>
    </p>
  );
}

interface LaneRowProps {
  lane: LaneName;
  glyph: GlyphName;
  timeline: Timeline;
  until: number;
  marks: Mark[];
  label?: string;
  onset?: number; // of a condition that shows in this lane
}

const laneOf = (condition: string): LaneName | undefined => (condition === "no_media" ? "segments" : detectorOf(condition)?.track);

export function LaneRow({ lane, glyph, timeline, until, marks, label, onset }: LaneRowProps) {
  const words = text.value;
  const spans = useMemo(() => {
    const reported = spansOf(timeline.buckets, lane, timeline.bucket_sec, until);
    return onset === undefined ? reported : troubleFrom(onset, reported);
  }, [timeline, lane, until, onset]);
  return (
    <>
      <span>
        <Glyph name={glyph} />
        {words.common.lanes[lane]}
      </span>
      <Lane spans={spans} from={Date.parse(timeline.from)} to={Date.parse(timeline.to)} marks={marks} label={label ?? words.incident.lanesLabel(words.common.lanes[lane])} />
    </>
  );
}

interface MeasuresProps {
  timeline: Timeline;
  from: number;
  to: number;
  until: number;
  marks: Mark[];
  incident: Incident;
  monitor: Monitor | null;
}

export const fullLuma = 255;

// The criteria whose measures are kept as luma and as level.
export const lumaCriterion = "luma_below_percent";
const levelCriterion = "level_below_db";

// Measures are the luma and the level. They are measured by the minute: all buckets of one have the same.
function Measures({ timeline, from, to, until, marks, incident, monitor }: MeasuresProps) {
  const words = text.value;
  const began = Date.parse(timeline.buckets.find((b) => b.stream)?.from ?? timeline.to);
  const bucketMs = timeline.bucket_sec * 1000;
  const common = { from, to, until, marks, since: began, stepMs: bucketMs, bucketMs };
  const luma = useMemo(() => ({ ...common, unit: "percent" as const, points: points(timeline.buckets, "luma", 100 / fullLuma, until), ...judgedIn(incident, lumaCriterion) }), [timeline, marks, until, detectors.value]);
  const level = useMemo(
    () => ({ ...common, unit: "decibel" as const, points: points(timeline.buckets, "level", 1, until), threshold: monitor?.config.silence_db_threshold, ...judgedIn(incident, levelCriterion) }),
    [timeline, marks, monitor, detectors.value],
  );
  return (
    <>
      <span>{words.common.lanes.luma}</span>
      <Plot plot={luma} label={words.incident.lanesLabel(words.common.lanes.luma)} />
      <span>{words.common.lanes.level}</span>
      <Plot plot={level} label={words.incident.lanesLabel(words.common.lanes.level)} />
    </>
  );
}

export function points(all: readonly Bucket[], of: "luma" | "level", factor: number, until = Infinity) {
  return all.flatMap((bucket) => {
    const m = bucket[of];
    return m && Date.parse(bucket.from) <= until ? [{ at: Date.parse(bucket.from), min: m.min * factor, mean: m.mean * factor, max: m.max * factor }] : [];
  });
}

// judgedIn is the value of a criterion at the alert, or else always, and where the condition lasted that has it.
function judgedIn(incident: Incident, name: string): { threshold?: number; bad: [number, number][]; badState: "trouble" } {
  const judged = judgedBy(name);
  const c = incident.conditions.find((c) => c.name === judged?.condition);
  const bad = (c?.spans ?? []).map((s): [number, number] => [Date.parse(s.started_at), s.ended_at ? Date.parse(s.ended_at) : Infinity]);
  const threshold = c?.alert?.criteria?.[name] ?? judged?.value;
  return { ...(threshold === undefined ? {} : { threshold }), bad, badState: "trouble" };
}

export function Axis({ from, to, strong }: { from: number; to: number; strong?: number }) {
  const draw = useCallback((sheet: Sheet) => drawAxis(sheet, from, to, strong), [from, to, strong]);
  return <canvas class="axis" aria-hidden="true" ref={useCanvas(draw)} />;
}

// AsTable has the same data in words: one row whenever a lane changes.
export function AsTable({ timeline, until }: { timeline: Timeline; until: number }) {
  const words = text.value;
  const past = timeline.buckets.filter((b) => Date.parse(b.from) < until && b.stream);
  const stateOf = (bucket: Bucket) => lanes.map(([lane]) => bucket[lane]?.state ?? "").join(" ");
  const rows = past.filter((b, i) => i === 0 || stateOf(b) !== stateOf(past[i - 1]!));
  const say = (state: string | undefined) => (state ? healthWord(state) : "–");
  return (
    <details class="as-table">
      <summary>{words.incident.table}</summary>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">{words.incident.time}</th>
            {lanes.map(([lane]) => (
              <th key={lane} scope="col">
                {words.common.lanes[lane]}
              </th>
            ))}
            <th scope="col">{words.common.lanes.luma}</th>
            <th scope="col">{words.common.lanes.level}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((bucket) => (
            <tr key={bucket.from}>
              <th scope="row" class="num">
                {clockDay(bucket.from, until)}
              </th>
              {lanes.map(([lane]) => (
                <td key={lane}>{say(bucket[lane]?.state)}</td>
              ))}
              <td class="num">{bucket.luma ? decimal((bucket.luma.mean / fullLuma) * 100) : "–"}</td>
              <td class="num">{bucket.level ? decimal(bucket.level.mean) : "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
