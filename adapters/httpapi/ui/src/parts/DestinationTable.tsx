import { signal } from "@preact/signals";
import { run } from "../actions";
import type { NotificationWords } from "../i18n";
import { destinations as api, type Destination, type KindName } from "../notifications";
import { now } from "../store";
import { clockDay, duration, number, secondsBetween } from "../time";
import { editing, tested, type Routing } from "../routing";
import { Glyph } from "./Glyph";
import type { GlyphName } from "./glyphs";
import { ErrorText } from "./Name";

export const kindGlyphs: Record<KindName, GlyphName> = { webhook: "webhook", slack: "chat", discord: "chat", teams: "chat", line: "phone", telegram: "send", pagerduty: "pager", ntfy: "bell", email: "mail" };

// shownFields say who is notified; the others say how.
const shownFields = ["channel", "to", "chat_id", "topic", "host"];

// testing is the destination that is being tested: a provider may take seconds.
const testing = signal("");

export function DestinationTable({ words, routing }: { words: NotificationWords; routing: Routing }) {
  return (
    <section class="card" aria-labelledby="who-title">
      <div class="card-head">
        <h2 id="who-title">{words.who}</h2>
        <span class="end dim">{words.whoHint}</span>
      </div>
      {routing.destinations.length === 0 ? (
        <p class="card-body muted">{words.none}</p>
      ) : (
        <div class="scroll-x">
          <table class="table stacked destinations">
            <thead>
              <tr>
                <th>{words.columns.destination}</th>
                <th>{words.columns.gets}</th>
                <th>{words.columns.state}</th>
                <th>{words.columns.day}</th>
                <th class="right">{words.columns.sent}</th>
                <th>
                  <span class="hidden-text">{words.columns.actions}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {routing.destinations.map((d) => (
                <Row key={d.destination_id} words={words} routing={routing} of={d} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Row({ words, routing, of }: { words: NotificationWords; routing: Routing; of: Destination }) {
  const kind = routing.kinds.find((k) => k.kind === of.kind);
  const details = [...shownFields.flatMap((name) => of.config[name] ?? []), ...(of.owner ? [words.byFile(of.owner)] : [])];
  return (
    <tr>
      <td>
        <span class="destination">
          <span class="destination-glyph">
            <Glyph name={kindGlyphs[of.kind] ?? "send"} />
          </span>
          <span>
            <b dir="auto">{of.name}</b>
            <span class="sub" dir="auto">
              {details.join(" · ")}
            </span>
          </span>
        </span>
      </td>
      <td>
        {words.kinds[of.kind] ?? of.kind}
        <span class="sub">{kind && words.gets[kind.gets]}</span>
      </td>
      <td class="wide">
        <State words={words} of={of} />
      </td>
      <td>
        <Bars of={of} />
      </td>
      <td class="right num" data-label={words.columns.sent}>
        {number.value.format(of.health.delivered_24h.reduce((sum, n) => sum + n, 0))}
      </td>
      <td class="right">
        <Buttons words={words} of={of} />
      </td>
    </tr>
  );
}

const looks = { unused: ["off", "off"], working: ["check", "on_air"], failing: ["fail", "trouble"], disabled: ["off", "trouble"] } as const;

function State({ words, of }: { words: NotificationWords; of: Destination }) {
  const { health } = of;
  const state = !of.enabled ? "disabled" : health.state;
  const [glyph, look] = looks[state];
  const at = (time: string) => clockDay(time, now.peek());
  const word = state === "failing" && health.failing_since ? words.failingFor(duration(secondsBetween(health.failing_since, now.value))) : words.states[state];
  const facts = [
    ...(state === "failing" && health.retry_at ? [words.nextTry(at(health.retry_at))] : []),
    ...(state === "working" && health.delivered_at ? [words.lastAt(at(health.delivered_at))] : []),
    ...(health.pending > 0 ? [words.waiting(number.value.format(health.pending))] : []),
  ];
  return (
    <>
      <span class={`word is-${of.enabled ? look : "off"}`}>
        <Glyph name={glyph} />
        {word}
      </span>
      <span class="sub">
        {of.disabled_reason && <span class="fact">{words.disabledReasons[of.disabled_reason]}</span>}
        {(of.disabled_reason || state === "failing") && health.last_error && <ErrorText>{health.last_error}</ErrorText>}
        {facts.map((fact) => (
          <span key={fact} class="fact">
            {fact}
          </span>
        ))}
      </span>
    </>
  );
}

const [barWidth, barStep, barHeight] = [4, 5.5, 20];

// Bars are the deliveries of 24 hours. An hour with failures is red.
function Bars({ of }: { of: Destination }) {
  const { delivered_24h: sent, failed_24h: failed } = of.health;
  const most = Math.max(1, ...sent.map((n, i) => n + (failed[i] ?? 0)));
  return (
    <svg class="bars" viewBox={`0 0 ${sent.length * barStep} ${barHeight}`} aria-hidden="true">
      {sent.map((n, i) => {
        const all = n + (failed[i] ?? 0);
        const height = all === 0 ? 2 : 3 + (all / most) * (barHeight - 3);
        return <rect key={i} class={failed[i] ? "bad" : all === 0 ? "none" : ""} x={i * barStep} y={barHeight - height} width={barWidth} height={height} rx=".8" />;
      })}
    </svg>
  );
}

function Buttons({ words, of }: { words: NotificationWords; of: Destination }) {
  const test = () =>
    run(async () => {
      testing.value = of.destination_id;
      try {
        tested.value = { name: of.name, test: await api.test(of.destination_id) };
      } finally {
        testing.value = "";
      }
    });
  const busy = testing.value === of.destination_id;
  return (
    <span class="actions row-actions">
      <button class="btn quiet" type="button" disabled={testing.value !== ""} onClick={() => void test()}>
        {busy ? words.testing : words.test}
      </button>
      <button class="btn quiet" type="button" onClick={() => (editing.value = { destination: of })}>
        {words.change}
      </button>
    </span>
  );
}
