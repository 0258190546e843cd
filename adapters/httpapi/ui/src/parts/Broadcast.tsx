import { monitors as api } from "../api";
import { text } from "../i18n";
import { useRead } from "../read";
import { now } from "../store";
import { clockDay, duration, fractional, number, zone } from "../time";
import type { Incident, Monitor } from "../types";

// Broadcast sums up the newest broadcast of a monitor.
export function Broadcast({ monitor, incident }: { monitor: Monitor; incident: Incident | null }) {
  const { answer } = useRead((abort) => api.sessions(monitor.monitor_id, abort), [monitor.monitor_id, monitor.status, incident?.updated_at]);
  const words = text.value.monitor;
  const b = answer.value?.sessions[0];
  if (!b) return null;
  const today = now.peek();
  return (
    <section class="card" aria-labelledby="broadcast-title">
      <div class="card-head">
        <h2 id="broadcast-title">{words.broadcast}</h2>
      </div>
      <dl class="facts card-body">
        <dt>{words.started}</dt>
        <dd class="num">
          {clockDay(b.started_at, today)} {zone.value}
        </dd>
        <dt>{words.saw}</dt>
        <dd class="num">{duration(b.seconds.watched ?? 0)}</dd>
        <dt>{words.incidentsCount}</dt>
        <dd>
          <a class="link" href={`/incidents?monitor_id=${monitor.monitor_id}`}>
            {number.value.format(b.incidents)}
          </a>
        </dd>
        <dt>{words.alerts}</dt>
        <dd class="num">{number.value.format(b.alerts)}</dd>
        {b.time_to_alert_sec && (
          <>
            <dt>{words.onsetToAlert}</dt>
            <dd class="num">
              {fractional(b.time_to_alert_sec.mean)}
              {text.value.common.listComma}
              {words.mean(b.alerts)}
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}
