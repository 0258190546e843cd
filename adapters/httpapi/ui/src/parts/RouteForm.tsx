import { channelEvents } from "../channels";
import { hintKinds } from "../hints";
import { text, type NotificationWords } from "../i18n";
import { isolated } from "../names";
import { routes as api, type Route, type RouteChange } from "../notifications";
import type { Routing } from "../routing";
import type { HintKind } from "../types";
import { Checks, Dialog, Input, typed } from "./Dialog";
import { MatchFields, matchOf } from "./MatchFields";
import { Windows, windowsOf } from "./WindowFields";

export function RouteForm({ words, routing, of }: { words: NotificationWords; routing: Routing; of: Route | null }) {
  const save = (form: FormData) => {
    const change: RouteChange = {
      destinations: form.getAll("destinations").map(String),
      on_duty: form.has("on_duty"),
      delay_sec: Math.round(Number(typed(form, "delay")) * 60),
      repeat_sec: Math.round(Number(typed(form, "repeat")) * 60),
    };
    if (of?.default) return api.change(of.route_id, change);
    const route = { ...change, name: typed(form, "name"), match: { ...matchOf(form, of?.match ?? {}), events: eventsIn(form, of?.match.events ?? []), ...hintsIn(form) }, windows: windowsOf(form), continue: form.has("continue") };
    return of ? api.change(of.route_id, route) : api.create(route);
  };
  const others = of && !of.default ? [{ word: words.remove, ask: { title: words.removeRouteTitle(isolated(of.name)), text: words.removeRouteText }, act: () => api.remove(of.route_id) }] : [];
  return (
    <Dialog title={of ? (of.default ? words.isDefault : of.name) : words.addRoute} save={save} others={others}>
      {!of?.default && (
        <>
          <Input name="name" label={words.name} value={of?.name} required maxLength={100} />
          <MatchFields words={words} of={of?.match ?? {}} severityHint={words.minSeverityHint} />
          <Checks name="events" of="match.events" label={words.channelEvents} chosen={of?.match.events ?? []} options={channelEvents()} />
          <Checks name="hints" of="match.hints" label={words.hints} chosen={of?.match.hints ?? []} options={hintKinds.map((kind) => [kind, text.value.common.hints.kinds[kind]])} />
        </>
      )}
      {!of?.default && <Windows words={words} of="windows" label={words.when} hint={words.atAnyTime} value={of?.windows ?? []} />}
      <Checks name="destinations" label={words.to} chosen={of?.destinations ?? []} options={routing.destinations.map((d) => [d.destination_id, d.name])} />
      <label class="check">
        <input type="checkbox" name="on_duty" defaultChecked={of?.on_duty ?? false} />
        {words.whoeverIsOnDuty}
      </label>
      <div class="form-grid">
        <Input name="delay" of="delay_sec" label={words.delay} hint={words.delayHint} type="number" min={0} max={1440} step="any" value={String((of?.delay_sec ?? 0) / 60)} />
        <Input name="repeat" of="repeat_sec" label={words.repeat} hint={words.repeatHint} type="number" min={0} max={1440} step="any" value={String((of?.repeat_sec ?? 0) / 60)} />
      </div>
      {!of?.default && (
        <label class="check">
          <input type="checkbox" name="continue" defaultChecked={of?.continue ?? false} />
          {words.continue}
        </label>
      )}
    </Dialog>
  );
}

// eventsIn are the events of channels that a route names. Those of monitors can be chosen by the API only: they stay as they are.
function eventsIn(form: FormData, before: string[]): string[] {
  const ofChannels = channelEvents().map(([type]) => type);
  return [...before.filter((type) => !ofChannels.includes(type)), ...form.getAll("events").map(String)];
}

// hintsIn are the hints that a route asks for; nothing if it asks for none.
function hintsIn(form: FormData): { hints?: HintKind[] } {
  const hints = form.getAll("hints") as HintKind[];
  return hints.length > 0 ? { hints } : {};
}
