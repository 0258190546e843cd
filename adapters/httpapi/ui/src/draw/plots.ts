// Plots of luma and of sound level: the lowest, mean and highest of each moment, the threshold, and where it was bad.
import { hatch, type Sheet } from "./canvas";
import { drawMarks, type Mark } from "./lanes";

export interface Point {
  at: number; // ms since 1970
  min: number;
  mean: number;
  max: number;
}

export interface Plot {
  unit: "percent" | "decibel";
  points: readonly Point[]; // in order
  from: number;
  to: number;
  stepMs: number; // a longer way between two points is a gap
  bucketMs?: number; // each point sums up so long from its instant on: it is drawn as a bar and a step
  threshold?: number;
  bad?: readonly [number, number][];
  badState?: "trouble" | "warning";
  marks?: readonly Mark[];
  since?: number; // the monitor did not live before it
  until?: number; // the future begins; what is missing before it is hatched
}

const floor = -60; // dB; lower is drawn at the foot, as −∞

export function drawPlot(sheet: Sheet, plot: Plot): void {
  const { c, width, height, colour } = sheet;
  const decibel = plot.unit === "decibel";
  const foot = decibel ? 13 : 3;
  const x = (at: number) => ((at - plot.from) / (plot.to - plot.from)) * width;
  const y = (value: number) =>
    decibel ? (value < floor ? height - 5 : 3 + (-value / -floor) * (height - foot - 3)) : 3 + (1 - value / 100) * (height - 6);
  const until = Math.min(plot.until ?? plot.to, plot.to);
  c.clearRect(0, 0, width, height);
  c.fillStyle = colour("--well");
  c.fillRect(0, 0, width, height);
  const scale = decibel ? [0, -20, -40] : [100, 50, 0]; // from the top
  c.fillStyle = colour("--line");
  for (const value of scale) c.fillRect(0, Math.round(y(value)), width, 1);
  c.globalAlpha = 0.16;
  c.fillStyle = colour(plot.badState === "warning" ? "--warning" : "--trouble");
  for (const [from, to] of plot.bad ?? []) c.fillRect(x(from), 0, x(Math.min(to, until)) - x(from), height);
  c.globalAlpha = 1;
  for (const [from, to] of gaps(plot.points, Math.max(plot.since ?? plot.from, plot.from), until, plot.stepMs)) hatch(sheet, x(from), 0, x(to) - x(from), height);
  if (plot.bucketMs !== undefined) for (const bar of bars(plot.points, plot.bucketMs, plot.since ?? plot.from, until)) drawBar(sheet, bar, x, y);
  else for (const part of parts(plot.points, plot.stepMs)) drawPart(sheet, part, x, y);
  if (plot.threshold !== undefined) {
    c.strokeStyle = colour("--text-2");
    c.lineWidth = 1;
    c.setLineDash([4, 3]);
    c.beginPath();
    c.moveTo(0, Math.round(y(plot.threshold)) + 0.5);
    c.lineTo(width, Math.round(y(plot.threshold)) + 0.5);
    c.stroke();
    c.setLineDash([]);
  }
  labels(sheet, scale.map((value) => [String(value).replace("-", "−"), y(value)] as const).concat(decibel ? [["−∞", height - 7]] : []));
  drawMarks(sheet, plot.marks ?? [], x);
}

function drawPart({ c, colour }: Sheet, part: readonly Point[], x: (at: number) => number, y: (value: number) => number): void {
  c.fillStyle = c.strokeStyle = colour("--level");
  if (part.length === 1) {
    const p = part[0]!;
    c.fillRect(x(p.at) - 1, y(p.max), 2, Math.max(2, y(p.min) - y(p.max)));
    return;
  }
  c.beginPath();
  part.forEach((p, i) => (i ? c.lineTo(x(p.at), y(p.max)) : c.moveTo(x(p.at), y(p.max))));
  [...part].reverse().forEach((p) => c.lineTo(x(p.at), y(p.min)));
  c.closePath();
  c.globalAlpha = 0.34;
  c.fill();
  c.globalAlpha = 1;
  c.lineWidth = 1.6;
  c.lineJoin = "round";
  c.beginPath();
  part.forEach((p, i) => (i ? c.lineTo(x(p.at), y(p.mean)) : c.moveTo(x(p.at), y(p.mean))));
  c.stroke();
}

function drawBar({ c, colour }: Sheet, bar: Bar, x: (at: number) => number, y: (value: number) => number): void {
  const left = x(bar.at);
  const wide = Math.max(1, x(bar.to) - left);
  c.fillStyle = colour("--level");
  c.globalAlpha = 0.34;
  c.fillRect(left, y(bar.max), wide, Math.max(1, y(bar.min) - y(bar.max)));
  c.globalAlpha = 1;
  c.fillRect(left, y(bar.mean) - 0.8, wide, 1.6);
}

function labels({ c, height, colour }: Sheet, all: readonly (readonly [string, number])[]): void {
  c.font = `500 10px ${getComputedStyle(document.body).fontFamily}`;
  c.textBaseline = "middle";
  let below = Infinity;
  for (const [words, at] of [...all].reverse()) {
    const y = Math.min(Math.max(7, at), height - 7);
    if (below - y < 11) continue; // two that would touch
    below = y;
    c.globalAlpha = 0.82;
    c.fillStyle = colour("--well");
    c.fillRect(0, y - 6, c.measureText(words).width + 8, 12);
    c.globalAlpha = 1;
    c.fillStyle = colour("--text-3");
    c.fillText(words, 4, y + 0.5);
  }
}

// parts splits points where some are missing: nothing is interpolated.
export function parts(points: readonly Point[], stepMs: number): Point[][] {
  const all: Point[][] = [];
  for (const point of points) {
    const last = all.at(-1);
    if (last && point.at - last.at(-1)!.at <= stepMs * 1.5) last.push(point);
    else all.push([point]);
  }
  return all;
}

interface Bar extends Point {
  to: number;
}

// bars are the points as spans of time between since and until. Neighbours with the same values are one.
export function bars(points: readonly Point[], bucketMs: number, since: number, until: number): Bar[] {
  const all: Bar[] = [];
  for (const point of points) {
    const bar = { ...point, at: Math.max(point.at, since), to: Math.min(point.at + bucketMs, until) };
    const last = all.at(-1);
    if (bar.to <= bar.at) continue;
    if (last && last.to === bar.at && last.min === bar.min && last.mean === bar.mean && last.max === bar.max) last.to = bar.to;
    else all.push(bar);
  }
  return all;
}

// gaps are the spans of time without points.
export function gaps(points: readonly Point[], from: number, to: number, stepMs: number): [number, number][] {
  const all: [number, number][] = [];
  let last = from - stepMs;
  for (const { at } of [...points, { at: to }]) {
    if (at > to) break;
    const begin = Math.max(from, last + stepMs);
    if (at - last > stepMs * 1.5 && at > begin) all.push([begin, at]);
    last = at;
  }
  return all;
}
