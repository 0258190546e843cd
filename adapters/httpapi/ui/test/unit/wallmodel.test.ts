import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "../../src/types";

test("the first state of the feed is on the wall at once, not at the end of the second", async () => {
  const page = { location: new URL("http://gateway/"), localStorage: { getItem: () => null, setItem: () => {} }, matchMedia: () => ({ matches: false, addEventListener: () => {} }), addEventListener: () => {}, document: {} };
  for (const [name, value] of Object.entries(page)) Object.defineProperty(globalThis, name, { value, configurable: true });
  const { receive } = await import("../../src/store");
  const { items, startWall } = await import("../../src/wallmodel");
  const stop = startWall();
  receive([{ type: "state.replace", version: 1, data: { monitors: [{ monitor_id: "mon-1", created_at: "2026-01-15T12:00:00Z", status: "monitoring", health: {} }], incidents: [], deliveries: [] } } as unknown as Message]);
  assert.equal(items.value.length, 1);
  stop();
});
