import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { carriedChange, carriedOf, nothingCarried, type Carried } from "../carried";
import { changeOf, detectorChange, limits } from "../change";
import { text, type Words } from "../i18n";
import { running } from "../registration";
import type { Change, Config, Detectors, Labels, Metadata } from "../types";
import { CarriedFields } from "./CarriedFields";
import { CookieJarField } from "./CookieJarField";
import { DetectorFields } from "./DetectorFields";
import { Form, Labelled, Refused, useForm } from "./Form";
import { LabelsField } from "./LabelsField";

// changing is whether the form of what is shown is open.
export const changing = signal(false);

interface Props {
  title: string;
  hint: string;
  owner?: string; // the file that keeps it
  config: Config;
  metadata: Metadata;
  labels: Labels;
  takes?: string[]; // fields of config that its source takes; undefined: that is not known
  plan?: ComponentChildren; // fields of config beside the numbers
  children?: ComponentChildren; // fields at the end
  save: (change: Change) => Promise<unknown>;
}

// ChangeForm changes how something is watched. Only what a person changed is saved.
export function ChangeForm({ title, hint, owner, config, metadata, labels, takes, plan, children, save }: Props) {
  const words = text.value.monitor;
  const dialog = useRef<HTMLDialogElement>(null);
  const opened = useRef<FormData | null>(null);
  const before = useRef<Detectors>({});
  const chosen = useSignal<Detectors>({});
  const stored = useRef(nothingCarried);
  const carried = useSignal<Carried>(nothingCarried);
  const { state, run, reset } = useForm();
  useEffect(() => {
    if (!changing.value || dialog.current?.open) return;
    before.current = chosen.value = running(config.detectors ?? {});
    stored.current = carried.value = carriedOf(config);
    dialog.current?.showModal();
    opened.current = new FormData(dialog.current!.querySelector("form")!);
  }, [changing.value]);
  useEffect(() => () => void (changing.value = false), []);
  const send = async (form: HTMLFormElement) => {
    const change = changeOf(metadata, opened.current!, new FormData(form));
    const detectors = detectorChange(before.current, chosen.value);
    const others = { ...carriedChange(stored.current, carried.value), ...(detectors && { detectors }) };
    if (Object.keys(others).length > 0) change.config = { ...change.config, ...others };
    if (Object.keys(change).length > 0) await save(change);
    dialog.current?.close();
  };
  return (
    <dialog ref={dialog} aria-labelledby="change-title" onClose={() => ((changing.value = false), reset())}>
      {changing.value && (
        <Form of={state} send={(form) => run(() => send(form))}>
          <div>
            <h2 id="change-title">{title}</h2>
            <p class="hint dim">{hint}</p>
            {owner && (
              <p class="hint" dir="auto">
                {words.byFile(owner)}
              </p>
            )}
          </div>
          <Refused of={state} />
          <div class="form-grid">
            {limits.map(([name, min, max, step]) => (
              <Field key={name} name={name} type="number" min={min} max={max} step={step} required value={String(config[name])} />
            ))}
            {plan}
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
                <option key={value} value={value} selected={value === (config.on_callback_failure ?? "error")}>
                  {words.callbackFailure[value]}
                </option>
              ))}
            </select>
          </div>
          {(!takes || takes.includes("cookie_jar") || config.cookie_jar) && <CookieJarField id="change-cookie_jar" chosen={config.cookie_jar ?? ""} />}
          <CarriedFields prefix="change" takes={takes ?? []} of={carried.value} set={(change) => (carried.value = { ...carried.peek(), ...change })} />
          <Field name="callback_url" of="callback_url" type="url" maxLength={512} value="" placeholder={words.unchanged} />
          <label class="check">
            <input type="checkbox" name="no_callback" />
            {text.value.register.byRoutes}
          </label>
          <LabelsField id="change-labels" value={labels} />
          {children}
          <div class="actions">
            <button class="btn primary" type="submit" disabled={state.busy.value}>
              {text.value.common.save}
            </button>
            <button class="btn quiet" type="button" onClick={() => dialog.current?.close()}>
              {text.value.common.cancel}
            </button>
          </div>
        </Form>
      )}
    </dialog>
  );
}

interface FieldProps {
  name: keyof Words["monitor"]["fields"];
  of?: string; // what the API calls it; else config and its name
  value: string;
  type: string;
  min?: number;
  max?: number;
  step?: number | "any";
  required?: boolean;
  maxLength?: number;
  placeholder?: string;
}

export function Field({ name, of = `config.${name}`, value, type, ...rest }: FieldProps) {
  return (
    <Labelled id={`change-${name}`} of={of} label={text.value.monitor.fields[name]}>
      {(input) => <input name={name} class="input" dir="auto" defaultValue={value} {...rest} {...({ type } as { type: "text" })} {...input} />}
    </Labelled>
  );
}
