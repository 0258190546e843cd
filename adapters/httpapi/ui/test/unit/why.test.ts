import assert from "node:assert/strict";
import { before, test } from "node:test";
import { detectors } from "../../src/detectors";
import { loadWords } from "../../src/i18n";
import { language } from "../../src/settings";
import type { Condition, Detector, Monitor } from "../../src/types";
import { alertOf, stillWorking, whyOf } from "../../src/why";
import table from "../detectors.json";

before(loadWords);
before(() => {
  detectors.value = table.detectors as unknown as Detector[];
});

const begin = Date.parse("2026-01-15T12:00:00Z");
const at = (seconds: number) => new Date(begin + seconds * 1000).toISOString();
const alert = { event_id: "e", at: at(13), duration_sec: 11, threshold_sec: 10, criteria: { luma_below_percent: 10, area_percent: 98 }, reason: null, detail: null };
const black = (ended: number | null): Condition => ({ name: "black", started_at: at(-600), last_started_at: at(0), ended_at: ended === null ? null : at(ended), count: 2, longest_sec: 30, alert });

test("the sentence counts until now while it lasts, then until its end; the moment of the alert is apart", () => {
  assert.equal(whyOf(black(null), null, begin + 385_000), "Black for 6 min 25 s.");
  assert.equal(whyOf(black(12), null, begin + 385_000), "Black for 12 s.");
  assert.match(alertOf(black(null), null), /after 11 s \(threshold 10 s\).* 10\s% in 98\s%/);
});

test("without numbers nothing is said of the alert", () => {
  assert.equal(alertOf({ ...black(null), alert: null }, null), "");
  assert.equal(alertOf({ ...black(null), alert: { ...alert, duration_sec: null } }, null), "");
  const monitor = { config: { start_delay_tolerance_sec: 300 } } as Monitor;
  assert.match(alertOf({ ...black(null), name: "late" }, monitor), /5 min/);
  assert.match(alertOf({ ...black(null), name: "no_media", alert: { ...alert, duration_sec: 60, threshold_sec: 60, criteria: null } }, null), /after 1 min \(threshold 1 min\)/);
});

test("a third detector is spoken of in the words of its row", () => {
  const imagined = { ...black(12), name: "imagined", alert: { ...alert, criteria: { difference: 0.25 } } };
  assert.equal(whyOf(imagined, null, begin), "Imagined for 12 s.");
  assert.equal(alertOf(imagined, null), "Alert raised after 11 s (threshold 10 s). Imagined is a difference over 0.25.");
  const monitor = (video: string, audio: string, stream_url = "https://www.youtube.com/watch?v=dQw4w9WgXcQ") => ({ monitor_id: "m", stream_url, stream_status: "live", health: { video, audio } }) as Monitor;
  assert.equal(stillWorking(imagined, monitor("imaginary", "ok")), "Now: sound good, YouTube says live.");
  assert.equal(stillWorking({ ...imagined, name: "no_media" }, monitor("none", "ok", "icy+https://radio.example/live")), "Now: sound good.");
  assert.equal(stillWorking({ ...imagined, name: "silent" }, monitor("none", "silent", "icy+https://radio.example/live")), "");
  assert.equal(stillWorking({ ...imagined, name: "silent" }, monitor("imaginary", "silent")), "Now: imagined, YouTube says live.");
  assert.equal(stillWorking({ ...imagined, name: "no_media" }, monitor("ok", "silent")), "Now: picture good, silent, YouTube says live.");
});

test("the words of a detector follow the language, and there are none of what no detector finds", async () => {
  language.value = "ja";
  await loadWords();
  assert.equal(whyOf(black(12), null, begin), "映像が12秒真っ黒。");
  assert.match(alertOf(black(12), null), /しきい値10秒）。画面の98%で輝度10%未満なら真っ黒。$/);
  language.value = "en";
  await loadWords();
  assert.equal(whyOf({ ...black(12), name: "unheard_of" }, null, begin), "unheard_of for 12 s.");
});
