import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "../browser.mjs";
import { channelID } from "../fakechannels.mjs";
import { fill } from "../fakepages.mjs";

const stream = (n, status, more) => ({
  monitor_id: `mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c${n}`, number: n, stream_url: `https://www.youtube.com/watch?v=AAAAAAAAA${n}`, status, created_at: "2026-10-20T10:00:00Z",
  ended_at: "2026-10-25T13:05:00Z", metadata: { channel_name: `Channel ${n}`, stream_title: `Show ${n}` }, labels: {}, ...more,
});
const first = [stream(10, "error", { reason: "worker_lost", labels: { team: "a" } }), stream(11, "completed", { labels: { team: "b" }, ended_at: "2026-10-24T22:30:00Z" })]; // the next day in Berlin
const earlier = [stream(12, "stopped", { ended_at: "2026-10-24T21:59:59Z" })];

// ended opens a page of a gateway that has three, and notes what it is asked for.
const ended = (path, run) => {
  const asked = [];
  const prepare = (gateway) => {
    fill(gateway);
    gateway.routes.set("GET /api/v1/monitors", (_, request) => {
      const q = new URL(request.url, "http://gateway").searchParams;
      asked.push(Object.fromEntries(q));
      const next = q.get("after") ? null : "bTEuMTU";
      return [200, { monitors: q.get("q") ? [] : next ? first : earlier, pagination: { total: 3, limit: 100, offset: 0 }, next: q.get("q") ? null : next }];
    });
  };
  return open(prepare, async (page, gateway) => (await page.goto(gateway.url + path), await run(page, asked)), { timezoneId: "Europe/Berlin" });
};

test("ended streams are found by day, outcome, channel, label and name, and the address keeps it", () =>
  ended("/ended", async (page, asked) => {
    await page.getByRole("row", { name: /Channel 10.*given up/ }).waitFor();
    await page.getByLabel("Label").selectOption({ label: "a" });
    await page.getByLabel("Day").fill("2026-10-25");
    await page.getByLabel("Outcome").selectOption("error");
    await page.getByLabel("Channel").selectOption(channelID);
    await page.waitForURL(`**/ended?label=team%3Aa&day=2026-10-25&outcome=error&channel=${channelID}`);
    await page.getByRole("button", { name: "Show earlier ones" }).click();
    await page.getByRole("row", { name: /Channel 12.*stopped/ }).waitFor();
    const last = asked.at(-1);
    assert.deepEqual([last.ended, last.status, last.channel_id, last.label, last.after], ["true", "error", channelID, "team:a", "bTEuMTU"]);
    assert.deepEqual([last.ended_from, last.ended_to], ["2026-10-24T22:00:00.000Z", "2026-10-25T23:00:00.000Z"], "the day on which summer time ends has 25 hours");
    await page.getByLabel("Name or address").fill("nothing");
    await page.getByRole("button", { name: "Find" }).click();
    await page.getByText("No ended stream fits.").waitFor();
    await page.getByRole("link", { name: "Without the filter team: a" }).click();
    await page.getByRole("link", { name: "Without the filter team: a" }).waitFor({ state: "detached" });
    assert.deepEqual([asked.at(-1).q, new URL(page.url()).searchParams.get("q")], ["nothing", "nothing"]);
  }));

test("ended streams stand by the day of their end, or by a label", () =>
  ended("/ended", async (page) => {
    await page.getByRole("button", { name: "Show earlier ones" }).click();
    await page.getByRole("row", { name: /Channel 12/ }).waitFor();
    assert.deepEqual(await page.locator("h2.day").allTextContents(), ["Sunday 25 October 2", "Saturday 24 October 1"]);
    await page.getByLabel("Group by").selectOption("team");
    await page.getByRole("heading", { name: "without team" }).waitFor();
    assert.deepEqual(await page.locator("h2.day").allTextContents(), ["a 1", "b 1", "without team 1"]);
  }));
