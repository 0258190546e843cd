// What is being registered: presets, single values, and what will happen then.
import { carriedChange, nothingCarried, type Carried } from "./carried";
import type { NumberName } from "./change";
import { labelsTyped } from "./labels";
import { fromLocalInput } from "./time";
import type { ChannelRegistration, Config, Detectors, Preview, Problem, Registration, Service } from "./types";

export type Numbers = Partial<Record<NumberName, number>>;
export const numberNames: readonly NumberName[] = ["check_interval_sec", "blackout_threshold_sec", "silence_threshold_sec", "silence_db_threshold", "start_delay_tolerance_sec"];

// presetNumbers are all numbers of a preset: what it sets, and the defaults.
export function presetNumbers(service: Pick<Service, "settings" | "presets"> | null | undefined, name: string): Numbers {
  const known = (all: [string, unknown][]) => Object.fromEntries(all.filter(([field]) => (numberNames as readonly string[]).includes(field))) as Numbers;
  const defaults = known((service?.settings ?? []).map((s) => [s.field, s.default]));
  return { ...defaults, ...known(Object.entries(service?.presets.find((p) => p.name === name)?.config ?? {})) };
}

// presetDetectors are the optional detectors of a preset.
export function presetDetectors(service: Pick<Service, "presets"> | null | undefined, name: string): Detectors {
  return running(service?.presets.find((p) => p.name === name)?.config.detectors ?? {});
}

// running leaves out the detectors that are off.
export const running = (all: NonNullable<Config["detectors"]>): Detectors => Object.fromEntries(Object.entries(all).filter(([, settings]) => settings)) as Detectors;

// Template is how streams are watched, and where their events are sent.
export interface Template {
  callbackURL: string | null; // null: routes alone tell somebody
  changed: Numbers; // values that differ from the preset
  detectors: NonNullable<Config["detectors"]>; // optional detectors that differ from the preset; null: off
  cookieJar: string; // a name; "": none
  labels: string; // as typed
  goesOn: boolean; // a webhook that fails does not end the watch, as every preset has it
}

export interface Draft extends Template {
  streamURL: string;
  start: string; // of an input in the viewer's zone; "": none
  end: string;
  channel: string;
  title: string;
  carried: Carried; // by the requests for it
}

export const emptyTemplate = (callbackURL: string | null): Template => ({ callbackURL, changed: {}, detectors: {}, cookieJar: "", labels: "", goesOn: true });

export const emptyDraft = (streamURL: string, callbackURL: string | null): Draft => ({ ...emptyTemplate(callbackURL), streamURL, start: "", end: "", channel: "", title: "", carried: nothingCarried });

// Found is what a look at an address has found out about its stream.
export type Found = Pick<Draft, "channel" | "title" | "start">;

export const nothingFound: Found = { channel: "", title: "", start: "" };

// filled replaces what an earlier look has filled in by what is found now. What the user typed stays.
export function filled(draft: Draft, before: Found, found: Found): Draft {
  const fill = (name: keyof Found) => (!draft[name] || draft[name] === before[name] ? found[name] : draft[name]);
  return { ...draft, channel: fill("channel"), title: fill("title"), start: fill("start") };
}

// streamURLOf takes a bare ID of a YouTube video, as people copy it, for the address of its page.
export function streamURLOf(typed: string): string {
  const url = typed.trim();
  return /^[\w-]{11}$/.test(url) ? `https://www.youtube.com/watch?v=${url}` : url;
}

// configOf leaves out what is empty, so that the gateway's defaults stand. name is that of the preset; "": none.
function configOf(of: Template, preset: Numbers, name: string): Partial<Config> {
  const config: Partial<Config> = { ...preset, ...of.changed };
  if (name) config.preset = name;
  if (Object.keys(of.detectors).length > 0) config.detectors = of.detectors;
  if (of.goesOn || name) config.on_callback_failure = of.goesOn ? "continue" : "error";
  return config;
}

const callbackOf = ({ callbackURL }: Template) => callbackURL && callbackURL.trim();

export function registrationOf(draft: Draft, preset: Numbers, name = ""): Registration {
  const config = { ...configOf(draft, preset, name), ...carriedChange(nothingCarried, draft.carried) };
  if (draft.cookieJar) config.cookie_jar = draft.cookieJar;
  const start = fromLocalInput(draft.start);
  const end = fromLocalInput(draft.end);
  if (start) config.scheduled_start_time = start;
  if (end) config.scheduled_end_time = end;
  const metadata: Record<string, string> = {};
  if (draft.channel.trim()) metadata.channel_name = draft.channel.trim();
  if (draft.title.trim()) metadata.stream_title = draft.title.trim();
  return { stream_url: streamURLOf(draft.streamURL), callback_url: callbackOf(draft), config, metadata, ...labelled(draft) };
}

const labelled = (of: Template) => (of.labels.trim() ? { labels: labelsTyped(of.labels) } : {});

export const channelRegistrationOf = (channel: string, of: Template, preset: Numbers, name = ""): ChannelRegistration => ({
  channel: channel.trim(),
  callback_url: callbackOf(of),
  config: configOf(of, preset, name),
  ...(of.cookieJar ? { cookie_jar: of.cookieJar } : {}),
  ...labelled(of),
});

// namesChannel reports whether somebody typed a channel where an address belongs: an ID, an @handle, or a URL of one.
export const namesChannel = (typed: string): boolean => /^(UC[\w-]{22}|@\S{3,})$|youtube\.com\/(@|(channel|c|user)\/)\S/.test(typed.trim());

// Check is what a preview was asked, and what its problems are about.
export type Check = Partial<Omit<Registration, "metadata"> & ChannelRegistration> & Pick<Registration, "config">;

// withoutEmpty leaves out a webhook that is not typed yet.
const withoutEmpty = ({ callback_url, ...check }: Check): Check => (callback_url === "" ? check : { callback_url, ...check });

export function checkOf(draft: Draft, preset: Numbers, name = ""): Check {
  const { metadata: _, ...registration } = registrationOf(draft, preset, name);
  return withoutEmpty(registration);
}

export const channelCheckOf = (channel: string, of: Template, preset: Numbers, name = ""): Check => withoutEmpty(channelRegistrationOf(channel, of, preset, name));

// standing returns the problems whose fields are still as they were checked.
export function standing(problems: Problem[], checked: Check, current: Check): Problem[] {
  const valueOf = (check: Check, field: string) => JSON.stringify(field.split(".").reduce<unknown>((of, name) => (of as Record<string, unknown> | undefined)?.[name], check));
  return problems.filter(({ field }) => !field || valueOf(checked, field) === valueOf(current, field));
}

// merged returns the problems after a check without the address: what was found out about that stands.
export function merged(before: Problem[], after: Problem[], address: "stream_url" | "channel"): Problem[] {
  const ofAddress = ({ field }: Problem) => !field || field === address;
  return [...before.filter(ofAddress), ...after.filter((p) => !ofAddress(p))];
}

export interface Step {
  at: number | "now" | "live" | "end"; // ms since 1970
  what: "wall" | "worker" | "workerBefore" | "late" | "alerts" | "over";
}

// stepsOf is what will happen after the registration. A reservation's worker starts leadSec before the planned start.
export function stepsOf(config: Partial<Config>, preview: Preview | null, now: number, leadSec: number): Step[] {
  const steps: Step[] = [{ at: "now", what: "wall" }];
  const start = config.scheduled_start_time ? Date.parse(config.scheduled_start_time) : null;
  const workerAt = start === null ? 0 : start - leadSec * 1000;
  if (workerAt <= now) steps.push({ at: "now", what: "worker" });
  else steps.push({ at: workerAt, what: "workerBefore" });
  if (start !== null && preview?.state !== "live") steps.push({ at: start + (config.start_delay_tolerance_sec ?? 0) * 1000, what: "late" });
  return [...steps, { at: "live", what: "alerts" }, { at: "end", what: "over" }];
}
