import assert from "node:assert/strict";
import { test } from "node:test";
import { endOf, lastedSec, sinceOf, storms, troubleSec } from "../../src/incidentlist";
import type { Condition, Incident } from "../../src/types";

const begin = Date.parse("2026-01-15T12:00:00Z");
const at = (seconds: number) => new Date(begin + seconds * 1000).toISOString();
const condition = (name: Condition["name"], from: number, to: number | null): Condition => ({ name, started_at: at(from), last_started_at: at(from), ended_at: to === null ? null : at(to), count: 1, longest_sec: 0 });
const incident = (id: number, seconds: number, name: Condition["name"] = "blind") =>
  ({ incident_id: String(id), started_at: at(seconds), conditions: [condition(name, seconds, null)] }) as Incident;

test("five of one condition within a minute of each other are one row", () => {
  const all = [incident(1, 200), incident(2, 150), incident(3, 100), incident(4, 60), incident(5, 30)];
  const entries = storms(all);
  assert.equal(entries.length, 1);
  assert.equal(entries[0]!.kind === "storm" && entries[0]!.incidents.length, 5);
});

test("four, or five of different conditions, or with a pause, are rows of their own", () => {
  assert.equal(storms([1, 2, 3, 4].map((n) => incident(n, n))).length, 4);
  assert.equal(storms([1, 2, 3, 4, 5].map((n) => incident(n, n, n === 3 ? "black" : "blind"))).length, 5);
  assert.equal(storms([0, 10, 20, 90, 100].map((s, i) => incident(i, s))).length, 5);
});

test("what lasts counts from its own onset, not from that of a condition that is over", () => {
  const both = { started_at: at(0), conditions: [condition("black", 0, 40), condition("silent", 10, null)] } as Incident;
  assert.equal(sinceOf(both), at(10));
  assert.equal(lastedSec(both, begin + 60_000), 50);
  assert.equal(lastedSec({ ...both, conditions: both.conditions.map((c) => ({ ...c, ended_at: at(40) })) }, begin + 60_000), 40);
  assert.equal(sinceOf({ ...both, conditions: both.conditions.slice(0, 1) }), at(0));
});

test("the trouble ends with its last condition", () => {
  const over = { started_at: at(0), conditions: [condition("black", 0, 40), condition("silent", 10, 30)] } as Incident;
  assert.equal(endOf(over), at(40));
  assert.equal(troubleSec(over, begin + 999_000), 40);
  const lasting = { started_at: at(0), conditions: [condition("black", 0, 40), condition("silent", 10, null)] } as Incident;
  assert.equal(endOf(lasting), null);
  assert.equal(troubleSec(lasting, begin + 60_000), 60);
});
