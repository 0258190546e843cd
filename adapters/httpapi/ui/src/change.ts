// What a form changes of a monitor.
import { labelChange, labelsTyped } from "./labels";
import { fromLocalInput } from "./time";
import type { Change, Config, Detectors, Metadata } from "./types";

export type NumberName = "check_interval_sec" | "blackout_threshold_sec" | "silence_threshold_sec" | "silence_db_threshold" | "start_delay_tolerance_sec";
// limits are the numbers of a configuration: name, least, most, step.
export const limits: [NumberName, number, number, number | "any"][] = [
  ["check_interval_sec", 1, 300, 1],
  ["blackout_threshold_sec", 1, 3600, 1],
  ["silence_threshold_sec", 1, 3600, 1],
  ["silence_db_threshold", -100, 0, "any"],
  ["start_delay_tolerance_sec", 0, 86_400, 1],
];
export const times = ["scheduled_start_time", "scheduled_end_time"] as const;

const names = ["channel_name", "stream_title"] as const;

// changeOf has only what a person changed in the form, so that two people who change different things do not undo each
// other. It compares with the form as it was opened: a field shows a long or odd text in its own way.
export function changeOf(metadata: Metadata, opened: FormData, form: FormData): Change {
  const change: Change = {};
  const config: Partial<Config> = {};
  const field = (name: string, of = form) => of.get(name)?.toString().trim() ?? "";
  const changed = (name: string) => field(name) !== field(name, opened);
  for (const [name] of limits) if (changed(name) && field(name) !== "") config[name] = Number(field(name));
  for (const name of times) if (changed(name)) config[name] = fromLocalInput(field(name));
  if (changed("on_callback_failure")) config.on_callback_failure = field("on_callback_failure") as Config["on_callback_failure"];
  if (changed("cookie_jar")) config.cookie_jar = field("cookie_jar") || null;
  if (Object.keys(config).length > 0) change.config = config;
  if (form.get("no_callback")) change.callback_url = null;
  else if (field("callback_url")) change.callback_url = field("callback_url");
  const labels = labelChange(labelsTyped(field("labels", opened)), labelsTyped(field("labels")));
  if (labels) change.labels = labels;
  const renamed = names.filter(changed);
  if (renamed.length > 0) change.metadata = { ...metadata, ...Object.fromEntries(renamed.map((name) => [name, field(name)])) };
  return change;
}

// detectorChange is config.detectors of a change: what differs, null: switched off; undefined: nothing does.
export function detectorChange(before: Detectors, after: Detectors): Config["detectors"] {
  const change: NonNullable<Config["detectors"]> = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const of = (all: Detectors) => JSON.stringify(Object.entries(all[name] ?? {}).sort());
    if (of(before) !== of(after)) change[name] = after[name] ?? null;
  }
  return Object.keys(change).length > 0 ? change : undefined;
}
