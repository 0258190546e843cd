import { useSignal } from "@preact/signals";
import type { NotificationWords } from "../i18n";
import { silences as api, weekdays, type SilenceChange, type Weekday } from "../notifications";
import { name } from "../settings";
import { now } from "../store";
import { Checks, Dialog, Input, Select, typed } from "./Dialog";
import { MatchFields, matchOf } from "./MatchFields";

type Lasts = "hours" | "recovered" | "window";
const hourMs = 3_600_000;

export function SilenceForm({ words }: { words: NotificationWords }) {
  const lasts = useSignal<Lasts>("hours");
  const save = (form: FormData) => {
    name.value = typed(form, "by");
    const silence: SilenceChange = { match: matchOf(form, {}), by: typed(form, "by"), comment: typed(form, "comment"), from: new Date(now.peek()).toISOString() };
    if (lasts.value === "hours") silence.to = new Date(now.peek() + Number(typed(form, "hours")) * hourMs).toISOString();
    if (lasts.value === "recovered") silence.until_recovered = true;
    if (lasts.value === "window") silence.window = { weekdays: form.getAll("weekdays") as Weekday[], start: typed(form, "start"), end: typed(form, "end"), timezone: typed(form, "timezone") };
    return api.create(silence);
  };
  return (
    <Dialog title={words.addSilence} save={save}>
      <MatchFields words={words} of={{}} />
      <Select
        name="lasts"
        label={words.howLong}
        hint={lasts.value === "recovered" ? words.oneStream : undefined}
        value={lasts.value}
        options={[
          ["hours", words.forHours],
          ["recovered", words.untilRecovered],
          ["window", words.recurring],
        ]}
        onChange={(value) => (lasts.value = value as Lasts)}
      />
      {lasts.value === "hours" && <Input name="hours" label={words.hours} type="number" min={0} max={8760} step="any" required value="1" />}
      {lasts.value === "window" && (
        <>
          <Checks name="weekdays" label={words.days} chosen={[]} options={weekdays.map((day) => [day, words.weekdays[day]])} />
          <div class="form-grid">
            <Input name="start" label={words.start} type="time" required value="02:00" />
            <Input name="end" label={words.end} type="time" required value="04:00" />
          </div>
          <Input name="timezone" label={words.timezone} required value={Intl.DateTimeFormat().resolvedOptions().timeZone} />
        </>
      )}
      <Input name="comment" label={words.comment} maxLength={500} />
      <Input name="by" label={words.by} required maxLength={100} value={name.value} />
    </Dialog>
  );
}
