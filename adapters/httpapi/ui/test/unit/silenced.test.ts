import assert from "node:assert/strict";
import { test } from "node:test";
import { heldBy } from "../../src/silenced";

const early = { by: "early", next_at: "2026-10-25T02:30:00+02:00", incidents: ["i", "j"] };
const late = { by: "late", next_at: "2026-10-25T02:10:00+01:00", incidents: ["i"] }; // the clock was set back
const unknown = { by: "unknown", next_at: null, incidents: ["i"] };

test("of several silences over an incident the one that ends last holds it back", () => {
  for (const [silences, by] of [
    [[early, late], "late"],
    [[late, early], "late"],
    [[unknown, late], "unknown"],
    [[late, unknown], "unknown"],
  ] as const) {
    const held = heldBy([...silences, { by: "nobody", next_at: null }]);
    assert.equal(held.get("i")?.by, by);
    assert.deepEqual([...held.keys()].sort(), silences.some((s) => s === early) ? ["i", "j"] : ["i"]);
  }
});
