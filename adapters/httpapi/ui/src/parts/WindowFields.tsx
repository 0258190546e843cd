import { useSignal } from "@preact/signals";
import type { NotificationWords } from "../i18n";
import { weekdays, type Weekday, type Window } from "../notifications";
import { Checks, Input, typed } from "./Dialog";
import { Glyph } from "./Glyph";

// WindowFields are the fields of a form for a time that recurs; their names begin with prefix. of is what the API calls it.
export function WindowFields({ words, prefix, of, value }: { words: NotificationWords; prefix: string; of: string; value: Window }) {
  return (
    <>
      <Checks name={`${prefix}weekdays`} of={`${of}.weekdays`} label={words.days} chosen={value.weekdays} options={weekdays.map((day) => [day, words.weekdays[day]])} />
      <div class="form-grid three">
        <Input name={`${prefix}start`} of={`${of}.start`} label={words.start} type="time" required value={value.start} />
        <Input name={`${prefix}end`} of={`${of}.end`} label={words.end} type="time" required value={value.end} />
        <Input name={`${prefix}timezone`} of={`${of}.timezone`} label={words.timezone} required value={value.timezone} />
      </div>
    </>
  );
}

export function windowOf(form: FormData, prefix: string): Window {
  return { weekdays: form.getAll(`${prefix}weekdays`) as Weekday[], start: typed(form, `${prefix}start`), end: typed(form, `${prefix}end`), timezone: typed(form, `${prefix}timezone`) };
}

// newWindow is a night in the viewer's zone.
export const newWindow = (): Window => ({ weekdays: [], start: "22:00", end: "06:00", timezone: Intl.DateTimeFormat().resolvedOptions().timeZone });

// Windows are the times of a route or a person, of which there may be any number.
export function Windows({ words, of, label, hint, prefix = "", value }: { words: NotificationWords; of: string; label: string; hint: string; prefix?: string; value: readonly Window[] }) {
  const shown = useSignal(value.map((window, key) => ({ key, window })));
  const add = () => (shown.value = [...shown.value, { key: Math.max(-1, ...shown.value.map((s) => s.key)) + 1, window: newWindow() }]);
  return (
    <fieldset class="field windows">
      <legend class="label">{label}</legend>
      {shown.value.length === 0 && <p class="hint">{hint}</p>}
      {shown.value.map(({ key, window }, i) => (
        <fieldset key={key} class="window">
          <legend class="hidden-text">{words.nth(label, i + 1)}</legend>
          <WindowFields words={words} prefix={`${prefix}window${key}.`} of={`${of}[${i}]`} value={window} />
          <button class="btn quiet" type="button" onClick={() => (shown.value = shown.value.filter((s) => s.key !== key))}>
            {words.removeWindow}
          </button>
        </fieldset>
      ))}
      <button class="btn quiet" type="button" onClick={add}>
        <Glyph name="plus" />
        {words.addWindow}
      </button>
    </fieldset>
  );
}

// windowsOf reads the times, in their order.
export function windowsOf(form: FormData, prefix = ""): Window[] {
  const begin = `${prefix}window`;
  return [...form.keys()].filter((name) => name.startsWith(begin) && name.endsWith(".start")).map((name) => windowOf(form, name.slice(0, -"start".length)));
}

// windowText writes a time that recurs.
export function windowText(words: NotificationWords, { weekdays: days, start, end, timezone }: Window): string {
  return words.window(days.length > 0 ? days.map((day) => words.weekdays[day]).join(" ") : words.everyDay, start, end, timezone);
}
