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

// MatchFields are the fields of a form that choose what is meant. Events and several streams can be chosen by the API only: they
// stay as they are.
// A silence also has a limit, above which incidents are told.
export function MatchFields({ words, of, severityHint, limit = false }: { words: NotificationWords; of: Match; severityHint?: string; limit?: boolean }) {
  const severity = (n: number): [string, string] => [String(n), text.value.common.severity(n)];
  const severities: [string, string][] = [["0", words.anySeverity], ...[1, 2, 3].map(severity)];
  const one = of.monitors?.[0] ?? "";
  const streams = streamOptions();
  if (one && !streams.some(([id]) => id === one)) streams.unshift([one, one]);
  return (
    <>
      <Checks name="conditions" of="match.conditions" label={words.conditions} chosen={of.conditions ?? []} options={conditionNames().map((name) => [name, conditionWord(name)])} />
      <div class="form-grid">
        <Select name="min_severity" of="match.min_severity" label={words.minSeverity} hint={severityHint} value={String(of.min_severity ?? 0)} options={severities} />
        {limit && <Select name="max_severity" of="match.max_severity" label={words.maxSeverity} hint={words.maxSeverityHint} value={String(of.max_severity ?? "")} options={[["", words.anySeverity], ...[0, 1, 2].map(severity)]} />}
        <Select name="monitor" of="match.monitors" label={words.monitors} value={one} options={[["", words.anyStream], ...streams]} />
      </div>
      <LabelsField id="field-labels" of="match.labels" label={words.labels} hint={words.labelsHint} value={of.labels} />
      <Input name="metadata" of="match.metadata" label={words.metadata} hint={words.metadataHint} value={metadataText(of.metadata)} />
    </>
  );
}

// matchOf reads the fields.
export function matchOf(form: FormData, before: Match): Match {
  const monitor = typed(form, "monitor");
  const several = (before.monitors?.length ?? 0) > 1 && before.monitors![0] === monitor;
  return {
    events: before.events ?? [],
    conditions: form.getAll("conditions") as ConditionName[],
    min_severity: Number(typed(form, "min_severity")),
    ...(typed(form, "max_severity") && { max_severity: Number(typed(form, "max_severity")) }),
    monitors: several ? before.monitors! : monitor ? [monitor] : [],
    labels: labelsTyped(typed(form, "labels")),
    metadata: metadataOf(typed(form, "metadata")),
  };
}
