// The axis of time below lanes and plots.
import { clock, clockMinute, dayNumber } from "../time";
import type { Sheet } from "./canvas";

const minuteMs = 60_000;
const dayMs = 86_400_000;
const stepsMs = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880].map((minutes) => minutes * minuteMs);
const leastWidth = 64; // of a label with its space, in px

// stepOf is the shortest step whose labels fit side by side.
export function stepOf(spanMs: number, width: number): number {
  const most = Math.max(1, width / leastWidth);
  return stepsMs.find((step) => spanMs / step <= most) ?? stepsMs.at(-1)!;
}

// ticksOf are the whole steps of the viewer's clock.
export function ticksOf(from: number, to: number, step: number, zoneOffsetMs: number): number[] {
  const ticks: number[] = [];
  for (let at = Math.ceil((from + zoneOffsetMs) / step) * step - zoneOffsetMs; at <= to; at += step) ticks.push(at);
  return ticks;
}

// drawAxis writes whole steps, and one strong instant. A label that would touch another one is left out.
export function drawAxis({ c, width, colour }: Sheet, from: number, to: number, strong?: number): void {
  const step = stepOf(to - from, width);
  const offset = -new Date(to).getTimezoneOffset() * minuteMs;
  const label = (at: number) => ((at + offset) % dayMs === 0 && to - from >= dayMs ? dayNumber(at) : clockMinute(at));
  const ticks: [number, string][] = ticksOf(from, to, step, offset).map((at) => [at, label(at)]);
  c.clearRect(0, 0, width, 18);
  c.font = `500 11px ${getComputedStyle(document.body).fontFamily}`;
  c.textBaseline = "middle";
  const taken: [number, number][] = [];
  for (const [at, words] of strong === undefined ? ticks : [[strong, clock(strong)] as [number, string], ...ticks]) {
    const x = ((at - from) / (to - from)) * width;
    const wide = c.measureText(words).width;
    const left = Math.min(Math.max(0, x - wide / 2), width - wide);
    if (taken.some(([l, r]) => left < r + 12 && left + wide > l - 12)) continue;
    taken.push([left, left + wide]);
    c.fillStyle = colour(at === strong ? "--text" : "--text-3");
    c.fillRect(Math.round(x), 0, 1, 3);
    c.fillText(words, left, 11);
  }
}
