import assert from "node:assert/strict";
import { test } from "node:test";
import { Connection, silenceMs, type Environment, type Link } from "../../src/connection";
import { FeedState, follows, recoveredMs, thumbnailMs } from "../../src/feedstate";
import type { DeliveryUpdate, Incident, Message, Monitor } from "../../src/types";

const at = "2026-01-15T11:00:00.000Z";
const monitor = (id: string, ended?: string) => ({ monitor_id: id, ended_at: ended }) as Monitor;
const updated = (id: string, version: number, epoch = "e"): Message => ({ id: `${epoch}-${version}`, type: "monitor.updated", at, data: monitor(id) });
const replace = (version: number, ...ids: string[]): Message => ({ id: `e-${version}`, type: "state.replace", at, data: { monitors: ids.map((id) => monitor(id)), incidents: [], deliveries: [] } });
const heartbeat: Message = { type: "heartbeat", at, data: { checker: null } };

test("a reader ignores entries that it has had", () => {
  const state = new FeedState();
  state.apply(replace(5, "a"));
  assert.equal(state.apply(updated("b", 5)), false);
  assert.equal(state.apply(updated("b", 6)), true);
  assert.deepEqual([...state.monitors.keys()], ["a", "b"]);
  assert.equal(state.position, "e-6");
});

test("state.replace forgets what was known, also with a lower version", () => {
  const state = new FeedState();
  state.apply(replace(50, "a", "b"));
  state.apply(replace(3, "c"));
  assert.deepEqual([...state.monitors.keys()], ["c"]);
  assert.equal(state.position, "e-3");
});

test("an entry of another epoch always follows; an epoch may contain dashes", () => {
  assert.equal(follows("0190a5d0-1c2b-9", "0190a5d0-1c2b-10"), true);
  assert.equal(follows("0190a5d0-1c2b-10", "0190a5d0-1c2b-9"), false);
  assert.equal(follows("0190a5d0-1c2b-10", "0190ffff-1c2b-1"), true);
});

test("ended monitors and resolved incidents are forgotten after 10 minutes, troubled ones are not", () => {
  const state = new FeedState();
  state.apply(replace(1));
  for (const m of [monitor("done", at), monitor("failed", at), monitor("active")]) state.monitors.set(m.monitor_id, m);
  state.incidents.set("open", { incident_id: "open", monitor_id: "failed", resolved_at: null } as Incident);
  state.incidents.set("over", { incident_id: "over", monitor_id: "active", resolved_at: at, conditions: [{ ended_at: at }] } as Incident);
  state.incidents.set("still", { incident_id: "still", monitor_id: "active", resolved_at: at, conditions: [{ ended_at: null }] } as Incident);
  assert.deepEqual(state.forget(Date.parse(at) + recoveredMs), { monitors: [], incidents: [] });
  assert.deepEqual(state.forget(Date.parse(at) + recoveredMs + 1), { monitors: ["done"], incidents: ["over"] });
  assert.deepEqual([...state.monitors.keys()], ["failed", "active"]);
});

test("a new tab hears the whole state and the newest heartbeat", () => {
  const state = new FeedState();
  state.apply(replace(1, "a"));
  state.apply(updated("b", 2));
  state.apply(heartbeat);
  const [all, beat] = state.snapshot();
  assert.equal(all?.type === "state.replace" && all.id === "e-2" && all.data.monitors.length, 2);
  assert.equal(beat?.type, "heartbeat");
});

test("a new tab hears of the thumbnails that are kept", () => {
  const thumbnail = (id: string): Message => ({ type: "thumbnail.updated", at, data: { monitor_id: id, taken_at: at } });
  const state = new FeedState();
  state.apply(replace(1, "a"));
  state.apply(thumbnail("a"));
  state.apply(thumbnail("a"));
  state.forget(Date.parse(at) + thumbnailMs);
  assert.deepEqual(state.snapshot().slice(1), [thumbnail("a")]);
  state.forget(Date.parse(at) + thumbnailMs + 1);
  assert.equal(state.snapshot().length, 1);
});

test("deliveries come with the state, and a new tab hears those of the feed too", () => {
  const delivery = (id: string, status: DeliveryUpdate["webhook_status"]) => ({ event_id: id, webhook_status: status }) as DeliveryUpdate;
  const state = new FeedState();
  state.apply({ id: "e-1", type: "delivery.updated", at, data: delivery("forgotten", "pending") });
  state.apply({ id: "e-2", type: "state.replace", at, data: { monitors: [], incidents: [], deliveries: [delivery("new", "pending"), delivery("old", "failed")] } });
  assert.deepEqual([...state.deliveries.keys()], ["old", "new"]);
  state.apply({ id: "e-3", type: "delivery.updated", at, data: delivery("old", "sent") });
  const [all] = state.snapshot();
  assert.deepEqual(all?.type === "state.replace" && all.data.deliveries, [delivery("old", "sent"), delivery("new", "pending")]);
});

// fake is a browser whose time is moved by hand.
function fake() {
  let now = 0;
  const timers: { at: number; run: () => void }[] = [];
  const opened: { url: string; closed: boolean; heard: (m: Message) => void; failed: () => void }[] = [];
  const env: Environment & { signedOut: boolean } = {
    signedOut: false,
    open(url, heard, failed) {
      const source = { url, closed: false, heard, failed };
      opened.push(source);
      return { close: () => (source.closed = true) };
    },
    sessionEnded: async () => env.signedOut,
    now: () => now,
    after(ms, run) {
      const timer = { at: now + ms, run };
      timers.push(timer);
      return timer;
    },
    cancel(timer) {
      const i = timers.indexOf(timer as (typeof timers)[number]);
      if (i >= 0) timers.splice(i, 1);
    },
    random: () => 1,
  };
  const advance = async (ms: number) => {
    const end = now + ms;
    await new Promise(setImmediate);
    for (;;) {
      timers.sort((a, b) => a.at - b.at);
      const next = timers[0];
      if (!next || next.at > end) break;
      timers.shift();
      now = next.at;
      next.run();
      await Promise.resolve();
      await Promise.resolve();
    }
    now = end;
  };
  const links: Link[] = [];
  const messages: Message[] = [];
  const connection = new Connection(env, (m) => messages.push(...m), (l) => links.push(l));
  return { env, opened, links, messages, connection, advance };
}

test("a connection that is silent for 15 s is lost, and the next continues by its position", async () => {
  const f = fake();
  f.connection.connect();
  f.opened[0]!.heard(replace(7, "a"));
  f.opened[0]!.heard(heartbeat);
  assert.equal(f.connection.link.state, "live");
  await f.advance(silenceMs);
  assert.equal(f.connection.link.state, "lost");
  assert.equal(f.opened[0]!.closed, true);
  await f.advance(1000);
  assert.match(f.opened[1]!.url, /after=e-7$/);
});

test("an attempt that hangs is given up after 5 s", async () => {
  const f = fake();
  f.connection.connect();
  f.opened[0]!.failed();
  await f.advance(1000);
  assert.equal(f.opened.length, 2);
  await f.advance(4999);
  assert.equal(f.opened[1]!.closed, false);
  await f.advance(1);
  assert.equal(f.opened[1]!.closed, true);
});

test("a page that only listens asks for its session once an hour, which renews it", async () => {
  const f = fake();
  let asked = 0;
  f.env.sessionEnded = async () => ++asked < 0;
  f.connection.connect();
  for (let sec = 0; sec <= 7205; sec += 5) {
    f.opened[0]!.heard(heartbeat);
    await f.advance(5000);
  }
  assert.equal(asked, 2);
});

test("attempts are at most 5 s apart, and a heartbeat ends that", async () => {
  const f = fake();
  f.connection.connect();
  for (const wait of [1000, 2000, 4000, 5000, 5000]) {
    const count = f.opened.length;
    f.opened.at(-1)!.failed();
    await f.advance(wait - 1);
    assert.equal(f.opened.length, count, `no attempt before ${wait} ms`);
    await f.advance(1);
    assert.equal(f.opened.length, count + 1, `an attempt after ${wait} ms`);
  }
  f.opened.at(-1)!.heard(heartbeat);
  assert.equal(f.connection.link.attempts, 0);
});

test("a source that was given up is not heard any more", async () => {
  const f = fake();
  f.connection.connect();
  f.opened[0]!.failed();
  await f.advance(1000);
  f.opened[0]!.heard(replace(9, "late"));
  assert.equal(f.connection.state.position, "");
});

test("an ended session stops the attempts", async () => {
  const f = fake();
  f.env.signedOut = true;
  f.connection.connect();
  f.opened[0]!.failed();
  await f.advance(60_000);
  assert.equal(f.connection.link.state, "signed-out");
  assert.equal(f.opened.length, 1);
});

test("bursts are handed on together, heartbeats at once", async () => {
  const f = fake();
  f.connection.connect();
  f.opened[0]!.heard(replace(1));
  for (let v = 2; v < 12; v++) f.opened[0]!.heard(updated(`m${v}`, v));
  assert.equal(f.messages.length, 1);
  await f.advance(200);
  assert.equal(f.messages.length, 11);
});
