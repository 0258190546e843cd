import assert from "node:assert/strict";
import { before, test } from "node:test";
import { loadWords } from "../../src/i18n";
import type { Condition, Monitor } from "../../src/types";
import { alertOf, whyOf } from "../../src/why";

before(loadWords);

const begin = Date.parse("2026-01-15T12:00:00Z");
const at = (seconds: number) => new Date(begin + seconds * 1000).toISOString();
const alert = { event_id: "e", at: at(13), duration_sec: 11, threshold_sec: 10, criteria: { luma_below_percent: 10, area_percent: 98 }, reason: null, detail: null };
const black = (ended: number | null): Condition => ({ name: "black", started_at: at(-600), last_started_at: at(0), ended_at: ended === null ? null : at(ended), count: 2, longest_sec: 30, alert });

test("the sentence counts until now while it lasts, then until its end; the moment of the alert is apart", () => {
  assert.equal(whyOf(black(null), null, begin + 385_000), "Black for 6 min 25 s.");
  assert.equal(whyOf(black(12), null, begin + 385_000), "Black for 12 s.");
  assert.match(alertOf(black(null), null), /after 11 s \(limit 10 s\).* 10\s% in 98\s%/);
});

test("without numbers nothing is said of the alert", () => {
  assert.equal(alertOf({ ...black(null), alert: null }, null), "");
  assert.equal(alertOf({ ...black(null), alert: { ...alert, duration_sec: null } }, null), "");
  const monitor = { config: { start_delay_tolerance_sec: 300 } } as Monitor;
  assert.match(alertOf({ ...black(null), name: "late" }, monitor), /5 min/);
  assert.match(alertOf({ ...black(null), name: "no_media", alert: { ...alert, duration_sec: 60, threshold_sec: 60, criteria: null } }, null), /after 1 min \(limit 1 min\)/);
});
