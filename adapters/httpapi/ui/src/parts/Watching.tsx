import { monitors as api } from "../api";
import { takenBy } from "../carried";
import { times } from "../change";
import { text } from "../i18n";
import { channelOf, titleOf } from "../names";
import { useService } from "../service";
import { now } from "../store";
import { clockDay, decimal, toLocalInput, wholeDuration, zone } from "../time";
import type { Config, Labels, Metadata, Monitor } from "../types";
import { Allowed } from "./Allowed";
import { ChangeForm, changing, Field } from "./ChangeForm";
import { LabelTags, metadataWord } from "./LabelsField";

export type Fact = [name: string, value: string, mono?: boolean];

// rulesOf says by which rules a config watches.
export function rulesOf(c: Config): Fact[] {
  const words = text.value.monitor;
  const preset: Fact[] = c.preset ? [[words.preset, (text.value.register.presets as Record<string, string[]>)[c.preset]?.[0] ?? c.preset]] : [];
  return [
    ...preset,
    [words.look, words.every(wholeDuration(c.check_interval_sec))],
    [words.black, words.afterSec(wholeDuration(c.blackout_threshold_sec))],
    [words.silent, words.silentAfter(wholeDuration(c.silence_threshold_sec), decimal(c.silence_db_threshold))],
    [words.late, words.afterSec(wholeDuration(c.start_delay_tolerance_sec))],
    ...(c.cookie_jar ? [[words.fields.cookie_jar, c.cookie_jar] as Fact] : []),
    ...(c.http_headers ? [[words.carried.headers, Object.keys(c.http_headers).join(text.value.common.listComma)] as Fact] : []),
    ...(c.token_url ? [[words.carried.tokenURL, words.carried.stored] as Fact] : []),
    ...(c.copy_query ? [[words.carried.query, words.carried.copied] as Fact] : []),
    [words.fields.on_callback_failure, words.callbackFailure[c.on_callback_failure ?? "error"]],
  ];
}

// keptBy is the row of the file that keeps something; empty: none does.
export const keptBy = ({ owner }: { owner?: string }): Fact[] => (owner ? [[text.value.monitor.file, text.value.monitor.byFile(owner)]] : []);

export const timeOrNone = (at: string | null): string => (at ? `${clockDay(at, now.peek())} ${zone.value}` : text.value.monitor.none);

// Watching says by which rules a monitor watches, and changes them.
export function Watching({ monitor }: { monitor: Monitor }) {
  const words = text.value.monitor;
  const service = useService();
  const c = monitor.config;
  const facts: Fact[] = [
    ...rulesOf(c),
    ...(monitor.callback_url === null ? [[words.fields.callback_url, text.value.register.byRoutes] as Fact] : []),
    [words.planned, timeOrNone(c.scheduled_start_time)],
    ...(c.scheduled_end_time ? [[words.plannedEnd, timeOrNone(c.scheduled_end_time)] as Fact] : []),
    [words.registered, timeOrNone(monitor.created_at)],
    [words.id, monitor.monitor_id, true],
    ...keptBy(monitor),
  ];
  return (
    <section class="card" aria-labelledby="how-title">
      <div class="card-head">
        <h2 id="how-title">{words.how}</h2>
        {!monitor.ended_at && (
          <Allowed to="operate">
            <button class="btn quiet end" type="button" onClick={() => (changing.value = true)}>
              {words.change}
            </button>
          </Allowed>
        )}
      </div>
      <Facts of={facts} metadata={monitor.metadata} labels={monitor.labels} />
      <ChangeForm
        title={words.changeTitle}
        hint={words.changeHint}
        owner={monitor.owner}
        config={c}
        metadata={monitor.metadata}
        labels={monitor.labels}
        takes={takenBy(service, monitor.stream_url)}
        plan={times.map((name) => (
          <Field key={name} name={name} type="datetime-local" step={1} value={toLocalInput(c[name] ?? null)} />
        ))}
        save={(change) => api.change(monitor.monitor_id, change)}
      >
        <div class="form-grid">
          <Field name="channel_name" type="text" value={channelOf(monitor)} />
          <Field name="stream_title" type="text" value={titleOf(monitor)} />
        </div>
      </ChangeForm>
    </section>
  );
}

// Metadata may have thousands of keys.
const mostLabels = 12;
const longestLabel = 60;
const shorten = (label: string) => (label.length > longestLabel ? `${label.slice(0, longestLabel - 1)}…` : label);

// Facts are rows of names and values, the labels, and the metadata.
export function Facts({ of, metadata, labels = {} }: { of: Fact[]; metadata: Metadata; labels?: Labels }) {
  const words = text.value.monitor;
  const others = Object.entries(metadata);
  return (
    <dl class="facts card-body">
      {of.map(([name, value, mono]) => (
        <>
          <dt>{name}</dt>
          <dd class={mono ? "mono" : "num"}>{value}</dd>
        </>
      ))}
      {Object.keys(labels).length > 0 && (
        <>
          <dt>{words.labels}</dt>
          <dd class="labels">
            <LabelTags of={labels} />
          </dd>
        </>
      )}
      {others.length > 0 && (
        <>
          <dt>{words.metadata}</dt>
          <dd class="labels">
            {others.slice(0, mostLabels).map(([key, value]) => (
              <span key={key} class="tag" dir="auto">
                {shorten(`${metadataWord(key)}: ${typeof value === "string" ? value : JSON.stringify(value)}`)}
              </span>
            ))}
            {others.length > mostLabels && <span class="tag">+{others.length - mostLabels}</span>}
          </dd>
        </>
      )}
    </dl>
  );
}
