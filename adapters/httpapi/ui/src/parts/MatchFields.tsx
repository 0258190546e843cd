import { conditionNames } from "../detectors";
import { text, type NotificationWords } from "../i18n";
import { metadataOf, metadataText, type Match } from "../notifications";
import { nameOf } from "../names";
import { monitors } from "../store";
import type { ConditionName } from "../types";
import { labelsTyped } from "../labels";
import { Checks, Input, Select, typed } from "./Dialog";
import { LabelsField } from "./LabelsField";
import { conditionWord } from "./State";

// streamOptions are the streams on the wall, by name.
export function streamOptions(): [string, string][] {
  monitors.keys.value;
  const all = monitors.values().map((m): [string, string] => [m.monitor_id, nameOf(m)]);
  return all.sort(([, a], [, b]) => a.localeCompare(b));
}

const between = ","; // the ids of several streams
const mostNamed = 3;

const someNames = (ids: readonly string[]) => [...ids.slice(0, mostNamed).map((id) => nameOf(monitors.get(id) ?? { stream_url: id })), ...(ids.length > mostNamed ? ["…"] : [])].join(text.value.common.listComma);

// MatchFields are the fields of a form that choose what is meant. Events can be chosen by the API only, several streams on the
// wall: they stay as they are.
// A silence also has a limit, above which incidents are told.
export function MatchFields({ words, of, severityHint, limit = false }: { words: NotificationWords; of: Match; severityHint?: string; limit?: boolean }) {
  const severity = (n: number): [string, string] => [String(n), text.value.common.severity(n)];
  const severities: [string, string][] = [["0", words.anySeverity], ...[1, 2, 3].map(severity)];
  const ids = of.monitors ?? [];
  const chosen = ids.join(between);
  const streams = streamOptions();
  if (chosen && !streams.some(([id]) => id === chosen)) streams.unshift([chosen, ids.length === 1 ? chosen : words.someStreams(ids.length, someNames(ids))]);
  return (
    <>
      <Checks name="conditions" of="match.conditions" label={words.conditions} chosen={of.conditions ?? []} options={conditionNames().map((name) => [name, conditionWord(name)])} />
      <div class="form-grid">
        <Select name="min_severity" of="match.min_severity" label={words.minSeverity} hint={severityHint} value={String(of.min_severity ?? 0)} options={severities} />
        {limit && <Select name="max_severity" of="match.max_severity" label={words.maxSeverity} hint={words.maxSeverityHint} value={String(of.max_severity ?? "")} options={[["", words.anySeverity], ...[0, 1, 2].map(severity)]} />}
        <Select name="monitor" of="match.monitors" label={words.monitors} value={chosen} options={[["", words.anyStream], ...streams]} />
      </div>
      <LabelsField id="field-labels" of="match.labels" label={words.labels} hint={words.labelsHint} value={of.labels} />
      <Input name="metadata" of="match.metadata" label={words.metadata} hint={words.metadataHint} value={metadataText(of.metadata)} />
    </>
  );
}

// matchOf reads the fields.
export function matchOf(form: FormData, before: Match): Match {
  const monitor = typed(form, "monitor");
  return {
    events: before.events ?? [],
    conditions: form.getAll("conditions") as ConditionName[],
    min_severity: Number(typed(form, "min_severity")),
    ...(typed(form, "max_severity") && { max_severity: Number(typed(form, "max_severity")) }),
    monitors: monitor ? monitor.split(between) : [],
    labels: labelsTyped(typed(form, "labels")),
    metadata: metadataOf(typed(form, "metadata")),
  };
}
