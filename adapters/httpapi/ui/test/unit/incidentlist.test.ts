import assert from "node:assert/strict";
import { test } from "node:test";
import { earlierOwners, lastedSec, ownersOf, sinceOf, storms, troubleOfAll, troubleSec, troubleTimes } from "../../src/incidentlist";
import { endOf } from "../../src/incident";
import type { Condition, Incident } from "../../src/types";

const begin = Date.parse("2026-01-15T12:00:00Z");
const at = (seconds: number) => new Date(begin + seconds * 1000).toISOString();
const condition = (name: Condition["name"], from: number, to: number | null): Condition => ({ name, started_at: at(from), last_started_at: at(from), ended_at: to === null ? null : at(to), count: 1, longest_sec: 0, spans: [{ started_at: at(from), ended_at: to === null ? null : at(to) }] });
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
  assert.equal(lastedSec({ ...both, conditions: [condition("black", 0, 40), condition("silent", 10, 40)] }, begin + 60_000), 40);
  assert.equal(sinceOf({ ...both, conditions: both.conditions.slice(0, 1) }), at(0));
});

test("the trouble ends with its last condition", () => {
  const over = { started_at: at(0), conditions: [condition("black", 0, 40), condition("silent", 10, 30)] } as Incident;
  assert.equal(endOf(over), at(40));
  assert.equal(troubleSec(over.conditions, begin + 999_000), 40);
  const lasting = { started_at: at(0), conditions: [condition("black", 0, 40), condition("silent", 10, null)] } as Incident;
  assert.equal(endOf(lasting), null);
  assert.equal(troubleSec(lasting.conditions, begin + 60_000), 60);
});

test("pauses are no trouble, what overlaps counts once, and each stream counts for itself", () => {
  const spans = [[0, 100], [200, 300], [1300, 1465]].map(([from, to]) => ({ started_at: at(from!), ended_at: at(to!) }));
  const flapping = { monitor_id: "a", started_at: at(0), conditions: [{ ...condition("silent", 0, 1465), spans }, condition("black", 50, 150)] } as Incident;
  assert.equal(troubleSec(flapping.conditions, begin), 415);
  assert.equal(troubleTimes(flapping.conditions, begin), 3);
  assert.equal(troubleSec([{ ...condition("silent", 0, null), spans: [...spans, { started_at: at(2000), ended_at: null }] }], begin + 2010_000), 375, "what lasts counts until now");
  const takenOver = { ...flapping, conditions: [condition("black", 120, 160)] };
  assert.equal(troubleOfAll([flapping, takenOver, { ...takenOver, monitor_id: "b" }], begin), 425 + 40);
});

test("who acknowledged before a reopening stays an owner", () => {
  const again = { acknowledged_by: null, acknowledgements: [{ by: "ann", at: at(1), severity: 2 }, { by: "bob", at: at(9), severity: 2 }, { by: "ann", at: at(20), severity: 3 }] } as Incident;
  assert.deepEqual(ownersOf(again), ["ann", "bob"]);
  assert.deepEqual(earlierOwners({ ...again, acknowledged_at: at(20) }).map((a) => a.by), ["ann", "bob"]);
});
