import { useSignal } from "@preact/signals";
import { useCallback, useEffect } from "preact/hooks";
import { useCanvas, type Sheet } from "../draw/canvas";
import { drawPlot, gaps, type Plot as Data } from "../draw/plots";
import { evidenceURL } from "../pictures";

export function Plot({ plot, label, class: name = "plot" }: { plot: Data; label: string; class?: string }) {
  const draw = useCallback((sheet: Sheet) => drawPlot(sheet, plot), [plot]);
  return <canvas class={name} role="img" aria-label={label} ref={useCanvas(draw)} />;
}

// Levels is the variant "levels" of evidence.
export interface Levels {
  from: string;
  to: string;
  instant: string;
  threshold_dbfs: number;
  levels: { at: string; dbfs: number }[];
}

// useLevels is null until the file is read.
export function useLevels(evidenceID: string): Levels | null {
  const levels = useSignal<Levels | null>(null);
  const url = evidenceURL(evidenceID, "levels").value;
  useEffect(() => {
    if (!url) return;
    const abort = new AbortController();
    const read = async () => {
      const response = await fetch(url, { signal: abort.signal });
      if (response.ok) levels.value = (await response.json()) as Levels;
    };
    read().catch(() => {}); // the plot stays empty
    return () => abort.abort();
  }, [url]);
  return levels.value;
}

const leadMs = 10_000; // shown before the instant, even with gaps

// levelPlot draws the numbers of a minute of sound, with what is below the threshold after the instant marked. It begins
// with the unbroken measures: what a worker only sampled before would look like sound that stutters.
export function levelPlot(levels: Levels, bad: boolean): Data {
  const points = levels.levels.map(({ at, dbfs }) => ({ at: Date.parse(at), min: dbfs, mean: dbfs, max: dbfs }));
  const instant = Date.parse(levels.instant);
  const to = Date.parse(levels.to);
  const stepMs = 1100;
  const from = gaps(points, Date.parse(levels.from), instant - leadMs, stepMs).at(-1)?.[1] ?? Date.parse(levels.from);
  return {
    unit: "decibel",
    points: points.filter(({ at }) => at >= from),
    from,
    to,
    stepMs,
    threshold: levels.threshold_dbfs,
    bad: bad ? [[instant, to]] : [],
    marks: [{ at: instant, kind: "onset" }],
  };
}
