import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { APIError } from "../../src/api";
import { planOf, sendAll, type Action } from "../../src/bulk";
import type { Monitor } from "../../src/types";

const [start, end] = ["2026-12-01T20:00:00Z", "2026-12-01T22:00:00+09:00"];
const stream = (status: string, planned: { start?: string; end?: string } = {}, more = {}) =>
  ({ status, labels: { team: "a" }, config: { scheduled_start_time: planned.start ?? null, scheduled_end_time: planned.end ?? null }, ...more }) as Monitor;

const streams = new Map<string, Monitor | undefined>([
  ["waits", stream("waiting", { start, end })],
  ["starts", stream("initializing", { start })],
  ["live", stream("monitoring", { start, end })],
  ["live without end", stream("monitoring", { start })],
  ["unplanned", stream("waiting", {}, { labels: { team: "b", show: "x" } })],
  ["paused", stream("waiting", { end }, { paused_until: start, labels: undefined })],
  ["ended", stream("stopped", { start, end }, { ended_at: start, paused_until: start })],
  ["forgotten", undefined],
]);
const [laterStart, laterEnd] = ["2026-12-01T21:00:00.000Z", "2026-12-01T14:00:00.000Z"];
const gone = { ended: "ended", forgotten: "ended" };
const all = (change: unknown) => Object.fromEntries(["waits", "starts", "live", "live without end", "unplanned", "paused"].map((id) => [id, change]));

const cases: [Action, changes: Record<string, unknown>, skipped: Record<string, string>][] = [
  [{ kind: "stop" }, all(null), gone],
  [{ kind: "silence" }, all(null), gone],
  [{ kind: "pause", until: end }, all({ paused_until: end }), gone],
  [{ kind: "resume" }, { paused: { paused_until: null } }, { waits: "unpaused", starts: "unpaused", live: "unpaused", "live without end": "unpaused", unplanned: "unpaused", ...gone }],
  [
    { kind: "move", ms: 3_600_000 },
    { waits: { config: { scheduled_start_time: laterStart, scheduled_end_time: laterEnd } }, starts: { config: { scheduled_start_time: laterStart } }, live: { config: { scheduled_end_time: laterEnd } }, paused: { config: { scheduled_end_time: laterEnd } } },
    { "live without end": "begun", unplanned: "unplanned", ...gone },
  ],
  [{ kind: "change", config: { blackout_threshold_sec: 15 } }, all({ config: { blackout_threshold_sec: 15 } }), gone],
  [{ kind: "label", labels: { team: "a" } }, { unplanned: { labels: { team: "a" } }, paused: { labels: { team: "a" } } }, { waits: "same", starts: "same", live: "same", "live without end": "same", ...gone }],
  [{ kind: "label", labels: { show: null } }, { unplanned: { labels: { show: null } } }, { waits: "same", starts: "same", live: "same", "live without end": "same", paused: "same", ...gone }],
];
for (const [action, changes, skipped] of cases)
  test(`what is sent to each stream, and which are left alone: ${JSON.stringify(action)}`, () => {
    const plan = planOf(action, streams);
    assert.deepEqual(Object.fromEntries(plan.changes), changes);
    assert.deepEqual(Object.fromEntries(plan.skipped), skipped);
    assert.equal(plan.endsOnly, action.kind === "move" ? 1 : 0);
  });

const ids = Array.from({ length: 12 }, (_, i) => `mon-${i}`);

test("five requests at once, each stream once; a refusal concerns its stream alone", async () => {
  let [now, most] = [0, 0];
  const outcomes = new Map<string, unknown>();
  const send = async (id: string) => {
    most = Math.max(most, ++now);
    await new Promise((next) => setImmediate(next));
    now--;
    if (id === "mon-3") throw new APIError(409, "MONITOR_ENDED", "it has ended");
  };
  await sendAll(ids, send, { done: (id, error) => void outcomes.set(id, error), waits: () => {}, stopped: () => false });
  assert.equal(most, 5);
  assert.deepEqual([...outcomes.keys()].sort(), [...ids].sort());
  assert.deepEqual([...outcomes].filter(([, error]) => error).map(([id, error]) => [id, (error as APIError).code]), [["mon-3", "MONITOR_ENDED"]]);
});

test("the rate limit is waited for, and refuses nothing; what is halted is not sent", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const sent: string[] = [];
  const outcomes = new Map<string, unknown>();
  const waits: number[] = [];
  let stopped = false;
  const send = async (id: string) => {
    sent.push(id);
    if (sent.length === 6) throw new APIError(429, "RATE_LIMIT_EXCEEDED", "too many", 7);
    if (outcomes.size === 9) stopped = true;
  };
  const ended = sendAll(ids, send, { done: (id, error) => void outcomes.set(id, error), waits: (sec) => waits.push(sec), stopped: () => stopped });
  for (let sec = 0; sec < 7; sec++) {
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
    mock.timers.tick(1000);
  }
  await ended;
  mock.timers.reset();
  assert.deepEqual(waits, [7, 0]);
  assert.ok([...outcomes.values()].every((error) => error === null));
  assert.ok(stopped && outcomes.size < ids.length && outcomes.size >= 9, `${outcomes.size} were sent`);
});
