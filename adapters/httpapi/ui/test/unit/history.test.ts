import assert from "node:assert/strict";
import { test } from "node:test";
import { stepOf, ticksOf } from "../../src/draw/axis";
import { deliverySpans, spanFor, sumUp, windowOf } from "../../src/history";
import { afterSignIn } from "../../src/nextpage";
import { changeOf } from "../../src/change";
import type { Bucket, EventRecord, Lane, Timeline } from "../../src/types";

const at = (sec: number) => new Date(sec * 1000).toISOString();
const lane = (share: Record<string, number>): Lane => ({ state: Object.keys(share)[0]!, share });

function timeline(buckets: Partial<Bucket>[]): Timeline {
  const empty = { stream: null, video: null, audio: null, segments: null, luma: null, level: null };
  return { monitor_id: "m", from: at(0), to: at(buckets.length * 10), bucket_sec: 10, buckets: buckets.map((b, i) => ({ from: at(i * 10), ...empty, ...b })) };
}

test("the span of the address wins, otherwise the shortest one that holds the whole watch", () => {
  assert.equal(spanFor("7d", 10), "7d");
  assert.equal(spanFor(null, 10), "1h");
  assert.equal(spanFor("nonsense", 4000), "6h");
  assert.equal(spanFor(null, 30 * 86_400), "24h");
});

test("a window ends with the present bucket and stays the same until the next one", () => {
  const now = 1_000_000 * 15_000 + 7_000;
  const window = windowOf("1h", now);
  assert.equal(window.to, 1_000_001 * 15_000);
  assert.equal(window.to - window.from, 3_600_000);
  assert.equal((window.to - window.from) / window.buckets, 15_000);
  assert.deepEqual(windowOf("1h", now + 7_000), window);
  assert.notDeepEqual(windowOf("1h", now + 8_000), window);
});

test("a window begins shortly before the registration, and has at least 40 buckets", () => {
  const now = 1_000_000 * 15_000;
  const from = (ageSec: number) => windowOf("1h", now, now - ageSec * 1000);
  assert.equal(from(60).buckets, 40);
  const young = from(1500);
  assert.ok(young.from < now - 1500_000 && young.from > now - 1800_000);
  assert.equal((young.to - young.from) / young.buckets, 15_000);
  assert.equal(from(7200).buckets, 240);
});

test("totals add up shares, count episodes, and never count unseen time as watched", () => {
  const live = lane({ live: 1 });
  const sums = sumUp(
    timeline([
      {},
      { stream: live, video: lane({ black: 0.5, ok: 0.5 }), audio: lane({ ok: 1 }) },
      { stream: live, video: lane({ black: 1 }), audio: lane({ ok: 1 }) },
      { stream: lane({ unknown: 1 }), video: lane({ unknown: 1 }), audio: lane({ unknown: 1 }) },
      { stream: live, video: lane({ black: 1 }), audio: lane({ silent: 0.2 }) },
      { stream: live, video: lane({ ok: 1 }) },
    ]),
    50_000,
  );
  assert.equal(sums.lifeSec, 40);
  assert.equal(sums.unseenSec, 10);
  assert.equal(sums.watchedSec, 30);
  assert.deepEqual(sums.conditions.black, { sec: 25, times: 2, lasts: true });
  assert.deepEqual(sums.conditions.silent, { sec: 2, times: 1, lasts: true });
  assert.equal(sums.conditions.unknown, undefined);
});

test("waiting for a stream is neither watched nor unseen", () => {
  const sums = sumUp(timeline([{ stream: lane({ upcoming: 1 }), video: lane({ unknown: 1 }) }]), 100_000);
  assert.deepEqual([sums.lifeSec, sums.unseenSec, sums.watchedSec], [0, 0, 0]);
});

test("paused time is counted apart, once for all lanes", () => {
  const paused = lane({ paused: 0.5, ok: 0.5 });
  const sums = sumUp(timeline([{ stream: lane({ paused: 0.5, live: 0.5 }), video: paused, audio: paused, segments: paused }]), 100_000);
  assert.deepEqual([sums.lifeSec, sums.unseenSec, sums.watchedSec, sums.pausedSec], [5, 0, 5, 5]);
  assert.deepEqual(sums.conditions, {});
});

test("a delivery is shown from its event until it arrived, and a quick one stays visible", () => {
  const event = (webhook_status: string, created: number, sent: number | null) => ({ webhook_status, created_at: at(created), sent_at: sent === null ? null : at(sent) }) as unknown as EventRecord;
  const window = { from: 0, to: 1_000_000 };
  const spans = deliverySpans([event("sent", 900, 900.1), event("pending", 100, null), event("failed", 2000, null)], window, 950_000);
  assert.deepEqual(spans, [
    { state: "warning", from: 100_000, to: 950_000 },
    { state: "good", from: 900_000, to: 904_000 },
  ]);
});

test("labels of an axis stand at whole steps of the viewer's clock", () => {
  assert.equal(stepOf(3_600_000, 1000), 300_000);
  assert.equal(stepOf(7 * 86_400_000, 1000), 43_200_000);
  assert.equal(stepOf(3_600_000, 280), 900_000);
  const india = 5.5 * 3_600_000;
  assert.deepEqual(ticksOf(0, 2 * 3_600_000, 3_600_000, india), [1_800_000, 5_400_000]);
});

test("after the sign-in only a page of this dashboard follows", () => {
  const here = "https://monitor.example";
  assert.equal(afterSignIn("/incidents?state=open", here), "/incidents?state=open");
  for (const other of [null, "//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:alert(1)", "/signin?next=/", "http://["]) assert.equal(afterSignIn(other, here), "/", String(other));
});

test("a change has only what a person changed in the form", () => {
  const form = (all: Record<string, string>) => {
    const data = new FormData();
    for (const [name, value] of Object.entries(all)) data.set(name, value);
    return data;
  };
  const shown = { check_interval_sec: "10", blackout_threshold_sec: "30", scheduled_start_time: "2026-11-22T22:00:00", scheduled_end_time: "", callback_url: "", channel_name: "A", stream_title: "cut", on_callback_failure: "error" };
  const metadata = { channel_name: "A", stream_title: "cut off in the form", labels: ["x"] };
  assert.deepEqual(changeOf(metadata, form(shown), form(shown)), {});
  assert.deepEqual(changeOf(metadata, form({ ...shown, labels: "team=a\nshow=朝" }), form({ ...shown, labels: "team=b\r\nsite=x" })), { labels: { show: null, team: "b", site: "x" } });
  assert.deepEqual(changeOf(metadata, form(shown), form({ ...shown, blackout_threshold_sec: "15", scheduled_start_time: "", channel_name: "B", callback_url: "https://example.com/hook", on_callback_failure: "continue" })), {
    callback_url: "https://example.com/hook",
    config: { blackout_threshold_sec: 15, scheduled_start_time: null, on_callback_failure: "continue" },
    metadata: { channel_name: "B", stream_title: "cut off in the form", labels: ["x"] },
  });
});
