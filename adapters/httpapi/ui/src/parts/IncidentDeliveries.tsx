import { useSignal } from "@preact/signals";
import { run } from "../actions";
import { deliveries as api } from "../api";
import { keyOf } from "../deliverylist";
import { firstTold, triesOf } from "../evidence";
import { text } from "../i18n";
import { now } from "../store";
import { clock, clockDay, fractional, secondsBetween } from "../time";
import type { Delivery } from "../types";
import { Allowed } from "./Allowed";
import { Glyph } from "./Glyph";
import { eventWord } from "./MonitorEvents";
import { ErrorText } from "./Name";

// IncidentDeliveries lists every delivery of an incident: what was sent, to which address, and how that answered. null: it is not known yet.
export function IncidentDeliveries({ all }: { all: readonly Delivery[] | null }) {
  const words = text.value.incident;
  return (
    <section class="card" aria-labelledby="told-title">
      <div class="card-head">
        <h2 id="told-title">{words.told}</h2>
        {all && (
          <span class="tag num">
            {all.filter((d) => d.state === "delivered").length} / {all.length}
          </span>
        )}
      </div>
      {all?.length === 0 && <p class="card-body muted">{words.noDeliveries}</p>}
      {all && all.length > 0 && (
        <div class="scroll-x">
          <table class="table deliveries stacked">
            <thead>
              <tr>
                <th scope="col">{words.event}</th>
                <th scope="col">{words.receiver}</th>
                <th scope="col">{words.answer}</th>
                <th scope="col" class="right">
                  {words.attempts}
                </th>
                <th scope="col" class="right">
                  {words.took}
                </th>
                <td />
              </tr>
            </thead>
            <tbody>
              {all.map((delivery) => (
                <Row key={keyOf(delivery)} delivery={delivery} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Row({ delivery }: { delivery: Delivery }) {
  const words = text.value.incident;
  const queued = useSignal(false);
  const event = delivery.event_type ? eventWord(delivery.event_type) : words.messages;
  const last = delivery.attempts[0] && delivery.attempts.at(-1);
  const told = firstTold(delivery);
  const redeliver = () =>
    run(async () => {
      await api.again(delivery);
      queued.value = true;
    });
  const look = { delivered: "on_air", pending: "warning", failed: "trouble", dropped: "off" }[delivery.state];
  return (
    <tr>
      <td>
        <a href={`/deliveries?incident_id=${delivery.incident_id}&selected=${keyOf(delivery)}`}>
          <b>{event}</b>
        </a>
        <span class="sub">
          <span class="num">{clockDay(delivery.created_at, now.peek())}</span>
        </span>
      </td>
      <td class="mono receiver wide">{delivery.destination?.name ?? last?.request?.url ?? "–"}</td>
      <td>
        <span class={`word is-${look}`}>
          <Glyph name={({ delivered: "check", pending: "retry", failed: "fail", dropped: "bellOff" } as const)[delivery.state]} />
          {words.deliveryStates[delivery.state]}
        </span>
        <span class="sub">
          {last?.status && words.answered(last.status)}
          {delivery.state === "pending" && delivery.next_attempt_at && delivery.tried > 0 && ` ${words.againAt(clock(delivery.next_attempt_at))}`}
          {delivery.state !== "delivered" && delivery.last_error && (
            <>
              {" "}
              <ErrorText>{delivery.last_error}</ErrorText>
            </>
          )}
        </span>
      </td>
      <td class="right num" data-label={words.attempts}>
        {triesOf(delivery)}
      </td>
      <td class="right num" data-label={words.took}>
        {told ? fractional(secondsBetween(delivery.created_at, told), 2) : "–"}
        {told && delivery.delivered_at && clock(told) !== clock(delivery.delivered_at) && <span class="sub">{words.toldLast(clockDay(delivery.delivered_at, now.peek()))}</span>}
      </td>
      <td class="right">
        <Allowed to="operate">
          <button class="btn" type="button" disabled={queued.value || delivery.state === "dropped"} onClick={() => void redeliver()}>
            {queued.value ? words.redelivered : words.redeliver}
          </button>
        </Allowed>
      </td>
    </tr>
  );
}
