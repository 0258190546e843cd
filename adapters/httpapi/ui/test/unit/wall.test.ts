import assert from "node:assert/strict";
import { test } from "node:test";
import { detectors } from "../../src/detectors";
import { gaps, parts } from "../../src/draw/plots";
import { overall, spansOf } from "../../src/draw/lanes";
import type { Bucket, Condition, Detector, Incident, Monitor } from "../../src/types";
import { compare, isTold, lasting, matches, newestIncidents, numberOf, resort, since, stateOf, stripOf, unownedFirst, type Item } from "../../src/wall";
import { needsSomebody, worst } from "../../src/incident";
import table from "../detectors.json";

detectors.value = table.detectors as unknown as Detector[];

const now = Date.parse("2026-01-15T12:00:00Z");
const at = (minutesAgo: number) => new Date(now - minutesAgo * 60_000).toISOString();
const condition = (name: Condition["name"], began: number, ended: number | null = null): Condition => ({
  name,
  started_at: at(began),
  last_started_at: at(began),
  ended_at: ended === null ? null : at(ended),
  count: 1,
  longest_sec: 0,
});
const incident = (...conditions: Condition[]) => ({ incident_id: "i", monitor_id: "m", state: "open", resolved_at: null, conditions }) as unknown as Incident;
const monitor = (status: Monitor["status"]) => seen(status, {});
const seen = (status: Monitor["status"], more: object) =>
  ({ monitor_id: "m", status, stream_status: "live", health: { video: "ok", audio: "ok" }, last_error: null, config: { scheduled_start_time: null }, created_at: at(60), ...more }) as unknown as Monitor;

test("a stream is in the state of its worst condition that lasts", () => {
  for (const [conditions, want] of [
    [[condition("black", 1)], "trouble"],
    [[condition("blind", 1)], "warning"],
    [[condition("late", 9), condition("black", 1)], "trouble"],
    [[condition("black", 9, 1), condition("late", 9)], "warning"],
    [[condition("black", 9, 1)], "recovered"],
  ] as const) {
    assert.equal(stateOf(monitor("monitoring"), incident(...conditions), now), want);
  }
});

test("without an incident the monitor says it", () => {
  assert.equal(stateOf(monitor("monitoring"), null, now), "on_air");
  assert.equal(stateOf(monitor("waiting"), null, now), "waiting");
  assert.equal(stateOf(monitor("initializing"), null, now), "waiting");
  assert.equal(stateOf(monitor("completed"), null, now), "off");
  assert.equal(stateOf(null, null, now), "off");
});

test("a resolved incident counts as recovered for 10 minutes, unless the monitor has ended", () => {
  const resolved = (minutes: number) => ({ ...incident(condition("black", 30, minutes)), state: "resolved", resolved_at: at(minutes) }) as Incident;
  assert.equal(stateOf(monitor("monitoring"), resolved(9), now), "recovered");
  assert.equal(stateOf(monitor("monitoring"), resolved(10), now), "on_air");
  assert.equal(stateOf(monitor("completed"), resolved(1), now), "off");
});

test("what a person has resolved while it lasts stays in trouble, and belongs to somebody", () => {
  const resolved = (...conditions: Condition[]) => ({ ...incident(...conditions), state: "resolved", resolved_at: at(1), resolved_by: "Ken" }) as Incident;
  const black = seen("monitoring", { health: { video: "black", audio: "ok" } });
  assert.equal(stateOf(black, resolved(condition("black", 9)), now), "trouble");
  assert.equal(since("trouble", black, resolved(condition("black", 9))), Date.parse(at(9)));
  assert.equal(stateOf(black, resolved(condition("black", 9, 1)), now), "trouble");
  assert.equal(stateOf(monitor("monitoring"), resolved(condition("black", 9, 1)), now), "recovered");
  assert.equal(stateOf(monitor("completed"), resolved(condition("black", 9)), now), "off");
  assert.equal(needsSomebody(resolved(condition("black", 9))), false);
});

test("a paused stream is paused until the end of the pause, and what a pause ended has not recovered", () => {
  const paused = (status: Monitor["status"], minutesAgo: number) => seen(status, { paused_until: at(minutesAgo), health: { video: "unknown", audio: "unknown" } });
  const ended = { ...incident(condition("black", 9, 1)), state: "resolved", resolved_at: at(1), resolved_by_pause: true } as Incident;
  assert.equal(stateOf(paused("monitoring", -1), ended, now), "paused");
  assert.equal(stateOf(paused("waiting", -1), null, now), "paused");
  assert.equal(stateOf(paused("completed", -1), null, now), "off");
  assert.equal(stateOf(paused("monitoring", 0), ended, now), "on_air");
  assert.equal(stateOf(paused("waiting", 0), null, now), "waiting");
});

test("bad health is never without trouble, whatever the incident says", () => {
  for (const [health, want] of [
    [{ video: "black", audio: "ok" }, "black"],
    [{ video: "ok", audio: "silent" }, "silent"],
    [{ video: "black", audio: "silent" }, "black"],
    [{ video: "imaginary", audio: "ok" }, "imagined"],
    [{ video: "ok", audio: "unheard_of" }, "unheard_of"],
  ] as const) {
    const m = seen("monitoring", { health });
    for (const i of [null, incident(condition("black", 9, 1))]) {
      assert.equal(lasting(m, i)?.name, want);
      assert.equal(isTold(lasting(m, i)), false);
      assert.equal(stateOf(m, i, now), "warning");
    }
  }
});

test("what cannot be seen is neither on air without trouble nor waiting", () => {
  const unknown = { video: "unknown", audio: "unknown" };
  for (const [m, want] of [
    [seen("waiting", { stream_status: "unknown", health: unknown, last_error: "unreachable: no such host" }), "warning"],
    [seen("initializing", { stream_status: "unknown", health: unknown, last_error: "blocked: proxy" }), "warning"],
    [seen("monitoring", { stream_status: "unknown", health: unknown, last_error: "blocked: 429" }), "warning"],
    [seen("monitoring", { health: unknown, last_error: "network: refused" }), "warning"],
    [seen("monitoring", { health: { video: "none", audio: "unknown" }, last_error: "network: refused" }), "warning"],
    [seen("monitoring", { health: { video: "none", audio: "ok" }, last_error: "network: refused" }), "on_air"],
    [seen("waiting", { stream_status: "upcoming", health: unknown, last_error: "blocked: 429" }), "waiting"],
    [seen("initializing", { stream_status: "unknown", health: unknown }), "waiting"],
    [seen("monitoring", { last_error: "blocked: 429" }), "on_air"],
    [seen("completed", { stream_status: "unknown", health: unknown, last_error: "blocked: 429" }), "off"],
  ] as const) {
    assert.equal(stateOf(m, null, now), want);
    assert.equal(lasting(m, null)?.name ?? null, want === "warning" ? "blind" : null);
  }
  assert.equal(lasting(seen("monitoring", { health: { video: "none", audio: "silent" } }), null)?.name, "silent");
});

test("a failed monitor is in trouble although nobody watches it any more", () => {
  assert.equal(stateOf(null, incident(condition("error", 5)), now), "trouble");
});

test("the timer counts from the newest episode", () => {
  const c = { ...condition("black", 30), last_started_at: at(2) };
  assert.equal(since("trouble", null, incident(c)), Date.parse(at(2)));
  assert.equal(worst(incident(condition("silent", 1), condition("black", 5)))?.name, "black");
  assert.equal(worst(incident(condition("imagined", 1), condition("silent", 5), condition("blind", 9)))?.name, "silent", "in the order of the table");
});

const item = (id: string, state: Item["state"], sinceMinutes: number, more: Partial<Item> = {}): Item => ({
  id,
  number: Number(id),
  state,
  monitor: null,
  incident: null,
  condition: null,
  since: now - sinceMinutes * 60_000,
  pinned: false,
  late: false,
  ...more,
});

test("pinned first, trouble before warnings, the newest onset first", () => {
  const all = [item("1", "warning", 1), item("2", "trouble", 9), item("3", "trouble", 3), item("4", "warning", 50, { pinned: true })];
  assert.deepEqual(all.sort(compare).map((i) => i.id), ["4", "3", "2", "1"]);
});

test("what nobody has comes before what somebody has, also before what is pinned", () => {
  const acknowledged = { acknowledged_at: at(1), conditions: [] as Condition[] } as Incident;
  const all = [item("1", "trouble", 1, { incident: acknowledged, pinned: true }), item("2", "warning", 9), item("3", "trouble", 3, { incident: acknowledged }), item("4", "trouble", 5)];
  assert.deepEqual(unownedFirst(all.sort(compare)).map((i) => i.id), ["4", "2", "1", "3"]);
});

test("an incident needs somebody while it lasts and nobody has it", () => {
  const open = incident(condition("black", 5));
  assert.equal(needsSomebody(open), true);
  assert.equal(needsSomebody({ ...open, acknowledged_at: at(1) }), false);
  const taken = { ...open, acknowledged_at: at(1), severity: 1, acknowledged_severity: 1 };
  assert.equal(needsSomebody(taken), false);
  assert.equal(needsSomebody({ ...taken, severity: 2 }), true, "it got worse");
  assert.equal(needsSomebody({ ...taken, conditions: [condition("black", 5), condition("silent", 0)] }), true, "another condition began");
  assert.equal(needsSomebody({ ...taken, conditions: [condition("black", 5), condition("silent", 0, 0)] }), false, "it is over");
  assert.equal(needsSomebody(incident(condition("black", 5, 1))), false, "all was good again, the quiet time runs");
  assert.equal(needsSomebody({ ...open, state: "resolved" }), false);
});

test("what has recovered is good since the end of its last condition, not since it was resolved", () => {
  const resolved = { ...incident(condition("black", 9, 4), condition("silent", 9, 3)), started_at: at(9), state: "resolved", resolved_at: at(2) } as Incident;
  assert.equal(since("recovered", monitor("monitoring"), resolved), Date.parse(at(3)));
  assert.equal(since("recovered", monitor("monitoring"), { ...resolved, state: "open", resolved_at: null }), Date.parse(at(3)));
});

test("of the waiting the soonest is first, those without a time last", () => {
  const all = [item("1", "waiting", 0, { since: 0 }), item("2", "waiting", -30), item("3", "waiting", -5)];
  assert.deepEqual(all.sort(compare).map((i) => i.id), ["3", "2", "1"]);
});

test("a list under the pointer keeps its order, and counts what waits", () => {
  assert.deepEqual(resort(["a", "b"], ["c", "b", "a"], true), { shown: ["a", "b"], waiting: 1 });
  assert.deepEqual(resort(["a", "b"], ["c", "b", "a"], false), { shown: ["c", "b", "a"], waiting: 0 });
  assert.deepEqual(resort([], ["c"], true), { shown: ["c"], waiting: 0 });
});

test("an unchanged order is the same list, so nothing is drawn anew", () => {
  const shown = ["a", "b"];
  assert.equal(resort(shown, ["a", "b"], false).shown, shown);
});

test("the number is the gateway's, until another stream may have it", () => {
  const ended = (minutes: number) => ({ ...monitor("completed"), number: 7, ended_at: at(minutes) }) as Monitor;
  assert.equal(numberOf({ ...monitor("monitoring"), number: 7 }, now), 7);
  assert.equal(numberOf(ended(9), now), 7);
  assert.equal(numberOf(ended(10), now), 0);
  assert.equal(numberOf(null, now), 0);
});

test("the strip is the same on every screen, whatever was shown before", () => {
  const drawn = (...streams: [string, string][]) => {
    const groups = new Map(streams);
    return stripOf(streams.map(([id]) => item(id, "on_air", 0)), (i) => groups.get(i.id)!).map(([name, cells]) => `${name}: ${cells.map((c) => c?.id ?? "-").join(" ")}`);
  };
  assert.deepEqual(drawn(["1", "A"], ["4", "A"], ["3", "A"]), ["A: 1 - 3 4"], "a free number leaves its cell free");
  assert.deepEqual(drawn(["4", "A"], ["2", "B"], ["1", "A"]), ["A: 1 4", "B: 2"]);
  assert.deepEqual(drawn(), [": "]);
  const many = [...Array(9).keys()].map((n): [string, string] => [`${n + 1}`, `G${n}`]);
  assert.deepEqual(drawn(...many), [": 1 2 3 4 5 6 7 8 9"], "many groups are one");
});

test("the open incident of a monitor comes before resolved ones", () => {
  const open = { ...incident(), incident_id: "open" } as Incident;
  const newer = { ...incident(), incident_id: "newer", state: "resolved", resolved_at: at(1) } as Incident;
  const older = { ...incident(), incident_id: "older", state: "resolved", resolved_at: at(5) } as Incident;
  assert.equal(newestIncidents([older, newer]).get("m")?.incident_id, "newer");
  assert.equal(newestIncidents([newer, open, older]).get("m")?.incident_id, "open");
});

test("a stream is found by a part of its texts, or by its number", () => {
  const one = item("12", "on_air", 0);
  assert.equal(matches(one, "12", ["x"]), true);
  assert.equal(matches(one, "012", ["x"]), true);
  assert.equal(matches(one, "1", ["x"]), false);
  assert.equal(matches(one, " RUKA ", ["星凪 ruka"]), true);
  assert.equal(matches(one, "", []), true);
});

const bucket = (seconds: number, video: string | null, segments = "ok"): Bucket => {
  const lane = (state: string | null) => (state === null ? null : { state, share: {} });
  return { from: new Date(now + seconds * 1000).toISOString(), stream: lane(video && "live"), video: lane(video), audio: lane(video && "ok"), segments: lane(video && segments), luma: null, level: null };
};

test("buckets of one state are one span, unknown stays unknown, and nothing is drawn after now", () => {
  const spans = spansOf([bucket(0, "ok"), bucket(10, "ok"), bucket(20, "unknown"), bucket(30, "black"), bucket(40, null)], "video", 10, now + 35_000);
  assert.deepEqual(spans.map((s) => [s.state, (s.to - s.from) / 1000]), [["good", 20], ["unknown", 10], ["trouble", 5]]);
});

test("the lane of a stream shows the worst of its lanes", () => {
  const spans = overall([bucket(0, "ok"), bucket(10, "ok", "unknown"), bucket(20, "black", "unknown"), bucket(30, null)], 10, now + 60_000);
  assert.deepEqual(spans.map((s) => s.state), ["good", "unknown", "trouble", "none"]);
});

test("a plot does not draw over missing points, and hatches them", () => {
  const point = (s: number) => ({ at: s * 1000, min: 0, mean: 0, max: 0 });
  const points = [0, 1, 2, 7, 8].map(point);
  assert.deepEqual(parts(points, 1000).map((p) => p.length), [3, 2]);
  assert.deepEqual(gaps(points, 0, 9000, 1000), [[3000, 7000]]);
  assert.deepEqual(gaps([], 0, 9000, 1000), [[0, 9000]]);
});
