import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { describe, type Said } from "../actions";
import { monitors as api } from "../api";
import type { Mark, Span } from "../draw/lanes";
import { deliverySpans, spanFor, spanNames, sumUp, windowOf, type SpanName, type Sums } from "../history";
import { detectors, judgedBy } from "../detectors";
import { text } from "../i18n";
import { query, setQuery } from "../router";
import { now } from "../store";
import { clockDay, decimal, duration, zone } from "../time";
import type { EventRecord, Incident, Monitor, Timeline } from "../types";
import { AsTable, Axis, fullLuma, LaneRow, lanes, Legend, lumaCriterion, points } from "./OnsetTimeline";
import { Glyph } from "./Glyph";
import type { GlyphName } from "./glyphs";
import { Lane } from "./Lane";
import { Plot } from "./Plot";
import { conditionGlyph, conditionWord } from "./State";

const settleMs = 500;
const leastRereadMs = 15_000; // between two readings that only the health asks for

interface Props {
  monitor: Monitor;
  incident: Incident | null;
  events: readonly EventRecord[] | null;
}

// useTimeline reads the window anew when the feed says that the stream changed, and when a new bucket began.
function useTimeline(monitor: Monitor, incident: Incident | null, span: SpanName) {
  const read = useSignal<{ timeline: Timeline; span: SpanName } | null>(null);
  const failed = useSignal<Said>("");
  const { from, to, buckets } = windowOf(span, now.value, Date.parse(monitor.created_at));
  const urgent = `${span} ${to} ${monitor.status} ${monitor.health.video} ${monitor.health.audio} ${monitor.blind_since} ${monitor.paused_until} ${incident?.updated_at}`;
  const looked = Math.floor(Date.parse(monitor.health.last_check_at ?? monitor.created_at) / leastRereadMs);
  useEffect(() => {
    const abort = new AbortController();
    const same = read.peek()?.span === span;
    const ask = () =>
      api.timeline(monitor.monitor_id, new Date(from).toISOString(), new Date(to).toISOString(), buckets, abort.signal).then(
        (timeline) => {
          read.value = { timeline, span };
          failed.value = "";
        },
        (error) => !abort.signal.aborted && (failed.value = describe(error)),
      );
    const timer = setTimeout(ask, same ? settleMs : 0);
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [monitor.monitor_id, urgent, looked]);
  return { timeline: read.value?.timeline ?? null, failed: failed.value };
}

// History shows how the stream went: lanes, plots and totals over the span of time in the address.
export function History({ monitor, incident, events }: Props) {
  const words = text.value.monitor;
  const age = (now.peek() - Date.parse(monitor.created_at)) / 1000;
  const span = spanFor(query.value.get("span"), age);
  const { timeline, failed } = useTimeline(monitor, incident, span);
  const read = timeline && now.peek();
  const sums = useMemo(() => timeline && sumUp(timeline, read ?? 0), [timeline]);
  return (
    <>
      <section class="card" aria-labelledby="history-title">
        <div class="card-head">
          <h2 id="history-title">{words.history}</h2>
          <span class="segmented" role="group" aria-label={words.span}>
            {spanNames.map((name) => (
              <button key={name} type="button" aria-pressed={name === span} onClick={() => setQuery({ span: name })}>
                {words.spans[name]}
              </button>
            ))}
          </span>
          <Legend />
        </div>
        {failed && (
          <p class="card-body word is-warning" role="alert">
            <Glyph name="warning" />
            {failed}
          </p>
        )}
        {!timeline && !failed && <p class="card-body history-wait" aria-busy="true">{text.value.common.loading}</p>}
        {timeline && sums && <Lanes monitor={monitor} events={events} timeline={timeline} sums={sums} span={span} />}
      </section>
      {sums && <Totals sums={sums} />}
    </>
  );
}

function Lanes({ monitor, events, timeline, sums, span }: { monitor: Monitor; events: readonly EventRecord[] | null; timeline: Timeline; sums: Sums; span: SpanName }) {
  const words = text.value;
  const [from, to] = [Date.parse(timeline.from), Date.parse(timeline.to)];
  const until = useMemo(() => Math.min(to, now.peek()), [timeline]);
  const registered = Date.parse(monitor.created_at);
  const marks = useMemo<Mark[]>(() => [...(registered > from ? [{ at: registered, kind: "onset" } as const] : []), { at: until, kind: "now" }], [until, from]);
  const sent = useMemo<Span[]>(() => deliverySpans(events ?? [], { from, to }, until), [events, timeline]);
  const said = saySums(sums);
  const label = (lane: string) => words.monitor.laneLabel(lane, words.monitor.spanWords[span], said);
  const common = { from, to, until, marks, since: Math.max(from, Date.parse(monitor.created_at)), stepMs: Math.max(60_000, timeline.bucket_sec * 1000), bucketMs: timeline.bucket_sec * 1000 };
  const luma = useMemo(() => ({ ...common, unit: "percent" as const, points: points(timeline.buckets, "luma", 100 / fullLuma), threshold: judgedBy(lumaCriterion)?.value }), [timeline, detectors.value]);
  const level = useMemo(() => ({ ...common, unit: "decibel" as const, points: points(timeline.buckets, "level", 1), threshold: monitor.config.silence_db_threshold }), [timeline, monitor.config.silence_db_threshold]);
  return (
    <>
      <div class="lanes">
        {lanes.map(([lane, glyph]) => (
          <LaneRow key={lane} lane={lane} glyph={glyph} timeline={timeline} until={until} marks={marks} label={label(words.common.lanes[lane])} />
        ))}
        <span>
          <Glyph name="send" />
          {words.monitor.deliveries}
        </span>
        <Lane spans={sent} from={from} to={to} marks={marks} label={words.monitor.laneLabel(words.monitor.deliveries, words.monitor.spanWords[span], words.monitor.deliveriesLabel(sent.length))} />
        <span>{words.common.lanes.luma}</span>
        <Plot plot={luma} label={label(words.common.lanes.luma)} />
        <span>{words.common.lanes.level}</span>
        <Plot plot={level} label={label(words.common.lanes.level)} />
        <span />
        <Axis from={from} to={to} />
      </div>
      {registered > from && (
        <p class="dim registered">
          {words.monitor.registeredAt(`${clockDay(registered, until)} ${zone.value}`)}
        </p>
      )}
      <AsTable timeline={timeline} until={until} />
    </>
  );
}

// saySums is the same in words, for who cannot see the lanes.
function saySums(sums: Sums): string {
  const said = Object.entries(sums.conditions).map(([name, c]) => `${conditionWord(name)} ${duration(c.sec)}`);
  return said.join(text.value.common.listComma) || text.value.monitor.good;
}

function Totals({ sums }: { sums: Sums }) {
  const words = text.value.monitor;
  const always = [...detectors.value.filter((d) => !d.optional).map((d) => d.health), "no_media"];
  const names = [...always, ...Object.keys(sums.conditions).filter((name) => !always.includes(name))];
  const percent = sums.lifeSec > 0 ? Math.floor((sums.watchedSec / sums.lifeSec) * 1000) / 10 : null;
  return (
    <section class="card totals" aria-label={words.totals}>
      <Total glyph="eye" word={words.watched} value={duration(sums.watchedSec)} beside={percent === null ? "" : words.share(decimal(percent))} />
      {names.map((name) => {
        const c = sums.conditions[name];
        return (
          <Total
            key={name}
            glyph={conditionGlyph(name)}
            word={conditionWord(name)}
            value={c ? duration(c.sec) : "–"}
            beside={!c ? words.nothing : c.lasts ? words.goingOn : words.times(c.times)}
            look={c?.lasts ? "is-trouble" : ""}
          />
        );
      })}
      <Total glyph="blind" word={words.notSeen} value={sums.unseenSec >= 1 ? duration(sums.unseenSec) : "–"} beside={sums.unseenSec >= 1 ? "" : words.nothing} />
      {sums.pausedSec >= 1 && <Total glyph="pause" word={text.value.common.states.paused} value={duration(sums.pausedSec)} beside="" />}
    </section>
  );
}

function Total({ glyph, word, value, beside, look = "" }: { glyph: GlyphName; word: string; value: string; beside: string; look?: string }) {
  return (
    <p class={look}>
      <span>
        <Glyph name={glyph} />
        {word}
      </span>
      <b class="num">{value}</b> <small>{beside}</small>
    </p>
  );
}
