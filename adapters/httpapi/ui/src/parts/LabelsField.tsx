import { text } from "../i18n";
import { labelsText } from "../labels";
import type { Labels } from "../types";

interface Props {
  id: string;
  label?: string;
  hint?: string;
  of?: Labels;
  onInput?: (typed: string) => void;
}

// LabelsField is a field for labels, one a line.
export function LabelsField({ id, label, hint, of, onInput }: Props) {
  const words = text.value.monitor;
  return (
    <div class="field">
      <label for={id}>{label ?? words.labels}</label>
      <textarea id={id} name="labels" class="input" rows={Math.max(2, Object.keys(of ?? {}).length)} dir="auto" spellcheck={false} aria-describedby={`${id}-hint`} defaultValue={labelsText(of)} onInput={(e) => onInput?.(e.currentTarget.value)} />
      <p class="hint" id={`${id}-hint`}>
        {hint ?? words.labelsHint}
      </p>
    </div>
  );
}

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
