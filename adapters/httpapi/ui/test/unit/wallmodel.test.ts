import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "../../src/types";

const monitor = (n: number) => ({ monitor_id: `mon-${n}`, number: n + 1, created_at: "2026-01-15T12:00:00Z", status: "monitoring", health: {} });
const state = (count: number) => ({ type: "state.replace", version: 1, data: { monitors: Array.from({ length: count }, (_, n) => monitor(n)), incidents: [], deliveries: [] } }) as unknown as Message;
const heartbeat = (checker: object | null) => ({ type: "heartbeat", at: "2026-01-15T12:00:00Z", data: { checker } }) as unknown as Message;

// The model reads the address, the settings and the media queries of a page.
const page = { location: new URL("http://gateway/"), localStorage: { getItem: () => null, setItem: () => {} }, matchMedia: () => ({ matches: false, addEventListener: () => {} }), addEventListener: () => {}, document: {} };
for (const [name, value] of Object.entries(page)) Object.defineProperty(globalThis, name, { value, configurable: true });

test("the first state of the feed is on the wall at once, not at the end of the second", async () => {
  const { receive } = await import("../../src/store");
  const { items, startWall } = await import("../../src/wallmodel");
  const stop = startWall();
  receive([state(1)]);
  assert.equal(items.value.length, 1);
  stop();
});

test("two pages that have seen other streams show the same numbers and cells", async () => {
  const { receive } = await import("../../src/store");
  const { items, startWall, strip } = await import("../../src/wallmodel");
  const stop = startWall();
  const seen = (...numbers: number[]) => {
    receive([{ type: "state.replace", version: 1, data: { monitors: numbers.map((n) => monitor(n - 1)), incidents: [], deliveries: [] } } as unknown as Message]);
    return [items.value.map((i) => i.number).join(" "), strip.value.map(([, cells]) => cells.map((item) => item?.number).join(" ")).join()];
  };
  const fresh = seen(9, 7, 6);
  seen(1, 2, 3);
  assert.deepEqual(seen(9, 7, 6), fresh);
  assert.deepEqual(fresh, ["6 7 9", "     6 7  9"]);
  stop();
});

test("nothing counts as without trouble that nobody has looked at in time, also if the checker cannot name it", async () => {
  const { receive } = await import("../../src/store");
  const { counts, items, startWall } = await import("../../src/wallmodel");
  const stop = startWall();
  const seen = (checker: object | null) => {
    receive([state(150), heartbeat(checker)]);
    return [counts.value.on_air, items.value.filter((i) => i.late).length];
  };
  assert.deepEqual(seen({ watched: 150, late: 0, late_monitors: [] }), [150, 0]);
  assert.deepEqual(seen({ watched: 150, late: 2, late_monitors: ["mon-3", "mon-4"] }), [148, 2]);
  assert.deepEqual(seen({ watched: 150, late: 120, late_monitors: Array.from({ length: 100 }, (_, n) => `mon-${n}`) }), [0, 150]);
  assert.deepEqual(seen(null), [0, 150]); // the database is away
  stop();
});

test("what cannot be seen stands in the list with its warning, and counts neither as on air nor as waiting", async () => {
  const { receive } = await import("../../src/store");
  const { counts, startWall, wanted } = await import("../../src/wallmodel");
  const stop = startWall();
  const unseen = (n: number, status: string) => ({ ...monitor(n), status, stream_status: "unknown", health: { video: "unknown", audio: "unknown" }, last_error: "unreachable: no such host" });
  receive([{ type: "state.replace", version: 1, data: { monitors: [monitor(0), unseen(1, "waiting"), unseen(2, "monitoring")], incidents: [], deliveries: [] } } as unknown as Message, heartbeat({ watched: 3, late: 0, late_monitors: [] })]);
  assert.deepEqual([counts.value.on_air, counts.value.waiting, counts.value.warning], [1, 0, 2]);
  assert.deepEqual([wanted.value.on_air.length, wanted.value.waiting.length, wanted.value.attention.length], [3, 0, 0]);
  stop();
});
