import type { Labelled } from "../labels";
import { isolated } from "../names";

// LabelLine shows the labels of a stream within a line.
export function LabelLine({ of }: { of: Labelled | null | undefined }) {
  const labels = Object.entries(of?.labels ?? {});
  if (labels.length === 0) return null;
  return (
    <small class="label-line" dir="auto">
      {labels.map(([name, value]) => `${name}: ${isolated(value)}`).join(" · ")}
    </small>
  );
}
