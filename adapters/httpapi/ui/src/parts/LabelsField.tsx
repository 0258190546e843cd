import { text } from "../i18n";
import { labelsText } from "../labels";
import type { Labels } from "../types";
import { Labelled } from "./Form";

interface Props {
  id: string;
  of?: string; // what the API calls it
  label?: string;
  hint?: string;
  value?: Labels;
  onInput?: (typed: string) => void;
}

// LabelsField is a field for labels, one a line.
export function LabelsField({ id, of = "labels", label, hint, value, onInput }: Props) {
  const words = text.value.monitor;
  return (
    <Labelled id={id} of={of} label={label ?? words.labels} hint={hint ?? words.labelsHint}>
      {(input) => <textarea name="labels" class="input" rows={Math.max(2, Object.keys(value ?? {}).length)} dir="auto" spellcheck={false} defaultValue={labelsText(value)} onInput={(e) => onInput?.(e.currentTarget.value)} {...input} />}
    </Labelled>
  );
}

// metadataWord names a field of metadata. Those that this page writes have words, the others are the user's own.
export const metadataWord = (path: string): string => ({ channel_name: text.value.monitor.fields.channel_name, stream_title: text.value.monitor.fields.stream_title })[path] ?? path;

// LabelTags are the labels of a stream; each leads to the wall of the streams that have it.
export function LabelTags({ of }: { of: Labels }) {
  return (
    <>
      {Object.entries(of).map(([name, value]) => (
        <a key={name} class="tag" dir="auto" href={`/?${new URLSearchParams({ label: `${name}:${value}` })}`}>
          {`${name}: ${value}`}
        </a>
      ))}
    </>
  );
}
