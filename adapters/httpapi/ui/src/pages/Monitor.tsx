import "../styles/monitor.css";
import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { describe, run, type Said } from "../actions";
import { APIError, monitors as api } from "../api";
import { text } from "../i18n";
import { channelOf, isolated, nameOf, pageOf, shortURL, titleOf } from "../names";
import { Broadcast } from "../parts/Broadcast";
import { Allowed } from "../parts/Allowed";
import { ask } from "../parts/Ask";
import { changing } from "../parts/ChangeForm";
import { DetectorStates } from "../parts/DetectorStates";
import { Glyph } from "../parts/Glyph";
import { HintCard } from "../parts/Hints";
import { IngestCard } from "../parts/Ingest";
import { History } from "../parts/History";
import { MonitorEvents, useEvents } from "../parts/MonitorEvents";
import { ErrorText, Stranger } from "../parts/Name";
import { Live } from "../parts/Picture";
import { References } from "../parts/References";
import { PauseForm } from "../parts/PauseForm";
import { Lamp, StateWord, stillWord } from "../parts/State";
import { Watch } from "../parts/Watch";
import { Watching } from "../parts/Watching";
import { reasonWord } from "../refusals";
import { path } from "../router";
import { pinned, togglePinned } from "../settings";
import { incidents, isLate, monitors, now } from "../store";
import { clockDay, duration, zone } from "../time";
import { useTitle } from "../title";
import type { Incident, Monitor as Data } from "../types";
import { isPaused, isTold, lasting, newestIncidents, stateOf } from "../wall";
import { needsSomebody, worst } from "../incident";

export function Monitor() {
  const id = decodeURIComponent(path.value.split("/")[2] ?? "");
  const { monitor, failed } = useMonitor(id);
  if (monitor) return <Loaded monitor={monitor} />;
  return (
    <main class="main" id="main" aria-busy={!failed}>
      <h1 class={failed ? "" : "hidden-text"}>{text.value.monitor.title}</h1>
      <p>{failed || text.value.common.loading}</p>
    </main>
  );
}

// useMonitor is the monitor of the feed, with what only a reading tells: the receiver, and monitors that have ended.
function useMonitor(id: string) {
  const read = useSignal<Data | null>(null);
  const failed = useSignal<Said>("");
  monitors.keys.value;
  const live = monitors.rows.get(id)?.value;
  const changed = live && `${live.status} ${JSON.stringify(live.config)} ${JSON.stringify(live.metadata)} ${JSON.stringify(live.labels)}`;
  useEffect(() => {
    const abort = new AbortController();
    api.read(id, abort.signal).then(
      (monitor) => (read.value = monitor),
      (error) => {
        if (abort.signal.aborted) return;
        if (error instanceof APIError && error.status === 404) read.value = null; // deleted while its page is open
        else if (read.peek()) return;
        failed.value = error instanceof APIError && error.status === 404 ? text.value.monitor.notFound : describe(error);
      },
    );
    return () => abort.abort();
  }, [id, changed]);
  const monitor = read.value && live ? { ...read.value, ...live, record_parked_since: live.record_parked_since, hints: live.hints, ingest: live.ingest } : read.value;
  return { monitor, failed: failed.value };
}

function Loaded({ monitor }: { monitor: Data }) {
  const id = monitor.monitor_id;
  useTitle(isolated(nameOf(monitor)));
  const events = useEvents(id);
  const incident = useComputed(() => newestIncidents(incidents.values().filter((i) => i.monitor_id === id)).get(id) ?? null);
  return (
    <main class="main monitor" id="main">
      <Head monitor={monitor} incident={incident.value} />
      <History monitor={monitor} incident={incident.value} events={events.value} />
      <div class="monitor-columns">
        <MonitorEvents monitorID={id} events={events.value} />
        <div>
          <IngestCard ingest={monitor.ingest} />
          <HintCard hints={monitor.hints ?? []} />
          <Watching monitor={monitor} />
          <DetectorStates monitor={monitor} />
          <References key={id} of={{ kind: "monitors", id }} hint={text.value.monitor.references.hint} channel={monitor.channel_id} runs={monitor.config.detectors} ended={!!monitor.ended_at} />
          <Broadcast monitor={monitor} incident={incident.value} />
        </div>
      </div>
    </main>
  );
}

const isActive = (monitor: Data) => ["initializing", "waiting", "monitoring"].includes(monitor.status);

function Head({ monitor, incident }: { monitor: Data; incident: Incident | null }) {
  const words = text.value;
  const state = useComputed(() => stateOf(monitor, incident, now.value));
  const condition = lasting(monitor, incident);
  const open = incident && (incident.state === "open" || isTold(condition)) ? incident : null;
  const name = nameOf(monitor);
  return (
    <>
      <nav class="crumbs" aria-label={words.monitor.where}>
        <a href="/">{words.shell.wall}</a>
        <Glyph name="right" />
        <span class="mono">{monitor.monitor_id.slice(-8)}</span>
      </nav>
      <div class={`monitor-head is-${state.value}`}>
        <div class="monitor-picture">
          <Live id={monitor.monitor_id} intervalSec={monitor.config.check_interval_sec} label={name} />
        </div>
        <div class="monitor-name">
          <h1>
            {condition ? <Lamp name={condition.name} large /> : <StateWord state={state.value} late={isLate(monitor.monitor_id)} of={monitor} />}
            <span dir="auto" class="wrap">
              {name}
            </span>
          </h1>
          {channelOf(monitor) && titleOf(monitor) && (
            <p class="lead">
              <Stranger>{titleOf(monitor)}</Stranger>
            </p>
          )}
          <Facts monitor={monitor} incident={open} />
          <Buttons monitor={monitor} incident={open} name={name} />
        </div>
        <Big monitor={monitor} incident={open} />
      </div>
    </>
  );
}

// Big counts since the onset of what lasts, or until the planned start.
function Big({ monitor, incident }: { monitor: Data; incident: Incident | null }) {
  const words = text.value;
  const condition = incident && worst(incident);
  const start = monitor.config.scheduled_start_time;
  const seconds = useComputed(() => {
    const at = now.value; // always read: what reads no signal is never computed again
    if (condition) return duration((at - Date.parse(condition.last_started_at)) / 1000);
    if (monitor.status === "waiting" && start) return duration(Math.abs(Date.parse(start) - at) / 1000);
    return "";
  });
  const below = condition
    ? words.monitor.startedAt(`${clockDay(condition.last_started_at, now.peek())} ${zone.value}`)
    : start
      ? words.monitor.plannedFor(`${clockDay(start, now.peek())} ${zone.value}`)
      : words.monitor.noPlan;
  if (!seconds.value) return null;
  return (
    <p class="big">
      <b class="num">{seconds}</b>
      <span class="num">{below}</span>
    </p>
  );
}

function Facts({ monitor, incident }: { monitor: Data; incident: Incident | null }) {
  const words = text.value.monitor;
  const today = now.peek();
  return (
    <p class="monitor-facts">
      <a href={pageOf(monitor.stream_url)} target="_blank" rel="noreferrer noopener">
        <Glyph name="link" />
        <b class="mono">{shortURL(monitor.stream_url)}</b>
      </a>
      {monitor.channel_id && (
        <a href={`/channels/${monitor.channel_id}`}>
          <Glyph name="list" />
          <b>{words.channel}</b>
        </a>
      )}
      <span>
        <Glyph name="stream" />
        {(text.value.wall.words as Record<string, string>)[monitor.stream_status]}
      </span>
      {isActive(monitor) && (
        <span>
          <Glyph name="eye" />
          {words.lastLook} <b class="num">{monitor.health.last_check_at ? clockDay(monitor.health.last_check_at, today) : words.never}</b>
        </span>
      )}
      {monitor.ended_at && (
        <span>
          <Glyph name="off" />
          {words.ended(clockDay(monitor.ended_at, today))}
          {monitor.reason && `, ${words.endedReason(reasonWord(monitor.reason))}`}
        </span>
      )}
      {isPaused(monitor, now.value) && monitor.paused_by && (
        <span>
          <Glyph name="pause" />
          {words.pausedBy} <b dir="auto">{monitor.paused_by}</b>
        </span>
      )}
      {incident?.state === "resolved" && (
        <span class="is-warning">
          <Glyph name="person" />
          {stillWord(incident, worst(incident)!)}
        </span>
      )}
      {incident?.state === "open" && incident.acknowledged_by && (
        <span>
          <Glyph name="person" />
          <b dir="auto">{incident.acknowledged_by}</b> {words.has}
          {needsSomebody(incident) && `${text.value.common.listComma}${text.value.common.worseSince}`}
        </span>
      )}
      {monitor.record_parked_since && (
        <span class="is-warning">
          <Glyph name="note" />
          <span>{words.parked(clockDay(monitor.record_parked_since, today))}</span>
        </span>
      )}
      {monitor.last_error && (
        <span class="is-warning">
          <Glyph name="warning" />
          <span>
            {text.value.why.lastError}
            <ErrorText>{monitor.last_error}</ErrorText>
          </span>
        </span>
      )}
    </p>
  );
}

function Buttons({ monitor, incident, name }: { monitor: Data; incident: Incident | null; name: string }) {
  const words = text.value.monitor;
  const isPinned = pinned.value.includes(monitor.monitor_id);
  const active = isActive(monitor);
  const pausing = useSignal(false);
  return (
    <div class="actions">
      {incident && (
        <a class="btn primary" href={`/incidents/${incident.incident_id}`}>
          {words.openIncident}
        </a>
      )}
      <Watch url={monitor.stream_url} />
      {active && (
        <>
          <button class="btn" type="button" aria-pressed={isPinned} onClick={() => togglePinned(monitor.monitor_id)}>
            <Glyph name="pin" />
            {isPinned ? words.unpin : words.pin}
          </button>
          <Allowed to="operate">
            <button class="btn" type="button" onClick={() => (changing.value = true)}>
              {words.change}
            </button>
            {isPaused(monitor, now.value) && (
              <button class="btn" type="button" onClick={() => void run(async () => void (await api.change(monitor.monitor_id, { paused_until: null })))}>
                <Glyph name="ok" />
                {words.resume}
              </button>
            )}
            <button class="btn" type="button" onClick={() => (pausing.value = true)}>
              <Glyph name="pause" />
              {isPaused(monitor, now.value) ? words.pauseUntil : words.pause}
            </button>
            <button class="btn quiet" type="button" onClick={async () => (await ask({ title: words.stopTitle(isolated(name)), text: words.stopText, yes: words.stop })) && run(() => api.stop(monitor.monitor_id))}>
              <Glyph name="stop" />
              {words.stop}
            </button>
          </Allowed>
          {pausing.value && <PauseForm id={monitor.monitor_id} onClose={() => (pausing.value = false)} />}
        </>
      )}
    </div>
  );
}
