import assert from "node:assert/strict";
import { test } from "node:test";
import { Alarm, isQuiet, soundDefaults, type Last, type SoundSettings } from "../../src/alarm";
import type { Incident } from "../../src/types";

const incident = (id: string, severity: number, more: Partial<Incident> = {}): Incident =>
  ({ incident_id: id, reopened: 0, state: "open", severity, severity_now: severity, acknowledged_at: null, acknowledged_severity: null, conditions: [{ name: "black", started_at: "2026-01-15T12:00:00Z", ended_at: null }], ...more }) as Incident;
const taken = { acknowledged_at: "2026-01-15T12:01:00Z", acknowledged_severity: 3 };
const settings = (more: Partial<SoundSettings> = {}): SoundSettings => ({ ...soundDefaults, ...more });

test("quiet hours begin with their first minute and end before their last, also over midnight", () => {
  const table: [from: string, to: string, at: string, quiet: boolean][] = [
    ["22:00", "07:00", "21:59", false],
    ["22:00", "07:00", "22:00", true],
    ["22:00", "07:00", "00:00", true],
    ["22:00", "07:00", "06:59", true],
    ["22:00", "07:00", "07:00", false],
    ["01:00", "05:30", "00:59", false],
    ["01:00", "05:30", "01:00", true],
    ["01:00", "05:30", "05:30", false],
    ["08:00", "08:00", "08:00", false],
  ];
  for (const [from, to, at, quiet] of table) {
    const [hours, minutes] = at.split(":").map(Number);
    assert.equal(isQuiet({ on: true, from, to, least: 3 }, new Date(2026, 0, 15, hours, minutes)), quiet, `${at} in ${from}–${to}`);
    assert.equal(isQuiet({ on: false, from, to, least: 3 }, new Date(2026, 0, 15, hours, minutes)), false);
  }
});

// play gives each step its incidents, at seconds from noon, and returns what was heard: severity and ids.
function play(steps: [second: number, incidents: Incident[], more?: { lostSince?: number; held?: string }][], s = settings()): string[] {
  const alarm = new Alarm();
  const noon = new Date(2026, 0, 15, 12).getTime();
  let last: Last = { at: 0, severity: 0 };
  const heard: string[] = [];
  for (const [second, incidents, more = {}] of steps) {
    const at = noon + second * 1000;
    const next = alarm.next({ incidents, isHeldBack: (i) => i.incident_id === more.held, lostSince: more.lostSince === undefined ? 0 : noon + more.lostSince * 1000 }, s, at, last);
    if (!next) continue;
    last = { at, severity: next.severity };
    heard.push(`${second}: ${next.lost ? "lost" : `${next.severity} ${next.incidents.map((i) => i.incident_id).join()}`}`);
  }
  return heard;
}

test("an incident sounds until somebody has it, and again once it gets worse", () => {
  const [a, b] = [incident("a", 1), incident("b", 3)];
  assert.deepEqual(play([[0, []], [5, [a]], [6, [a]], [34, [a]], [35, [a]], [64, [a]], [65, [{ ...a, ...taken }]], [100, [{ ...a, ...taken }]]]), ["5: 1 a", "35: 1 a"]);
  assert.deepEqual(play([[0, [a]], [1, [a, b]], [2, [a, b]], [32, [a, b]]]), ["0: 1 a", "1: 3 b", "32: 3 b,a"], "what is worse does not wait");
  assert.deepEqual(play([[0, [a]], [1, [a, incident("c", 1)]], [30, [a, incident("c", 1)]]]), ["0: 1 a", "30: 1 a,c"], "what begins together is one sound");
  assert.deepEqual(play([[0, [a]], [10, [incident("a", 2)]], [20, [{ ...incident("a", 2), ...taken, acknowledged_severity: 2 }]], [30, [{ ...incident("a", 3), ...taken, acknowledged_severity: 2 }]]]), ["0: 1 a", "10: 2 a", "30: 3 a"]);
});

test("a condition that comes and goes within an incident is not heard as new", () => {
  const a = incident("a", 1);
  const between = { ...a, severity_now: null, conditions: a.conditions.map((c) => ({ ...c, ended_at: "2026-01-15T12:00:30Z" })) };
  assert.deepEqual(play([[0, [a]], [5, [between]], [10, [a]], [31, [between]], [40, [a]]]), ["0: 1 a", "40: 1 a"]);
});

test("once means once, and a page that opens with trouble says nothing then", () => {
  const a = incident("a", 1);
  assert.deepEqual(play([[0, [a]], [60, [a]], [61, [a, incident("b", 0)]], [200, [a]]], settings({ repeatSec: 0 })), ["61: 0 b"]);
});

test("what is below the least severity, or held back by a silence, is not heard until that ends", () => {
  const [low, high] = [incident("low", 0), incident("high", 2)];
  assert.deepEqual(play([[0, [low, high]], [30, [low, high]]], settings({ least: 2 })), ["0: 2 high", "30: 2 high"]);
  assert.deepEqual(play([[0, [low], { held: "low" }], [40, [low], { held: "low" }], [50, [low]]]), ["50: 0 low"]);
  const quiet = { on: true, from: "12:00", to: "12:01", least: 3 };
  assert.deepEqual(play([[0, [high]], [30, [high, incident("worst", 3)]], [59, [high]], [60, [high]]], settings({ quiet })), ["30: 3 worst", "60: 2 high"]);
});

test("a feed that is lost for half a minute is heard, in place of what it said before", () => {
  const a = incident("a", 1);
  assert.deepEqual(play([[0, [a]], [20, [a], { lostSince: 10 }], [39, [a], { lostSince: 10 }], [40, [a], { lostSince: 10 }], [69, [a], { lostSince: 10 }], [70, [a], { lostSince: 10 }], [100, [a]]]), ["0: 1 a", "40: lost", "70: lost", "100: 1 a"]);
  assert.deepEqual(play([[0, []], [60, [], { lostSince: 1 }]], settings({ least: 3 })), []);
});
