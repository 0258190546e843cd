import "../styles/incidents.css";
import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { acknowledge, describe, failure, run, type Said } from "../actions";
import { incidents as api } from "../api";
import { csvOf, save } from "../csv";
import { byDay, dayName } from "../days";
import { conditionNames } from "../detectors";
import { text } from "../i18n";
import { firstCondition, storms, troubleOfAll } from "../incidentlist";
import { grouped, hasLabels, known, valueOf, wantedLabels } from "../labels";
import type { Named } from "../names";
import { Allowed } from "../parts/Allowed";
import { ask } from "../parts/Ask";
import { Glyph } from "../parts/Glyph";
import { IncidentRow } from "../parts/IncidentRow";
import { conditionWord } from "../parts/State";
import { groupName, ViewBar } from "../parts/ViewBar";
import { query, setQuery, withQuery } from "../router";
import { incidents as live, monitors, now } from "../store";
import { useNames } from "../streamnames";
import { clockDay, duration, number } from "../time";
import { useTitle } from "../title";
import { needsSomebody } from "../incident";
import type { Incident } from "../types";

const dayMs = 86_400_000;

interface Page {
  incidents: Incident[];
  next: string | null;
}

// useIncidents reads the filtered list, keeps it as new as the feed, and counts what came since.
function useIncidents() {
  const page = useSignal<Page | null>(null);
  const failed = useSignal<Said>("");
  const again = useSignal(0);
  const { filter, key } = readFilter();
  useEffect(() => {
    const abort = new AbortController();
    failed.value = "";
    api.list(filter, abort.signal).then((read) => (page.value = read), (error) => !abort.signal.aborted && (failed.value = describe(error)));
    return () => abort.abort();
  }, [key, again.value]);
  const more = () =>
    page.value?.next &&
    void api.list({ ...filter, after: page.value.next }).then(
      (read) => (page.value = { incidents: [...page.value!.incidents, ...read.incidents], next: read.next }),
      (error) => (failed.value = describe(error)),
    );
  const shown = useComputed(() => page.value?.incidents.map((i) => newer(i, live.get(i.incident_id))) ?? null);
  const fresh = useComputed(() => {
    live.keys.value;
    if (!page.value) return 0;
    const known = new Set(page.value.incidents.map((i) => i.incident_id));
    const newest = page.value.incidents[0]?.opened_at ?? "";
    return live.values().filter((i) => i.state === "open" && !known.has(i.incident_id) && i.opened_at > newest && fits(i)).length;
  });
  return { shown, fresh, failed, next: page.value?.next ?? null, more, reload: () => again.value++ };
}

function newer(listed: Incident, now: Incident | undefined): Incident {
  return now && Date.parse(now.updated_at ?? now.opened_at) >= Date.parse(listed.updated_at) ? { ...listed, ...now } : listed;
}

function readFilter() {
  const q = query.value;
  const state = q.get("state");
  const days = Number(q.get("days") ?? 7) || 7;
  const filter = {
    state: state === "open" || state === "unacknowledged" ? "open" : state === "resolved" ? "resolved" : null,
    condition: q.get("condition"),
    severity: q.get("severity"),
    monitor_id: q.get("monitor_id"),
    label: Object.entries(wantedLabels()).map(([name, value]) => `${name}:${value}`),
    from: state === "open" || state === "unacknowledged" ? null : new Date(Math.floor(now.peek() / 60_000) * 60_000 - days * dayMs).toISOString(),
    limit: 100,
  };
  return { filter, key: [state, days, filter.condition, filter.severity, filter.monitor_id, ...filter.label].join(" ") };
}

// isListed is the part of the filter that the API does not know.
const isListed = (incident: Incident) => query.value.get("state") !== "unacknowledged" || needsSomebody(incident);

// fits reports whether a new incident would be in the list.
function fits(incident: Incident): boolean {
  const q = query.value;
  const condition = q.get("condition");
  return (
    q.get("state") !== "resolved" &&
    incident.severity >= Number(q.get("severity") ?? 0) &&
    (!condition || incident.conditions.some((c) => c.name === condition)) &&
    (!q.get("monitor_id") || incident.monitor_id === q.get("monitor_id")) &&
    hasLabels(labelledOf(incident), wantedLabels())
  );
}

// labelledOf has the labels of the stream as the feed knows it, or as the list was read.
const labelledOf = (incident: Incident) => monitors.get(incident.monitor_id) ?? incident;

export function Incidents() {
  const words = text.value.incidents;
  useTitle(words.title);
  const { shown, fresh, failed, next, more, reload } = useIncidents();
  const all = (shown.value ?? []).filter(isListed);
  const open = all.filter((i) => i.state === "open");
  const streamOf = useNames(all.map((i) => i.monitor_id));
  const waiting = open.filter(needsSomebody);
  const group = query.value.get("group");
  monitors.keys.value;
  return (
    <main class="main" id="main">
      <div class="page-head">
        <h1>{words.title}</h1>
        <Export streamOf={streamOf} none={all.length === 0} />
      </div>
      <Filters>
        {fresh.value > 0 && (
          <button class="new-pill" type="button" onClick={reload}>
            <Glyph name="up" />
            {words.newOnes(fresh.value)}
          </button>
        )}
        {waiting.length > 1 && (
          <Allowed to="operate">
            <button class="btn" type="button" onClick={async () => (await ask({ title: words.acknowledgeTitle(waiting.length), text: words.acknowledgeText, yes: text.value.incident.acknowledge })) && acknowledge(...waiting.map((i) => i.incident_id))}>
              {words.acknowledgeAll(waiting.length)}
            </button>
          </Allowed>
        )}
      </Filters>
      <ViewBar known={known([...monitors.values(), ...(shown.value ?? [])])} />
      {failed.value && (
        <p class="notice is-warning" role="alert">
          <Glyph name="warning" />
          {failed.value}
        </p>
      )}
      {!shown.value && !failed.value && <p aria-busy="true">{text.value.common.loading}</p>}
      {shown.value && all.length === 0 && <p class="muted">{query.value.size > 0 ? words.none : words.noneYet}</p>}
      {group &&
        grouped(all, (i) => valueOf(labelledOf(i), group)).map(([value, incidents]) => (
          <section key={value}>
            <h2 class="day" dir="auto">
              {groupName(value)} <span>{incidents.length}</span>
            </h2>
            <List incidents={[...incidents.filter((i) => i.state === "open"), ...incidents.filter((i) => i.state === "resolved")]} streamOf={streamOf} />
          </section>
        ))}
      {!group && open.length > 0 && (
        <section>
          <h2 class="day">
            {words.open} <span>{open.length}</span>
            {waiting.length > 0 && <span class="word is-warning">{text.value.shell.nobodyHas(waiting.length)}</span>}
          </h2>
          <List incidents={open} streamOf={streamOf} />
        </section>
      )}
      {!group && byDay(all.filter((i) => i.state === "resolved"), (i) => i.opened_at).map(({ key, at, all: incidents }) => (
        <section key={key}>
          <h2 class="day">
            {dayName(at)}{" "}
            <span>{words.dayTotal(incidents.length, duration(troubleOfAll(incidents, now.peek())))}</span>
          </h2>
          <List incidents={incidents} streamOf={streamOf} />
        </section>
      ))}
      {next && (
        <button class="btn more" type="button" onClick={more}>
          {words.more}
        </button>
      )}
    </main>
  );
}

const exportPage = 200;
const mostExported = 10_000;

// Export saves all that fits the filter, also what the page has not read yet.
function Export({ streamOf, none }: { streamOf: StreamOf; none: boolean }) {
  const words = text.value.incidents;
  const busy = useSignal(false);
  const read = async () => {
    const { filter } = readFilter();
    const found: Incident[] = [];
    let next: string | null = null;
    do {
      const page = await api.list({ ...filter, after: next, limit: exportPage });
      found.push(...page.incidents);
      next = page.next;
    } while (next && found.length < mostExported);
    if (next) failure.value = words.exportCut(number.value.format(found.length));
    save(`incidents-${new Date(now.peek()).toISOString().slice(0, 10)}.csv`, csvOf(found.filter(isListed), (i) => streamOf(i.monitor_id, i.stream_url), now.peek()));
  };
  const start = () => {
    busy.value = true;
    void run(read).finally(() => (busy.value = false));
  };
  return (
    <span class="end">
      <a class="btn" href="/ended">
        {text.value.ended.title}
      </a>
      <button class="btn" type="button" disabled={busy.value || none} onClick={start}>
        {words.exportCSV}
      </button>
    </span>
  );
}

type StreamOf = (id: string, streamURL: string) => Named;

function List({ incidents, streamOf }: { incidents: readonly Incident[]; streamOf: StreamOf }) {
  return (
    <ul class="incident-list">
      {storms(incidents).map((entry) =>
        entry.kind === "single" ? (
          <IncidentRow key={entry.incident.incident_id} incident={entry.incident} stream={streamOf(entry.incident.monitor_id, entry.incident.stream_url)} />
        ) : (
          <StormRow key={entry.incidents[0]!.incident_id} incidents={entry.incidents} streamOf={streamOf} />
        ),
      )}
    </ul>
  );
}

// StormRow is many incidents with a common cause; they open on demand.
function StormRow({ incidents, streamOf }: { incidents: Incident[]; streamOf: StreamOf }) {
  const words = text.value.incidents;
  const first = incidents.at(-1)!;
  const open = incidents.some((i) => i.state === "open");
  return (
    <li class={`storm is-${open ? "trouble" : "off"}`}>
      <details>
        <summary>
          <span class="edge" />
          <span class="word">
            <Glyph name="warning" />
            {words.storm(incidents.length)}
          </span>
          <span class="muted one-line">{words.stormText(conditionWord(firstCondition(first)))}</span>
          <span class="num dim">{clockDay(first.started_at, now.peek())}</span>
        </summary>
        <ul class="incident-list">
          {incidents.map((incident) => (
            <IncidentRow key={incident.incident_id} incident={incident} stream={streamOf(incident.monitor_id, incident.stream_url)} />
          ))}
        </ul>
      </details>
    </li>
  );
}

function Filters({ children }: { children: preact.ComponentChildren }) {
  const words = text.value.incidents;
  const q = query.value;
  const state = q.get("state") ?? "all";
  const monitor = q.get("monitor_id");
  return (
    <div class="filters">
      <nav class="segmented" aria-label={words.stateLabel}>
        {(["all", "open", "unacknowledged", "resolved"] as const).map((s) => (
          <a key={s} href={withQuery({ state: s === "all" ? null : s })} aria-current={state === s ? "true" : undefined}>
            {words.states[s]}
          </a>
        ))}
      </nav>
      <Pick name="condition" label={words.condition} options={[["", text.value.common.any], ...conditionNames().map((c) => [c, conditionWord(c)] as const)]} />
      <Pick name="severity" label={words.severity} options={Object.entries(words.severities).map(([n, w]) => [n === "0" ? "" : n, w] as const)} />
      {state !== "open" && state !== "unacknowledged" && <Pick name="days" label={words.when} initial="7" options={Object.entries(words.periods)} />}
      {monitor && (
        <a class="btn quiet" href={withQuery({ monitor_id: null })}>
          {words.stream}: <span class="mono">…{monitor.slice(-6)}</span> <Glyph name="fail" />
        </a>
      )}
      <span class="end">{children}</span>
    </div>
  );
}

function Pick({ name, label, options, initial = "" }: { name: string; label: string; options: readonly (readonly [string, string])[]; initial?: string }) {
  return (
    <label class="pick">
      {label}
      <select value={query.value.get(name) ?? initial} onChange={(e) => setQuery({ [name]: e.currentTarget.value === initial ? null : e.currentTarget.value })}>
        {options.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}
