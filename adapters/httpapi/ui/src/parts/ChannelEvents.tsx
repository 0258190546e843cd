import { channels as api } from "../channels";
import { text } from "../i18n";
import { shortURL } from "../names";
import { useRead } from "../read";
import { now } from "../store";
import { clockDay, duration, secondsBetween, zone } from "../time";
import type { ChannelEvent, ChannelGap, StreamFound } from "../types";
import { Glyph } from "./Glyph";
import type { GlyphName } from "./glyphs";
import { eventWord } from "./MonitorEvents";
import { ErrorText, Stranger } from "./Name";

const mostEvents = 50;

const looks: Record<ChannelEvent["event_type"], [GlyphName, string]> = {
  "channel.stream_found": ["plus", "on_air"],
  "channel.unreadable": ["blind", "warning"],
  "channel.readable": ["recovered", "recovered"],
};

// ChannelEvents are the newest events of a channel, and what was done. They are read again when change does.
export function ChannelEvents({ id, change }: { id: string; change: unknown }) {
  const words = text.value.monitor;
  const events = useRead((abort) => api.events(id, mostEvents, abort), [id, change]).answer.value?.events;
  return (
    <section class="card" aria-labelledby="events-title">
      <div class="card-head">
        <h2 id="events-title">{words.events}</h2>
      </div>
      {events?.length === 0 && <p class="card-body muted">{words.noEvents}</p>}
      {events && events.length > 0 && (
        <div class="scroll-x">
          <table class="table stacked">
            <thead>
              <tr>
                <th scope="col">{words.when(zone.value)}</th>
                <th scope="col">{words.what}</th>
              </tr>
            </thead>
            <tbody>
              {events.map((event) => (
                <Row key={event.event_id} of={event} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Row({ of }: { of: ChannelEvent }) {
  const [glyph, look] = looks[of.event_type];
  return (
    <tr>
      <td class="num">{clockDay(of.timestamp, now.peek())}</td>
      <td>
        <span class={`word is-${look}`}>
          <Glyph name={glyph} />
          {eventWord(of.event_type)}
        </span>
        {of.event_type === "channel.stream_found" ? <Found of={of.data} /> : <Gap of={of.data} />}
      </td>
    </tr>
  );
}

function Found({ of }: { of: StreamFound }) {
  const words = text.value.channels;
  const title = <Stranger>{of.title || shortURL(of.stream_url)}</Stranger>;
  const done = of.standing === "watched" ? (of.adopted ? words.adopted : words.registered) : (words.whys as Record<string, string>)[of.why ?? ""] ?? words.standings[of.standing];
  return (
    <>
      <span class="sub">{of.monitor_id ? <a href={`/monitors/${of.monitor_id}`}>{title}</a> : title}</span>
      <span class="sub">
        {done} {of.detail && <ErrorText>{of.detail}</ErrorText>}
      </span>
    </>
  );
}

function Gap({ of }: { of: ChannelGap }) {
  const words = text.value.channels;
  return (
    <span class="sub">
      {of.until ? text.value.monitor.lasted(duration(secondsBetween(of.since, of.until))) : words.since(clockDay(of.since, now.peek()))}
      {text.value.common.listComma}
      {words.failures[of.failure] ?? of.failure} {of.error_details && <ErrorText>{of.error_details}</ErrorText>}
    </span>
  );
}
