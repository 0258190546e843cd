import { useCallback } from "preact/hooks";
import { useCanvas } from "../draw/canvas";
import { drawLane, type Mark, type Span } from "../draw/lanes";

export function Lane({ spans, from, to, marks, label }: { spans: readonly Span[]; from: number; to: number; marks?: readonly Mark[]; label: string }) {
  const draw = useCallback((sheet: Parameters<typeof drawLane>[0]) => drawLane(sheet, spans, from, to, marks), [spans, from, to, marks]);
  return <canvas class="lane" role="img" aria-label={label} ref={useCanvas(draw)} />;
}
