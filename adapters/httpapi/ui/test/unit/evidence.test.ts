import assert from "node:assert/strict";
import { test } from "node:test";
import { episodeOf, fileOf } from "../../src/evidence";
import type { Evidence, Variant } from "../../src/types";

const begin = Date.parse("2026-01-15T12:00:00Z");
const at = (seconds: number) => new Date(begin + seconds * 1000).toISOString();
const evidence = (condition: string, phase: Evidence["phase"], files: Partial<Record<Variant, number>>) =>
  ({ condition, phase, variants: Object.entries(files).map(([variant, seconds]) => ({ variant, taken_at: at(seconds) })) }) as Evidence;
const times = (all: Evidence[], condition: string) => {
  const { alert, recovery } = episodeOf(all, condition);
  return [fileOf(alert, "before"), fileOf(alert, "onset"), fileOf(recovery, "recovery")].map((found) => found && (Date.parse(found.file.taken_at) - begin) / 1000);
};

const black = evidence("black", "alert", { before: 9, onset: 10 });
const blackOver = evidence("black", "recovery", { recovery: 100 });
const silent = evidence("silent", "alert", { before: 59, onset: 60 });
const silentOver = evidence("silent", "recovery", { recovery: 200 });

test("pictures of two conditions at once are never mixed", () => {
  const all = [silentOver, blackOver, silent, black];
  assert.deepEqual(times(all, "black"), [9, 10, 100]);
  assert.deepEqual(times(all, "silent"), [59, 60, 200]);
});

test("a condition that lasts has no recovery of the other one", () => {
  assert.deepEqual(times([blackOver, silent, black], "silent"), [59, 60, null]);
  assert.deepEqual(times([], "silent"), [null, null, null]);
});

test("of a condition that came back, the newest episode is shown, and never the recovery from an earlier one", () => {
  const again = evidence("black", "alert", { before: 299, onset: 300 });
  assert.deepEqual(times([again, blackOver, black], "black"), [299, 300, null]);
  assert.deepEqual(times([evidence("black", "recovery", { recovery: 400 }), again, blackOver, black], "black"), [299, 300, 400]);
});

test("an alert without files hides no earlier one", () => {
  assert.deepEqual(times([evidence("black", "alert", {}), blackOver, black], "black"), [9, 10, 100]);
});
