import assert from "node:assert/strict";
import { test } from "node:test";
import { endingBefore, type Match, type Route } from "../../src/notifications";

const route = (name: string, match: Match, more: Partial<Route> = {}) => ({ name, match, windows: [], continue: false, default: false, ...more }) as unknown as Route;

test("a route is never reached behind one that ends the search for all that it matches", () => {
  const cases: [before: Route, match: Match, ends: boolean][] = [
    [route("all", {}), { conditions: ["black"], min_severity: 2 }, true],
    [route("all, as the API writes it", { events: [], conditions: [], min_severity: 0, monitors: [], metadata: {}, labels: {} }), { labels: { team: "a" } }, true],
    [route("goes on", {}, { continue: true }), {}, false],
    [route("at night", {}, { windows: [{ weekdays: [], start: "22:00", end: "06:00", timezone: "Asia/Tokyo" }] }), {}, false],
    [route("the same", { labels: { team: "a" }, conditions: ["black"] }), { labels: { team: "a" }, conditions: ["black"] }, true],
    [route("another label", { labels: { team: "a" } }), { labels: { team: "b" } }, false],
    [route("more conditions", { conditions: ["black", "silent"] }), { conditions: ["black"] }, true],
    [route("fewer conditions", { conditions: ["black"] }), { conditions: ["black", "silent"] }, false],
    [route("one condition", { conditions: ["black"] }), {}, false],
    [route("less severe", { min_severity: 1 }), { min_severity: 2 }, true],
    [route("more severe", { min_severity: 2 }), { min_severity: 1 }, false],
    [route("no hints", {}), { hints: ["quieter"] }, false],
    [route("hints", { hints: ["quieter"] }), {}, false],
    [route("the same hints", { hints: ["quieter", "recurring"] }), { hints: ["quieter"] }, true],
  ];
  for (const [before, match, ends] of cases) assert.equal(endingBefore([before, route("new", match)], 1), ends ? before : undefined, before.name);
  assert.equal(endingBefore([route("all", {}), route("default", {}, { default: true })], 1), undefined); // it serves whoever is on duty, too
});
