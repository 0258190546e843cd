import { run } from "../actions";
import { duties, type Duty as DutyPlan } from "../duty";
import type { NotificationWords } from "../i18n";
import { text } from "../i18n";
import { name } from "../settings";
import { now } from "../store";
import { zone } from "../time";
import { changed, editing, type Routing } from "../routing";
import { useSignal } from "@preact/signals";
import { Allowed } from "./Allowed";
import { Dialog, Input, Select, typed } from "./Dialog";
import { Glyph } from "./Glyph";
import { clockOf } from "./OnDuty";
import { localTime } from "./SilenceForm";
import { newWindow, Windows, windowsOf, windowText } from "./WindowFields";

const hourMs = 3_600_000;

// Duty shows who is on duty, the weekly plan, and what is in its place.
export function Duty({ words, routing }: { words: NotificationWords; routing: Routing }) {
  const { people, overrides, on_duty: present, handover_at: until, next, owner } = routing.duty;
  const list = (names: readonly string[]) => (names.length > 0 ? names.join(text.value.common.listComma) : words.nobody);
  const destination = (id: string | null) => routing.destinations.find((d) => d.destination_id === id)?.name;
  const lasting = overrides.filter((o) => Date.parse(o.to) > now.peek());
  return (
    <section class="card" aria-labelledby="duty-title">
      <div class="card-head">
        <h2 id="duty-title">{words.duty}</h2>
        <span class="dim">{words.dutyHint}</span>
        <span class="end actions">
          {people.length > 0 && (
            <Allowed to="operate">
              <button class="btn quiet" type="button" onClick={() => (editing.value = "override")}>
                <Glyph name="plus" />
                {words.addOverride}
              </button>
            </Allowed>
          )}
          <Allowed to="admin">
            <button class="btn quiet" type="button" onClick={() => (editing.value = "duty")}>
              {words.changePlan}
            </button>
          </Allowed>
        </span>
      </div>
      {people.length === 0 ? (
        <p class="card-body muted">{words.noDuty}</p>
      ) : (
        <div class="card-body form">
          <p>
            {words.now} <b dir="auto">{list(present)}</b>
            {present.length === 0 && <span class="muted"> {words.nobodyIsOnDuty}</span>}
            {until && <span class="muted num"> {words.thenAt(`${clockOf(until)} ${zone.value}`, list(next))}</span>}
          </p>
          <ul class="reasons plan">
            {people.map((person) => (
              <li key={person.name}>
                <Glyph name={present.includes(person.name) ? "check" : "off"} />
                <b class="wrap" dir="auto">
                  {person.name}
                </b>
                <span>
                  {person.windows.length > 0 ? person.windows.map((w) => windowText(words, w)).join(text.value.common.listComma) : words.onlyOverrides}
                  <span class="sub" dir="auto">
                    {words.toldAtPlace(destination(person.destination_id) ?? words.destinationGone)}
                  </span>
                </span>
              </li>
            ))}
          </ul>
          {lasting.length > 0 && <h3>{words.overrides}</h3>}
          <ul class="reasons plan">
            {lasting.map((o) => (
              <Override key={o.override_id} words={words} of={o} />
            ))}
          </ul>
          {owner && <p class="hint">{words.byFile(owner)}</p>}
        </div>
      )}
    </section>
  );
}

function Override({ words, of }: { words: NotificationWords; of: DutyPlan["overrides"][number] }) {
  const end = () =>
    void run(async () => {
      await duties.endOverride(of.override_id);
      changed();
    });
  return (
    <li>
      <Glyph name="waiting" />
      <b class="wrap" dir="auto">
        {of.person}
      </b>
      <span class="override">
        <span class="num">{words.fromTo(clockOf(of.from), clockOf(of.to), zone.value)}</span>
        <Allowed to="operate">
          <button class="btn quiet" type="button" aria-label={`${words.removeWindow}: ${of.person}`} onClick={end}>
            {words.removeWindow}
          </button>
        </Allowed>
      </span>
    </li>
  );
}

// DutyForm changes the weekly plan as a whole.
export function DutyForm({ words, routing }: { words: NotificationWords; routing: Routing }) {
  const places = routing.destinations.filter((d) => d.kind !== "webhook");
  const shown = useSignal(routing.duty.people.map((person, key) => ({ key, person })));
  // add proposes the time from where that of the person before ends: two windows that are open at once put both on duty.
  const add = (form: HTMLFormElement) => {
    const before = windowsOf(new FormData(form), `person${shown.value.at(-1)?.key}.`).at(-1);
    const window = before ? { ...before, start: before.end, end: before.start } : newWindow();
    shown.value = [...shown.value, { key: Math.max(-1, ...shown.value.map((s) => s.key)) + 1, person: { name: "", destination_id: null, windows: [window] } }];
  };
  const save = (form: FormData) =>
    duties.change(shown.value.map(({ key }) => ({ name: typed(form, `person${key}.name`), destination_id: typed(form, `person${key}.destination`) || null, windows: windowsOf(form, `person${key}.`) })));
  return (
    <Dialog title={words.weeklyPlan} save={save}>
      <p class="hint">{words.weeklyPlanHint}</p>
      {shown.value.map(({ key, person }, i) => (
        <fieldset key={key} class="window">
          <legend class="label">{person.name || words.nth(words.person, i + 1)}</legend>
          <div class="form-grid">
            <Input name={`person${key}.name`} of={`people[${i}].name`} label={words.name} value={person.name} required maxLength={100} />
            <Select name={`person${key}.destination`} of={`people[${i}].destination_id`} label={words.toldAt} value={person.destination_id ?? ""} options={[["", words.chooseOne], ...places.map((d) => [d.destination_id, d.name] as const)]} />
          </div>
          <Windows words={words} of={`people[${i}].windows`} label={words.onDutyAt} hint={words.onlyOverrides} prefix={`person${key}.`} value={person.windows} />
          <button class="btn quiet" type="button" onClick={() => (shown.value = shown.value.filter((s) => s.key !== key))}>
            {words.removePerson}
          </button>
        </fieldset>
      ))}
      <button class="btn quiet" type="button" onClick={(e) => add(e.currentTarget.form!)}>
        <Glyph name="plus" />
        {words.addPerson}
      </button>
    </Dialog>
  );
}

// OverrideForm puts somebody on duty for a time, at first from now on.
export function OverrideForm({ words, routing }: { words: NotificationWords; routing: Routing }) {
  const save = (form: FormData) => {
    name.value ||= typed(form, "by");
    const from = typed(form, "from");
    return duties.override({ person: typed(form, "person"), ...(from ? { from: new Date(from).toISOString() } : {}), to: new Date(typed(form, "to")).toISOString(), by: typed(form, "by") });
  };
  return (
    <Dialog title={words.addOverride} save={save}>
      <Select name="person" label={words.person} hint={words.overrideHint} value="" options={routing.duty.people.map((p) => [p.name, p.name])} />
      <div class="form-grid">
        <Input name="from" label={words.from} hint={words.fromHint} type="datetime-local" />
        <Input name="to" label={words.until} type="datetime-local" required value={localTime(routing.duty.handover_at ?? now.peek() + 8 * hourMs)} />
      </div>
      <Input name="by" label={words.by} required maxLength={100} value={name.value} />
    </Dialog>
  );
}
