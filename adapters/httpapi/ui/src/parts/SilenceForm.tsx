import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { NotificationWords } from "../i18n";
import { selectsEverything, silences as api, type Match, type Silence, type SilenceChange } from "../notifications";
import type { NewSilence } from "../routing";
import { name } from "../settings";
import { now } from "../store";
import { Dialog, Input, Select, typed } from "./Dialog";
import { MatchFields, matchOf } from "./MatchFields";
import { newWindow, WindowFields, windowOf } from "./WindowFields";

type Lasts = "hours" | "end" | "recovered" | "window";
const hourMs = 3_600_000;
const medium = 1; // what is more severe than this wakes somebody at night

interface Props {
  words: NotificationWords;
  of: Silence | NewSilence;
  match?: Match; // of a new one
  made?: () => void; // when it is there
  close?: () => void;
  children?: ComponentChildren;
}

// SilenceForm makes a silence, or changes one. A new one of the night lets through what is severe.
export function SilenceForm({ words, of, match: matched = {}, made, close, children }: Props) {
  const stored = of === "new" || of === "night" ? null : of;
  const night = of === "night";
  const lasts = useSignal<Lasts>(night || stored?.window ? "window" : stored?.until_recovered ? "recovered" : stored?.to ? "end" : "hours");
  const asked = useSignal(false); // whether everything is meant
  const save = (form: FormData) => {
    const match = matchOf(form, stored?.match ?? {});
    if (selectsEverything(match) && !form.has("sure")) {
      asked.value = true;
      return Promise.reject(words.silencesEverything);
    }
    if (!stored) name.value ||= typed(form, "by");
    const change: SilenceChange = { match, by: typed(form, "by"), comment: typed(form, "comment") };
    if (lasts.value === "hours") change.to = new Date(now.peek() + Number(typed(form, "hours")) * hourMs).toISOString();
    if (lasts.value === "end") change.to = new Date(typed(form, "to")).toISOString();
    if (lasts.value === "window") change.window = windowOf(form, "");
    if (lasts.value === "recovered") change.until_recovered = true;
    if (!stored) return api.create({ ...change, from: new Date(now.peek()).toISOString() }).then(made);
    return api.change(stored.silence_id, { to: null, window: null, until_recovered: false, ...change });
  };
  const window = stored?.window ?? (night ? newWindow() : { ...newWindow(), start: "02:00", end: "04:00" });
  return (
    <Dialog title={stored ? words.changeSilence : night ? words.quietNights : words.addSilence} save={save} onClose={close}>
      <MatchFields words={words} of={stored?.match ?? (night ? { max_severity: medium } : matched)} limit />
      <Select
        name="lasts"
        label={words.howLong}
        hint={lasts.value === "recovered" ? words.oneStream : undefined}
        value={lasts.value}
        options={[
          ["hours", words.forHours],
          ["end", words.untilATime],
          ["recovered", words.untilRecovered],
          ["window", words.recurring],
        ]}
        onChange={(value) => (lasts.value = value as Lasts)}
      />
      {lasts.value === "hours" && <Input name="hours" of="to" label={words.hours} type="number" min={0} max={8760} step="any" required value="1" />}
      {lasts.value === "end" && <Input name="to" label={words.until} type="datetime-local" required value={localTime(stored?.to ?? now.peek() + hourMs)} />}
      {lasts.value === "window" && <WindowFields words={words} prefix="" of="window" value={window} />}
      {children}
      <Input name="comment" label={words.comment} maxLength={500} value={stored?.comment ?? (night ? words.quietNightsComment : "")} />
      <Input name="by" label={words.by} required maxLength={100} value={stored?.by ?? name.value} />
      {asked.value && (
        <label class="check">
          <input type="checkbox" name="sure" required />
          {words.silenceEverything}
        </label>
      )}
    </Dialog>
  );
}

// localTime is what a field for a day and a time shows, in the viewer's zone.
export function localTime(at: string | number): string {
  const time = new Date(at);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
