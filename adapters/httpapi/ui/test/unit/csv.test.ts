import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf } from "../../src/csv";
import type { Incident } from "../../src/types";

const now = Date.parse("2026-01-15T12:05:00Z");
const incident = {
  incident_id: "i", state: "resolved", severity: 2, started_at: "2026-01-15T21:00:00+09:00", resolved_at: "2026-01-15T12:03:00Z", reopened: 0, severity_now: null, acknowledged_by: null, acknowledged_at: null, acknowledgements: [{ by: "=cmd|' /C calc'!A0", at: "2026-01-15T12:01:00Z", severity: 2 }], false_positive: null, monitor_id: "m", stream_url: "u",
  conditions: [{ name: "black", started_at: "2026-01-15T12:00:00Z", ended_at: "2026-01-15T12:01:30Z", spans: [{ started_at: "2026-01-15T12:00:00Z", ended_at: "2026-01-15T12:00:30Z" }, { started_at: "2026-01-15T12:01:00Z", ended_at: "2026-01-15T12:01:30Z" }] }, { name: "silent", started_at: "2026-01-15T12:01:10Z", ended_at: "2026-01-15T12:02:00Z", spans: [{ started_at: "2026-01-15T12:01:10Z", ended_at: "2026-01-15T12:02:00Z" }] }],
} as Incident;

test("an incident is one row, with times in UTC", () => {
  const [names, row, end] = csvOf([incident], () => ({ stream_url: "u" }), now).split("\r\n");
  assert.match(names!, /^\ufeffincident_id,state,severity,severity_now,conditions,started_at,ended_at,duration_sec,/);
  assert.match(row!, /^i,resolved,2,,black silent,2026-01-15T12:00:00.000Z,2026-01-15T12:02:00.000Z,90,2026-01-15T12:03:00.000Z,0,/);
  assert.equal(row!.split(",").length, names!.split(",").length);
  assert.equal(end, "");
});

test("the number of the stream is the one of the wall, and its channel is named", () => {
  const [names, row] = csvOf([incident], () => ({ stream_url: "u", number: 7, channel_id: "c" }), now).split("\r\n").map((line) => line.split(","));
  assert.deepEqual([row![names!.indexOf("number")], row![names!.indexOf("channel_id")]], ["7", "c"]);
});

test("each label has a column, named as in a file of registrations", () => {
  const labelled = { ...incident, labels: { team: "a", show: "=朝" } };
  const [names, first, second] = csvOf([labelled, { ...incident, labels: { site: "b" } }], () => ({ stream_url: "u" }), now).split("\r\n");
  assert.match(names!, /,labels\.show,labels\.site,labels\.team$/);
  assert.match(first!, /,'=朝,,a$/);
  assert.match(second!, /,,b,$/);
});

test("a stranger's text is quoted, and no formula", () => {
  const csv = csvOf([incident], () => ({ stream_url: "u", metadata: { channel_name: '-1+1, "two"\nlines', stream_title: "@SUM(A1)" } }), now);
  assert.match(csv, /,"'-1\+1, ""two""\nlines",'@SUM\(A1\)\r\n$/);
  assert.match(csv, /,'=cmd\|' \/C calc'!A0,/);
});

test("one that lasts has no end, and lasts until the export", () => {
  const open = { ...incident, resolved_at: null, conditions: [{ ...incident.conditions[0]!, ended_at: null, spans: [{ started_at: "2026-01-15T12:00:00Z", ended_at: null }] }] };
  assert.match(csvOf([open], () => ({ stream_url: "u" }), now), /,2026-01-15T12:00:00.000Z,,300,,0,/);
});
