import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { describe, type Said } from "../actions";
import { monitors as api } from "../api";
import { changeOf, detectorChange, limits, times } from "../change";
import { text, type Words } from "../i18n";
import { channelOf, titleOf } from "../names";
import { running } from "../registration";
import { now } from "../store";
import { clockDay, decimal, toLocalInput, wholeDuration, zone } from "../time";
import type { Detectors, Monitor } from "../types";
import { Allowed } from "./Allowed";
import { CookieJarField } from "./CookieJarField";
import { DetectorFields } from "./DetectorFields";
import { Glyph } from "./Glyph";

// changing is whether the form of the shown monitor is open.
export const changing = signal(false);

// Watching says by which rules a monitor watches, and changes them.
export function Watching({ monitor }: { monitor: Monitor }) {
  const words = text.value.monitor;
  const c = monitor.config;
  const seconds = wholeDuration;
  const time = (at: string | null) => (at ? `${clockDay(at, now.peek())} ${zone.value}` : words.none);
  const rows: [string, string, boolean?][] = [
    ...(c.preset ? [[words.preset, (text.value.register.presets as Record<string, string[]>)[c.preset]?.[0] ?? c.preset] as [string, string]] : []),
    [words.look, words.every(seconds(c.check_interval_sec))],
    [words.black, words.afterSec(seconds(c.blackout_threshold_sec))],
    [words.silent, words.silentAfter(seconds(c.silence_threshold_sec), decimal(c.silence_db_threshold))],
    [words.planned, time(c.scheduled_start_time)],
    [words.late, words.afterSec(seconds(c.start_delay_tolerance_sec))],
    ...(c.scheduled_end_time ? [[words.plannedEnd, time(c.scheduled_end_time)] as [string, string]] : []),
    ...(c.cookie_jar ? [[words.fields.cookie_jar, c.cookie_jar] as [string, string]] : []),
    [words.fields.on_callback_failure, words.callbackFailure[c.on_callback_failure ?? "error"]],
    [words.registered, time(monitor.created_at)],
    [words.id, monitor.monitor_id, true],
  ];
  const others = Object.entries(monitor.metadata);
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
      <dl class="facts card-body">
        {rows.map(([name, value, mono]) => (
          <>
            <dt>{name}</dt>
            <dd class={mono ? "mono" : "num"}>{value}</dd>
          </>
        ))}
        {others.length > 0 && (
          <>
            <dt>{words.metadata}</dt>
            <dd class="labels">
              {others.slice(0, mostLabels).map(([key, value]) => (
                <span key={key} class="tag" dir="auto">
                  {shorten(`${key}=${typeof value === "string" ? value : JSON.stringify(value)}`)}
                </span>
              ))}
              {others.length > mostLabels && <span class="tag">+{others.length - mostLabels}</span>}
            </dd>
          </>
        )}
      </dl>
      <ChangeForm monitor={monitor} />
    </section>
  );
}

// Metadata may have thousands of keys.
const mostLabels = 12;
const longestLabel = 60;
const shorten = (label: string) => (label.length > longestLabel ? `${label.slice(0, longestLabel - 1)}…` : label);

function ChangeForm({ monitor }: { monitor: Monitor }) {
  const words = text.value.monitor;
  const dialog = useRef<HTMLDialogElement>(null);
  const opened = useRef<FormData | null>(null);
  const before = useRef<Detectors>({});
  const chosen = useSignal<Detectors>({});
  const failed = useSignal<Said>("");
  const busy = useSignal(false);
  useEffect(() => {
    if (!changing.value || dialog.current?.open) return;
    before.current = chosen.value = running(monitor.config.detectors ?? {});
    dialog.current?.showModal();
    opened.current = new FormData(dialog.current!.querySelector("form")!);
  }, [changing.value]);
  useEffect(() => () => void (changing.value = false), []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const change = changeOf(monitor.metadata, opened.current!, new FormData(event.currentTarget as HTMLFormElement));
    const detectors = detectorChange(before.current, chosen.value);
    if (detectors) change.config = { ...change.config, detectors };
    failed.value = "";
    busy.value = true;
    try {
      if (Object.keys(change).length > 0) await api.change(monitor.monitor_id, change);
      dialog.current?.close();
    } catch (error) {
      failed.value = describe(error);
    }
    busy.value = false;
  };
  return (
    <dialog ref={dialog} aria-labelledby="change-title" onClose={() => ((changing.value = false), (failed.value = ""))}>
      {changing.value && (
        <form onSubmit={(event) => void submit(event)}>
          <div>
            <h2 id="change-title">{words.changeTitle}</h2>
            <p class="hint dim">{words.changeHint}</p>
          </div>
          {failed.value && (
            <p class="notice is-warning" role="alert">
              <Glyph name="warning" />
              {failed.value}
            </p>
          )}
          <div class="form-grid">
            {limits.map(([name, min, max, step]) => (
              <Field key={name} name={name} type="number" min={min} max={max} step={step} required value={String(monitor.config[name])} />
            ))}
            {times.map((name) => (
              <Field key={name} name={name} type="datetime-local" step={1} value={toLocalInput(monitor.config[name] ?? null)} />
            ))}
          </div>
          <details class="single" onInvalidCapture={(e) => (e.currentTarget.open = true)}>
            <summary>{words.detectors}</summary>
            <DetectorFields
              prefix="change"
              running={chosen.value}
              change={(name, settings) => {
                const { [name]: _, ...others } = chosen.value;
                chosen.value = settings ? { ...others, [name]: settings } : others;
              }}
            />
          </details>
          <div class="field">
            <label for="change-on_callback_failure">{words.fields.on_callback_failure}</label>
            <select id="change-on_callback_failure" name="on_callback_failure" class="input">
              {(["continue", "error"] as const).map((value) => (
                <option key={value} value={value} selected={value === (monitor.config.on_callback_failure ?? "error")}>
                  {words.callbackFailure[value]}
                </option>
              ))}
            </select>
          </div>
          <CookieJarField id="change-cookie_jar" chosen={monitor.config.cookie_jar ?? ""} />
          <Field name="callback_url" type="url" maxLength={512} value="" placeholder={words.unchanged} />
          <div class="form-grid">
            <Field name="channel_name" type="text" value={channelOf(monitor)} />
            <Field name="stream_title" type="text" value={titleOf(monitor)} />
          </div>
          <div class="actions">
            <button class="btn primary" type="submit" disabled={busy.value}>
              {text.value.common.save}
            </button>
            <button class="btn quiet" type="button" onClick={() => dialog.current?.close()}>
              {text.value.common.cancel}
            </button>
          </div>
        </form>
      )}
    </dialog>
  );
}

interface FieldProps {
  name: keyof Words["monitor"]["fields"];
  value: string;
  type: string;
  min?: number;
  max?: number;
  step?: number | "any";
  required?: boolean;
  maxLength?: number;
  placeholder?: string;
}

function Field({ name, value, type, ...rest }: FieldProps) {
  return (
    <div class="field">
      <label for={`change-${name}`}>{text.value.monitor.fields[name]}</label>
      <input id={`change-${name}`} name={name} class="input" dir="auto" defaultValue={value} {...rest} {...({ type } as { type: "text" })} />
    </div>
  );
}
