import assert from "node:assert/strict";
import { test } from "node:test";
import { computed } from "@preact/signals";
import { evidenceAdded, receive, Table, thumbnails } from "../../src/store";
import type { Message } from "../../src/types";

test("who reads an object before it is there hears when it comes, and of its changes", () => {
  const table = new Table<number>();
  const read = computed(() => table.get("a"));
  assert.equal(read.value, undefined);
  table.set("a", 1);
  assert.equal(read.value, 1);
  table.set("a", 2);
  assert.equal(read.value, 2);
});

test("what was announced of a monitor is forgotten when a whole state is without it", () => {
  const whole = (...ids: string[]) => ({ type: "state.replace", data: { monitors: ids.map((id) => ({ monitor_id: id })), incidents: [], deliveries: [] } }) as unknown as Message;
  const announced = (type: string, id: string) => ({ type, at: "", data: { monitor_id: id, taken_at: "2026-01-15T12:00:00Z" } }) as unknown as Message;
  receive([whole("a", "b"), ...["thumbnail.updated", "evidence.added"].flatMap((type) => [announced(type, "a"), announced(type, "b")])]);
  receive([whole("b", "c")]);
  assert.deepEqual([thumbnails.keys.value, evidenceAdded.keys.value], [["b"], ["b"]]);
});
