import assert from "node:assert/strict";
import { test } from "node:test";
import { detectors } from "../../src/detectors";
import { nextSeverity } from "../../src/severity";
import type { Condition, Detector, Incident } from "../../src/types";
import table from "../detectors.json";

detectors.value = table.detectors as unknown as Detector[];

const begin = Date.parse("2026-01-15T12:00:00Z");
const minute = 60_000;
const black = { name: "black", last_started_at: new Date(begin).toISOString(), ended_at: null } as Condition;
const incident = (current: number) => ({ state: "open", severity: 3, severity_now: current }) as Incident;

test("the next severity of what lasts is the first step ahead that is higher than the present one", () => {
  assert.deepEqual(nextSeverity(incident(1), black, begin), { severity: 2, at: begin + 2 * minute });
  assert.deepEqual(nextSeverity(incident(2), black, begin), { severity: 3, at: begin + 10 * minute });
  assert.equal(nextSeverity(incident(3), black, begin), null);
  assert.deepEqual(nextSeverity(incident(0), { ...black, name: "imagined" }, begin), { severity: 1, at: begin + minute }, "by its row");
  assert.equal(nextSeverity(incident(1), { ...black, ended_at: new Date(begin).toISOString() }, begin), null);
});
