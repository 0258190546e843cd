import "../styles/destinations.css";
import { useSignal } from "@preact/signals";
import { planOf, type Action, type Plan } from "../bulk";
import { changeOf, limits } from "../change";
import { detectors, detectorWords } from "../detectors";
import { text } from "../i18n";
import { readSilenced } from "../silenced";
import { monitors, now } from "../store";
import { clockDay, wholeDuration, zone } from "../time";
import type { Config, Detectors } from "../types";
import { start } from "./BulkRun";
import { Field } from "./ChangeForm";
import { DetectorFields } from "./DetectorFields";
import { Checks, Dialog, Input, Select } from "./Dialog";
import { PauseFields, pauseEnd, usualPause } from "./PauseForm";
import { SilenceForm } from "./SilenceForm";
import { Streams } from "./Streams";

type Kind = Action["kind"];

const minuteMs = 60_000;
const mostSilenced = 100; // streams that one silence can name

interface Props {
  kind: Kind;
  ids: readonly string[];
  close: () => void;
}

// BulkForm asks how something is to be done with several streams, says what will happen to how many and which are left alone.
export function BulkForm({ kind, ids, close }: Props) {
  const words = text.value.selection;
  const typed = useSignal(usual());
  const running = useSignal<Detectors>({});
  const sorted = [...ids].sort((a, b) => numberOf(a) - numberOf(b));
  const plan = (form: FormData) => planOf(actionOf(kind, form, running.peek()), new Map(sorted.map((id) => [id, monitors.get(id)])));
  const { changes, skipped, endsOnly } = plan(typed.value);
  const n = changes.size;
  const exceptions = skipped.size > 0 && (
    <>
      <p>{words.skipped(skipped.size)}</p>
      <Streams of={[...skipped].map(([id, reason]) => [id, words.skipReasons[reason]])} />
    </>
  );
  if (kind === "silence" && n > 0 && n <= mostSilenced) {
    const made = () => {
      void start(kind, { changes, skipped, endsOnly }, new Map([...changes.keys()].map((id) => [id, null])));
      void readSilenced();
    };
    return (
      <SilenceForm words={text.value.notifications} of="new" match={{ monitors: [...changes.keys()] }} made={made} close={close}>
        {exceptions}
      </SilenceForm>
    );
  }
  const save = (form: FormData): Promise<void> => {
    const action = plan(form);
    const refused = refusalOf(kind, form, action, running.peek());
    if (refused) return Promise.reject(refused);
    void start(kind, action);
    return Promise.resolve();
  };
  const read = (form: HTMLFormElement) => {
    typed.value = new FormData(form);
    requestAnimationFrame(() => (typed.value = new FormData(form))); // with the fields that this has made
  };
  return (
    <Dialog title={words.titles[kind]} submit={words.submit[kind](n)} save={save} onClose={close}>
      <div class="bulk-fields" onInput={(e) => kind !== "change" && read((e.target as HTMLInputElement).form!)}>
        {kind === "pause" && <PauseFields />}
        {kind === "move" && <MoveFields />}
        {kind === "change" && <ThresholdFields running={running.value} change={(of) => (running.value = of)} />}
        {kind === "label" && <LabelFields ids={[...ids]} set={typed.value.get("how") !== "remove"} />}
      </div>
      <p role="status">
        <b>{n > 0 ? words.will[kind](n, howOf(actionOf(kind, typed.value, {}))) : words.nothing}</b>
        {endsOnly > 0 && ` ${words.endsOnly(endsOnly)}`}
      </p>
      {n > 0 && (
        <details>
          <summary>{words.which}</summary>
          <Streams of={[...changes.keys()].map((id) => [id])} />
        </details>
      )}
      {exceptions}
    </Dialog>
  );
}

const numberOf = (id: string) => monitors.get(id)?.number ?? Infinity;

// usual is what the fields have at first, as far as it is said what will happen.
function usual(): FormData {
  const form = new FormData();
  form.set("minutes", usualPause);
  return form;
}

// howOf says until when streams are paused, or by how much they are moved.
function howOf(action: Action): string {
  const words = text.value.selection;
  if (action.kind === "pause") return action.until ? `${clockDay(action.until, now.peek())} ${zone.value}` : "–";
  if (action.kind !== "move") return "";
  return (action.ms < 0 ? words.sooner : words.delayed)(wholeDuration(Math.abs(action.ms) / 1000));
}

// actionOf reads the fields of a form.
function actionOf(kind: Kind, form: FormData, running: Detectors): Action {
  const field = (name: string) => form.get(name)?.toString().trim() ?? "";
  switch (kind) {
    case "pause":
      return { kind, until: pauseEnd(form) };
    case "move":
      return { kind, ms: Number(field("minutes")) * minuteMs * (field("way") === "earlier" ? -1 : 1) };
    case "change":
      return { kind, config: configOf(form, running) };
    case "label":
      return { kind, labels: { [field("name")]: field("how") === "remove" ? null : field("value") } };
    default:
      return { kind };
  }
}

// configOf has only what was typed, switched on or switched off.
function configOf(form: FormData, running: Detectors): Partial<Config> {
  const off = form.getAll("off").map((name) => [name.toString(), null] as const);
  const changed = { ...running, ...Object.fromEntries(off) };
  return { ...changeOf({}, new FormData(), form).config, ...(Object.keys(changed).length > 0 && { detectors: changed }) };
}

// refusalOf says why nothing can be sent; undefined: something can.
function refusalOf(kind: Kind, form: FormData, { changes }: Plan, running: Detectors): string | undefined {
  const words = text.value.selection;
  if (changes.size === 0) return words.nothing;
  if (kind === "silence") return words.tooMany(mostSilenced);
  if (kind === "change" && Object.keys(configOf(form, running)).length === 0) return words.nothingTyped;
  return undefined;
}

function MoveFields() {
  const words = text.value.selection;
  return (
    <div class="form-grid">
      <Input name="minutes" label={words.minutes} type="number" min={1} max={10_080} step={1} required value="60" />
      <Select name="way" label={words.way} value="later" options={[["later", words.later], ["earlier", words.earlier]]} />
    </div>
  );
}

// ThresholdFields are empty: what is not typed stays as it is for each stream.
function ThresholdFields({ running, change }: { running: Detectors; change: (of: Detectors) => void }) {
  const words = text.value.selection;
  const optional = detectors.value.filter((d) => d.optional && !running[d.name]);
  return (
    <>
      <p class="hint dim">{words.thresholdsHint}</p>
      <div class="form-grid">
        {limits.map(([name, min, max, step]) => (
          <Field key={name} name={name} type="number" min={min} max={max} step={step} value="" placeholder={words.unchanged} />
        ))}
      </div>
      <details class="single">
        <summary>{words.switchOn}</summary>
        <DetectorFields
          prefix="bulk"
          running={running}
          change={(name, settings) => {
            const { [name]: _, ...others } = running;
            change(settings ? { ...others, [name]: settings } : others);
          }}
        />
      </details>
      {optional.length > 0 && <Checks name="off" label={words.switchOff} chosen={[]} options={optional.map((d) => [d.name, detectorWords(d)?.title ?? d.name])} />}
    </>
  );
}

// LabelFields set a label, or remove one of those that the streams have.
function LabelFields({ ids, set }: { ids: string[]; set: boolean }) {
  const words = text.value.selection;
  const names = [...new Set(ids.flatMap((id) => Object.keys(monitors.get(id)?.labels ?? {})))].sort();
  return (
    <>
      <Select name="how" label={words.how} value="set" options={[["set", words.setLabel], ...(names.length > 0 ? [["remove", words.removeLabel] as const] : [])]} />
      <div class="form-grid">
        {set ? (
          <>
            <Input name="name" label={words.labelName} required maxLength={63} placeholder="team" />
            <Input name="value" label={words.labelValue} required maxLength={100} />
          </>
        ) : (
          <Select name="name" label={words.labelName} value={names[0]!} options={names.map((name) => [name, name])} />
        )}
      </div>
    </>
  );
}
