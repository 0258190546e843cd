import assert from "node:assert/strict";
import { test } from "node:test";
import { troubleFrom, type Span } from "../../src/draw/lanes";
import { bars } from "../../src/draw/plots";
import { levelPlot } from "../../src/parts/Plot";

const span = (state: Span["state"], from: number, to: number): Span => ({ state, from, to });

test("a minute is a bar from its beginning to its end, within the time that is known", () => {
  const [bright, black] = [{ min: 30, mean: 36, max: 40 }, { min: 0, mean: 4, max: 36 }];
  const points = [{ at: 0, ...bright }, { at: 20, ...bright }, { at: 40, ...bright }, { at: 60, ...black }, { at: 80, ...black }];
  assert.deepEqual(
    bars(points, 20, 10, 70).map(({ at, to, mean }) => [at, to, mean]),
    [[10, 60, 36], [60, 70, 4]],
  );
  assert.equal(bars([points[0]!, points[2]!], 20, 0, 100).length, 2); // nothing between them
});

test("trouble is drawn from its onset, although the report that told of it came later", () => {
  const lane = [span("good", 0, 50), span("trouble", 50, 90)];
  assert.deepEqual(troubleFrom(40, lane).at(-1), span("trouble", 40, 90));
  assert.equal(troubleFrom(50, lane).length, 2);
});

test("where nobody looked between the onset and the report, and where no report has come, nothing is added", () => {
  const unseen = [span("good", 0, 40), span("unknown", 40, 50), span("trouble", 50, 90)];
  assert.equal(troubleFrom(30, unseen), unseen);
  const good = [span("good", 0, 90)];
  assert.equal(troubleFrom(40, good), good);
});

test("the chart of a clip begins with unbroken measures, and shows a gap just before the onset", () => {
  const at = (sec: number) => new Date(sec * 1000).toISOString();
  const levels = (seconds: number[]) => ({ from: at(0), to: at(60), instant: at(30), threshold_dbfs: -50, levels: seconds.map((sec) => ({ at: at(sec), dbfs: -15 })) });
  const every = Array.from({ length: 60 }, (_, i) => i);
  assert.equal(levelPlot(levels(every), false).from, 0);
  assert.equal(levelPlot(levels([0, 1, 4, 5, ...every.slice(8)]), false).from, 8000);
  assert.equal(levelPlot(levels(every.filter((sec) => sec < 24 || sec > 26)), false).from, 0);
});
