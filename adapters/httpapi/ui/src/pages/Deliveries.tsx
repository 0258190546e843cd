import "../styles/deliveries.css";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { run } from "../actions";
import { deliveries as api } from "../api";
import { filterNames, keyOf, useDeliveryList } from "../deliverylist";
import { firstTold, triesOf } from "../evidence";
import { text } from "../i18n";
import { onKey } from "../keyboard";
import { nameOf, shortURL } from "../names";
import { Allowed } from "../parts/Allowed";
import { Exchange, pretty, StatusWord } from "../parts/Exchange";
import { Glyph } from "../parts/Glyph";
import { eventLook, eventWord } from "../parts/MonitorEvents";
import { ErrorText, Stranger } from "../parts/Name";
import { query, setQuery, withQuery } from "../router";
import { now } from "../store";
import { useNames } from "../streamnames";
import { clock, clockDay, duration, fractional, secondsBetween, zone } from "../time";
import { useTitle } from "../title";
import type { Delivery } from "../types";

export function Deliveries() {
  const words = text.value.deliveries;
  useTitle(words.title);
  const { page, failed, fresh, more, reload } = useDeliveryList();
  const all = page?.deliveries ?? [];
  const chosen = query.value.get("selected");
  const selected = all.find((d) => keyOf(d) === chosen) ?? (chosen || isNarrow() ? null : (all[0] ?? null));
  const streamOf = useNames(all.flatMap((d) => d.monitor_id ?? []));
  const nameOfDelivery = (d: Delivery) => {
    if (d.monitor_id) return nameOf(streamOf(d.monitor_id, d.stream_url ?? ""));
    if (d.channel_id) return shortURL(d.channel_url ?? d.channel_id);
    return d.event_type ? words.severalChannels : words.several;
  };
  const move = (by: number) => {
    const next = all[Math.min(Math.max(0, all.indexOf(selected!) + by), all.length - 1)];
    if (!next) return;
    setQuery({ selected: keyOf(next) }, "replace");
    document.getElementById(`delivery-${keyOf(next)}`)?.scrollIntoView({ block: "nearest" });
  };
  useEffect(() => {
    const ends = [onKey("j", () => move(1)), onKey("k", () => move(-1)), onKey("r", reload)];
    return () => ends.forEach((end) => end());
  });
  return (
    <main class={chosen ? "main delivery-page chosen" : "main delivery-page"} id="main">
      <div class="page-head">
        <h1>{words.title}</h1>
        <Filters />
        {fresh > 0 && (
          <button class="new-pill end" type="button" onClick={reload}>
            <Glyph name="up" />
            {words.newOnes(fresh)}
          </button>
        )}
      </div>
      {failed && (
        <p class="notice is-warning" role="alert">
          <Glyph name="warning" />
          {failed}
        </p>
      )}
      {!page && !failed && <p aria-busy="true">{text.value.common.loading}</p>}
      {page && all.length === 0 && <p class="muted">{query.value.size > 0 ? words.none : words.noneYet}</p>}
      {all.length > 0 && (
        <div class="delivery-columns">
          <div class="delivery-side">
            <ul class="card delivery-list" aria-label={words.list}>
              {all.map((d) => (
                <Row key={keyOf(d)} delivery={d} name={nameOfDelivery(d)} selected={d === selected} />
              ))}
            </ul>
            {page!.next && (
              <button class="btn" type="button" onClick={more}>
                {words.more}
              </button>
            )}
          </div>
          {selected ? <Detail key={keyOf(selected)} delivery={selected} name={nameOfDelivery(selected)} /> : <p class="muted delivery-detail">{words.choose}</p>}
        </div>
      )}
    </main>
  );
}

// isNarrow: the list and the chosen delivery do not stand side by side (deliveries.css).
const isNarrow = () => matchMedia("(max-width: 900px)").matches;

function Filters() {
  const words = text.value.deliveries;
  const q = query.value;
  return (
    <div class="actions">
      <label class="pick">
        {words.state}
        <select value={q.get("state") ?? ""} onChange={(e) => setQuery({ state: e.currentTarget.value, selected: null })}>
          <option value="">{text.value.common.any}</option>
          {Object.entries(words.states).map(([value, word]) => (
            <option key={value} value={value}>
              {word}
            </option>
          ))}
        </select>
      </label>
      {q.get("state") === "failed" && <Again destinationID={q.get("destination_id")} />}
      {filterNames.map((name) => {
        const id = q.get(name);
        return (
          id && (
            <a key={name} class="btn quiet" href={withQuery({ [name]: null, selected: null })} aria-label={words.remove(words.filters[name])}>
              {words.filters[name]} <span class="mono">…{id.slice(-6)}</span> <Glyph name="fail" />
            </a>
          )
        );
      })}
    </div>
  );
}

const dayMs = 86_400_000;

// Again sends everything again that has failed at destinations in the last 24 hours.
function Again({ destinationID }: { destinationID: string | null }) {
  const words = text.value.deliveries;
  const said = useSignal("");
  const act = () =>
    run(async () => {
      const { replayed } = await api.againSince(new Date(now.peek() - dayMs).toISOString(), destinationID);
      said.value = words.replayed(replayed);
    });
  return (
    <>
      <Allowed to="operate">
        <button class="btn" type="button" onClick={() => void act()}>
          <Glyph name="retry" />
          {words.replay}
        </button>
      </Allowed>
      <span role="status">{said.value}</span>
    </>
  );
}

const looks = { delivered: ["check", "on_air"], pending: ["retry", "warning"], failed: ["fail", "trouble"], dropped: ["bellOff", "off"] } as const;

function StateOf({ delivery }: { delivery: Delivery }) {
  const [glyph, look] = looks[delivery.state];
  return (
    <span class={`word is-${look}`}>
      <Glyph name={glyph} />
      {text.value.deliveries.states[delivery.state]}
    </span>
  );
}

function Row({ delivery, name, selected }: { delivery: Delivery; name: string; selected: boolean }) {
  const [glyph, look] = eventLook(delivery.event_type ?? "");
  return (
    <li id={`delivery-${keyOf(delivery)}`}>
      <a class={selected ? "selected" : ""} href={withQuery({ selected: keyOf(delivery) })} aria-current={selected ? "true" : undefined}>
        <span class={`delivery-glyph is-${look}`}>
          <Glyph name={glyph} />
        </span>
        <span class="delivery-what">
          <b class="one-line">{whatOf(delivery)}</b>
          <Stranger className="one-line muted">{delivery.destination ? `${delivery.destination.name} · ${name}` : name}</Stranger>
        </span>
        <span class="delivery-when">
          <StateOf delivery={delivery} />
          <span class="num dim">{clockDay(delivery.created_at, now.peek())}</span>
        </span>
        <span class="only-narrow">
          <Glyph name="right" />
        </span>
      </a>
    </li>
  );
}

function Detail({ delivery, name }: { delivery: Delivery; name: string }) {
  const words = text.value.deliveries;
  const page = delivery.monitor_id ? `/monitors/${delivery.monitor_id}` : delivery.channel_id && `/channels/${delivery.channel_id}`;
  const newestFirst = delivery.attempts.map((attempt, i) => ({ attempt, n: i + 1 })).reverse();
  return (
    <article class="card delivery-detail" aria-labelledby="delivery-title">
      <div class="card-head">
        <a class="btn quiet only-narrow" href={withQuery({ selected: null })}>
          {words.back}
        </a>
        <h2 id="delivery-title">{whatOf(delivery)}</h2>
        <StateOf delivery={delivery} />
        <span class="end">
          <Redeliver key={delivery.state} delivery={delivery} />
        </span>
      </div>
      <div class="card-body delivery-body">
        <p class="delivery-facts">
          {page ? (
            <a class="link wrap" href={page} dir="auto">
              {name}
            </a>
          ) : (
            <span>{name}</span>
          )}
          {delivery.destination && (
            <a class="link wrap" href={withQuery({ destination_id: delivery.destination.destination_id, selected: null })} dir="auto">
              {delivery.destination.name}
            </a>
          )}
          {delivery.incident_id && (
            <a class="link" href={`/incidents/${delivery.incident_id}`}>
              {words.openIncident}
            </a>
          )}
          <span class="num">
            {clockDay(delivery.created_at, now.peek())} {zone.value}
          </span>
          <span>{words.tries(triesOf(delivery))}</span>
          {firstTold(delivery) && <span class="num">{words.took(took(delivery))}</span>}
          {delivery.state === "pending" && delivery.next_attempt_at && <span class="num">{words.next(clock(delivery.next_attempt_at))}</span>}
          {delivery.long_schedule && <span>{words.longSchedule}</span>}
        </p>
        {delivery.state === "failed" && delivery.last_error && (
          <p class="notice is-trouble">
            <Glyph name="fail" />
            <span>
              {words.only2xx} <ErrorText>{delivery.last_error}</ErrorText>
            </span>
          </p>
        )}
        {delivery.state === "dropped" && delivery.last_error && (
          <p class="notice">
            <Glyph name="bellOff" />
            <ErrorText>{delivery.last_error}</ErrorText>
          </p>
        )}
        <h3>{words.attempts}</h3>
        {newestFirst.length === 0 && <p class="dim">{words.noAttempts}</p>}
        {newestFirst.map(({ attempt, n }, i) => (
          <details key={attempt.at} class="attempt" open={i === 0}>
            <summary>
              <span class="num">{words.attempt(n, clockDay(attempt.at, now.peek()))}</span>
              <StatusWord of={attempt} />
            </summary>
            <Exchange of={attempt} />
          </details>
        ))}
        {delivery.body && (
          <>
            <h3>{words.body}</h3>
            <pre class="code" tabIndex={0} aria-label={words.body}>
              {pretty(delivery.body)}
            </pre>
          </>
        )}
      </div>
    </article>
  );
}

// whatOf is the event, or that these are messages.
const whatOf = (delivery: Delivery): string => (delivery.event_type ? eventWord(delivery.event_type) : text.value.incident.messages);

// took is how long after its event a delivery arrived.
function took(delivery: Delivery): string {
  const seconds = secondsBetween(delivery.created_at, firstTold(delivery)!);
  return seconds < 60 ? fractional(seconds, 2) : duration(seconds);
}

function Redeliver({ delivery }: { delivery: Delivery }) {
  const words = text.value.deliveries;
  const queued = useSignal(false);
  const act = () =>
    run(async () => {
      await api.again(delivery);
      queued.value = true;
    });
  return (
    <Allowed to="operate">
      <button class="btn" type="button" disabled={queued.value || delivery.state === "pending" || delivery.state === "dropped"} onClick={() => void act()}>
        <Glyph name="retry" />
        {queued.value ? words.redelivered : words.redeliver}
      </button>
    </Allowed>
  );
}
