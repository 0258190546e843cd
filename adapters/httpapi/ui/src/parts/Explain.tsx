import { useSignal } from "@preact/signals";
import { channelEvents, nameOfChannel, readChannels } from "../channels";
import { conditionNames, detectors } from "../detectors";
import { text, type NotificationWords } from "../i18n";
import { nameOf } from "../names";
import { routes as api, type Explanation, type Reason } from "../notifications";
import { useRead } from "../read";
import { now } from "../store";
import { namedOf } from "../streamnames";
import { clockDay, wholeDuration } from "../time";
import { changes, type Routing } from "../routing";
import { say } from "./Form";
import { Glyph } from "./Glyph";
import { metadataWord } from "./LabelsField";
import { streamOptions } from "./MatchFields";
import { eventWord } from "./MonitorEvents";
import { conditionWord } from "./State";

const mostChannels = 1000; // that are registered at once

// Explain asks where an incident, or an event of a channel, would be sent. Nothing is sent.
export function Explain({ words, routing }: { words: NotificationWords; routing: Routing }) {
  const chosen = useSignal(""); // nothing yet
  const what = chosen.value || (detectors.value[0]?.condition ?? "no_media");
  const ofChannels = channelEvents();
  const ofChannel = ofChannels.some(([type]) => type === what);
  const severity = useSignal("2");
  const monitor = useSignal("");
  const channel = useSignal("");
  const at = useSignal(""); // now
  const known = useRead((abort) => (ofChannel ? readChannels(false, mostChannels, abort) : Promise.resolve(null)), [ofChannel]).answer.value?.channels ?? [];
  const when = at.value ? { at: new Date(at.value).toISOString() } : {};
  const about = ofChannel
    ? { ...when, event_type: what, ...(channel.value ? { channel_id: channel.value } : {}) }
    : { ...when, conditions: [what], severity: Number(severity.value), ...(monitor.value ? { monitor_id: monitor.value } : {}) };
  const { answer, failed } = useRead((abort) => api.explain(about, abort), [JSON.stringify(about), changes.value]);
  return (
    <section class="card" aria-labelledby="explain-title">
      <div class="card-head">
        <h2 id="explain-title">{words.explain}</h2>
        <span class="end dim">{words.explainHint}</span>
      </div>
      <div class="card-body form">
        <div class="form-grid">
          <Pick label={words.condition} value={what} options={[...conditionNames().map((name): [string, string] => [name, conditionWord(name)]), ...ofChannels]} choose={(value) => (chosen.value = value)} />
          {ofChannel ? (
            <Pick label={words.channel} value={channel.value} options={[["", words.anyChannel], ...known.map((c): [string, string] => [c.channel_id, nameOfChannel(c)])]} choose={(value) => (channel.value = value)} />
          ) : (
            <Pick label={words.severity} value={severity.value} options={[0, 1, 2, 3].map((n) => [String(n), text.value.common.severity(n)])} choose={(value) => (severity.value = value)} />
          )}
        </div>
        {ofChannel ? <p class="muted">{words.explainChannel}</p> : <Pick label={words.stream} value={monitor.value} options={[["", words.anyStream], ...streamOptions()]} choose={(value) => (monitor.value = value)} />}
        <label class="field">
          <span class="label">{words.explainAt}</span>
          <input class="input" type="datetime-local" value={at.value} onChange={(e) => (at.value = e.currentTarget.value)} />
        </label>
        {failed.value !== null && (
          <p class="notice is-warning" role="alert">
            <Glyph name="warning" />
            <span class="wrap">{say(failed.value)}</span>
          </p>
        )}
        <div aria-live="polite">{answer.value && <Answer words={words} routing={routing} of={answer.value} />}</div>
      </div>
    </section>
  );
}

function Pick({ label, value, options, choose }: { label: string; value: string; options: [string, string][]; choose: (value: string) => void }) {
  return (
    <label class="field">
      <span class="label">{label}</span>
      <select class="input" value={value} onChange={(e) => choose(e.currentTarget.value)}>
        {options.map(([of, word]) => (
          <option key={of} value={of}>
            {word}
          </option>
        ))}
      </select>
    </label>
  );
}

const glyphs = { matched: "check", not_matched: "fail", not_reached: "off" } as const;

function Answer({ words, routing, of }: { words: NotificationWords; routing: Routing; of: Explanation }) {
  const isDefault = (id: string) => routing.routes.find((r) => r.route_id === id)?.default;
  return (
    <>
      <ul class="reasons">
        {of.routes.map((route) => (
          <li key={route.route_id} class={route.result === "matched" ? "" : "dim"}>
            <Glyph name={glyphs[route.result]} />
            <b class="wrap" dir="auto">
              {isDefault(route.route_id) ? words.isDefault : route.name}
            </b>
            <span>{route.result === "not_reached" ? words.notReached : route.reasons.length > 0 ? <Reasons words={words} of={route.reasons} /> : route.result === "matched" ? words.matched : words.notMatched}</span>
          </li>
        ))}
      </ul>
      <h3>{words.told}</h3>
      {of.destinations.length === 0 && <p class="muted">{words.toldNobody}</p>}
      <ul class="reasons">
        {of.destinations.map((d) => (
          <li key={d.destination_id}>
            <Glyph name={of.paused_until ? "pause" : d.silenced ? "mute" : "send"} />
            <b class="wrap" dir="auto">
              {d.name}
            </b>
            <span>{of.paused_until ? words.paused(clockDay(of.paused_until, now.peek())) : d.silenced ? words.silenced : d.delay_sec > 0 ? words.after(wholeDuration(d.delay_sec)) : words.atOnce}</span>
          </li>
        ))}
        {untold(of).map((d) => (
          <li key={d.destination_id} class="dim">
            <Glyph name="bellOff" />
            <b class="wrap" dir="auto">
              {d.name}
            </b>
            <span>
              {words.notTold} <Reasons words={words} of={d.reasons} />
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

// untold are webhooks that get nothing, although people would by a route that leads there: these go by how it begins.
function untold(of: Explanation) {
  const all = of.routes.filter((route) => route.result === "matched").flatMap((route) => route.destinations);
  return all.filter((d, n) => d.gets === "events" && d.enabled && d.result === "not_matched" && [...of.destinations, ...all.slice(0, n)].every((other) => other.destination_id !== d.destination_id));
}

// Reasons name what did not fit; if everything did, all of it.
function Reasons({ words, of }: { words: NotificationWords; of: Reason[] }) {
  const wrong = of.filter((r) => !r.ok);
  const sentence = ({ criterion, wanted, got, ok }: Reason) => {
    const [kind, ...name] = criterion.split(".");
    const path = name.join(".");
    const about = kind === "labels" ? words.criteria.label(path) : kind === "metadata" ? metadataWord(path) : ((words.criteria as Record<string, unknown>)[criterion] ?? criterion);
    return words.reason(String(about), valueText(criterion, wanted), valueText(criterion, got), ok);
  };
  return (
    <>
      {(wrong.length > 0 ? wrong : of).map((r, i) => (
        <bdi key={r.criterion}>{(i > 0 ? text.value.common.listComma : "") + sentence(r)}</bdi>
      ))}
    </>
  );
}

// valueText writes the values of a criterion as the page does elsewhere.
function valueText(criterion: string, values: string): string {
  const { hints, listComma } = text.value.common;
  const word: Record<string, (value: string) => string> = {
    events: eventWord,
    conditions: conditionWord,
    hints: (kind) => (hints.kinds as Record<string, string>)[kind] ?? kind,
    monitors: (id) => nameOf(namedOf(id, id)),
  };
  const of = word[criterion];
  return of && values ? values.split(", ").map(of).join(listComma) : values;
}
