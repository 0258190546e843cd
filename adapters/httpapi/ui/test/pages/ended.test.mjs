import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "../browser.mjs";
import { fillChannels } from "../fakechannels.mjs";
import { fill } from "../fakepages.mjs";

const stream = (n, status, labels) => ({
  monitor_id: `mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c${n}`, number: n, stream_url: `https://www.youtube.com/watch?v=AAAAAAAAA${n}`, status, created_at: "2026-11-20T10:00:00Z",
  ended_at: "2026-11-20T13:05:00Z", metadata: { channel_name: `Channel ${n}`, stream_title: `Show ${n}` }, labels,
});

const ended = (path, run) => {
  const asked = [];
  const prepare = (gateway) => {
    fill(gateway);
    fillChannels(gateway);
    gateway.routes.set("GET /api/v1/monitors", (_, request) => {
      const url = new URL(request.url, "http://gateway");
      asked.push(Object.fromEntries(url.searchParams));
      const monitors = url.searchParams.get("after") ? [stream(12, "stopped", {})] : [stream(10, "error", { team: "a" }), stream(11, "completed", {})];
      return [200, { monitors: url.searchParams.get("q") ? [] : monitors, pagination: { total: 3, limit: 100, offset: 0 }, next: url.searchParams.get("after") ? null : "bTEuMTU" }];
    });
  };
  return open(prepare, async (page, gateway) => {
    await page.goto(gateway.url + path);
    await run(page, asked);
  });
};

test("ended streams are found by day, outcome, channel, label and name, and the address keeps it", () =>
  ended("/ended?label=team:a", async (page, asked) => {
    await page.getByRole("row", { name: /Channel 10.*given up/ }).waitFor();
    await page.getByLabel("Day").fill("2026-11-20");
    await page.getByLabel("Outcome").selectOption("error");
    await page.getByRole("row", { name: /Channel 11/ }).waitFor();
    await page.getByRole("button", { name: "Show earlier ones" }).click();
    await page.getByRole("row", { name: /Channel 12.*stopped/ }).waitFor();
    const last = asked.at(-1);
    assert.deepEqual([last.ended, last.status, last.label, last.after], ["true", "error", "team:a", "bTEuMTU"]);
    assert.equal(Date.parse(last.ended_to) - Date.parse(last.ended_from), 86_400_000);
    await page.getByLabel("Name or address").fill("nothing");
    await page.getByRole("button", { name: "Find" }).click();
    await page.getByText("No ended stream fits.").waitFor();
    await page.getByRole("link", { name: "team: a, show without this label" }).click();
    await page.waitForURL("**/ended?*q=nothing*");
    assert.equal(new URL(page.url()).searchParams.get("label"), null);
  }));
