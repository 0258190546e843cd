import { type ReadonlySignal } from "@preact/signals";
import { monitors as api } from "../api";
import { detectors, detectorWords } from "../detectors";
import { text } from "../i18n";
import { reasonWord } from "../refusals";
import { useRead } from "../read";
import { deliveries, now } from "../store";
import { clock, clockDay, duration, zone } from "../time";
import type { EventRecord } from "../types";
import { Glyph } from "./Glyph";
import type { GlyphName } from "./glyphs";
import { conditionGlyph } from "./State";
import { ErrorText } from "./Name";

const mostEvents = 100;

// useEvents is null until it is read. It is read again when the feed tells of a delivery of the monitor.
export function useEvents(monitorID: string): ReadonlySignal<EventRecord[] | null> {
  const newest = [...deliveries.value.values()].filter((d) => d.monitor_id === monitorID).at(-1);
  const change = newest && `${newest.event_id} ${newest.webhook_status} ${newest.webhook_attempts}`;
  return useRead((abort) => api.events(monitorID, mostEvents, abort).then((page) => page.events), [monitorID, change]).answer;
}

const shown = 20;

const looks: Record<string, [GlyphName, string]> = {
  "stream.started": ["stream", "on_air"],
  "stream.ended": ["off", "off"],
  "stream.delayed": ["late", "warning"],
  "alert.segment_error": ["no_media", "trouble"],
  "monitor.error": ["error", "trouble"],
};

export function MonitorEvents({ monitorID, events }: { monitorID: string; events: readonly EventRecord[] | null }) {
  const words = text.value.monitor;
  return (
    <section class="card" aria-labelledby="events-title">
      <div class="card-head">
        <h2 id="events-title">{words.events}</h2>
        <a class="btn quiet end" href={`/deliveries?monitor_id=${monitorID}`}>
          {words.moreEvents}
        </a>
      </div>
      {events?.length === 0 && <p class="card-body muted">{words.noEvents}</p>}
      {events && events.length > 0 && (
        <div class="scroll-x">
          <table class="table stacked">
            <thead>
              <tr>
                <th scope="col">{words.when(zone.value)}</th>
                <th scope="col">{words.what}</th>
                <th scope="col">{words.webhook}</th>
              </tr>
            </thead>
            <tbody>
              {events.slice(0, shown).map((event) => (
                <Row key={event.event_id} event={event} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

const detectorOfEvent = (type: string) => detectors.value.find(({ events }) => events.alert === type || events.recovered === type);

export function eventWord(type: string): string {
  const detector = detectorOfEvent(type);
  const words = detectorWords(detector);
  const named: Record<string, string> = { ...text.value.common.events, ...text.value.channels.events };
  return named[type] ?? (type === detector?.events.alert ? words?.alert : words?.recovered) ?? type;
}

export function eventLook(type: string): [GlyphName, string] {
  const detector = detectorOfEvent(type);
  if (detector && type === detector.events.alert) return [conditionGlyph(detector.condition), "trouble"];
  return looks[type] ?? (detector ? ["recovered", "recovered"] : ["send", "on_air"]);
}

const looksOfWebhook: Record<EventRecord["webhook_status"], [GlyphName, string]> = { sent: ["check", "on_air"], pending: ["retry", "warning"], failed: ["fail", "trouble"], none: ["send", "off"] };

function Row({ event }: { event: EventRecord }) {
  const words = text.value.monitor;
  const [glyph, look] = eventLook(event.event_type);
  const state = event.webhook_status;
  const data = event.payload.data as Record<string, unknown> | undefined;
  const happened = instantOf(data?.recovered_at) ?? instantOf(data?.started_at) ?? event.created_at;
  return (
    <tr>
      <td class="num">{clockDay(happened, now.peek())}</td>
      <td>
        <span class={`word is-${look}`}>
          <Glyph name={glyph} />
          {eventWord(event.event_type)}
        </span>
        <span class="sub">{tell(data, happened)}</span>
      </td>
      <td>
        <a class={`word is-${looksOfWebhook[state][1]}`} href={`/deliveries?monitor_id=${event.payload.monitor_id}&selected=${event.event_id}`}>
          <Glyph name={looksOfWebhook[state][0]} />
          {words.state[state]}
        </a>
        <span class="sub">{state === "sent" && event.sent_at ? `${clockDay(event.sent_at, now.peek())}${text.value.common.listComma}${words.tries(Math.max(1, event.attempts.length))}` : event.webhook_last_error && <ErrorText>{event.webhook_last_error}</ErrorText>}</span>
      </td>
    </tr>
  );
}

const instantOf = (value: unknown): string | null => (typeof value === "string" && !Number.isNaN(Date.parse(value)) ? value : null);

// tell says the numbers of an event. Its text is a stranger's and stays text.
function tell(data: Record<string, unknown> | undefined, happened: string): string {
  const words = text.value.monitor;
  if (!data) return "";
  const parts: string[] = [];
  const seconds = (key: string) => (typeof data[key] === "number" ? (data[key] as number) : null);
  if (seconds("duration_sec") !== null && seconds("threshold_sec") !== null) parts.push(words.after(duration(seconds("duration_sec")!), duration(seconds("threshold_sec")!)));
  else if (seconds("total_duration_sec") !== null) parts.push(words.lasted(duration(seconds("total_duration_sec")!)));
  else if (seconds("delay_sec") !== null) parts.push(words.lateBy(duration(seconds("delay_sec")!)));
  if (instantOf(data.started_at) && data.started_at !== happened) parts.push(words.startedAt(clock(data.started_at as string)));
  const reason = data.reason ?? data.failure; // the failure of a segment error
  if (typeof reason === "string") parts.push(words.reason(reasonWord(reason)));
  return parts.join(text.value.common.listComma);
}
