import assert from "node:assert/strict";
import { test } from "node:test";
import { computed } from "@preact/signals";
import { Table } from "../../src/store";

test("who reads an object before it is there hears when it comes, and of its changes", () => {
  const table = new Table<number>();
  const read = computed(() => table.get("a"));
  assert.equal(read.value, undefined);
  table.set("a", 1);
  assert.equal(read.value, 1);
  table.set("a", 2);
  assert.equal(read.value, 2);
});
