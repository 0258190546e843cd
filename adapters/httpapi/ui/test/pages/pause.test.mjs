import assert from "node:assert/strict";
import { test } from "node:test";
import { barriers, open } from "../browser.mjs";
import { monitor } from "../fakegateway.mjs";
import { fill, id } from "../fakepages.mjs";

const minuteMs = 60_000;

// paused lets the gateway take pauses of the first stream, and returns what is sent.
function paused(gateway, answer = (sent) => [200, Object.assign(gateway.monitors.get(id), sent)]) {
  const sent = [];
  gateway.routes.set(`PATCH /api/v1/monitors/${id}`, (change) => {
    sent.push(change);
    const [status, body] = answer(change);
    if (status === 200) gateway.updateMonitor(body);
    return [status, body];
  });
  return sent;
}

test("a stream is paused for a while or until a time, the end is moved, and it is resumed", () =>
  open(fill, async (page, gateway) => {
    const sent = paused(gateway);
    await page.goto(`${gateway.url}/monitors/${id}`);
    await page.getByRole("button", { name: "Pause…" }).click();
    const dialog = page.getByRole("dialog");
    assert.deepEqual(await barriers(page), []);
    await dialog.getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByRole("button", { name: "Resume now" }).waitFor();
    assert.ok(Math.abs(Date.parse(sent[0].paused_until) - Date.now() - 60 * minuteMs) < minuteMs, sent[0].paused_until);
    await page.locator("h1").getByText(/^paused until .*\d\d:\d\d$/).waitFor();
    await page.getByRole("button", { name: "Pause until…" }).click();
    await dialog.getByLabel("How long").selectOption("4 h");
    await dialog.getByRole("button", { name: "Pause", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    assert.ok(Math.abs(Date.parse(sent[1].paused_until) - Date.now() - 240 * minuteMs) < minuteMs, sent[1].paused_until);
    await page.getByRole("button", { name: "Resume now" }).click();
    await page.getByRole("button", { name: "Pause…" }).click();
    assert.deepEqual(sent[2], { paused_until: null });
    await dialog.getByLabel("How long").selectOption("until a time");
    const until = new Date(Math.ceil(Date.now() / minuteMs) * minuteMs + 50 * minuteMs);
    await dialog.getByLabel("Until").fill(await page.evaluate((at) => new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16), until.getTime()));
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Resume now" }).waitFor();
    assert.equal(Date.parse(sent[3].paused_until), until.getTime());
  }, { path: null }));

test("a pause that is refused stays open and says why", () =>
  open(fill, async (page, gateway) => {
    paused(gateway, () => [400, { error: { code: "INVALID_CONFIG", message: "paused_until is too far ahead" } }]);
    await page.goto(`${gateway.url}/monitors/${id}`);
    await page.getByRole("button", { name: "Pause…" }).click();
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByRole("dialog").getByRole("alert").getByText("paused_until is too far ahead").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Pause…" }).waitFor();
  }, { path: null }));

test("the wall says of a paused stream until when, and nothing else of it", () =>
  open((gateway) => {
    fill(gateway);
    gateway.incidents.clear();
  }, async (page, gateway) => {
    await page.goto(gateway.url);
    const counts = page.locator(".counts");
    await counts.getByRole("link", { name: /1\s*paused/ }).waitFor();
    await counts.getByRole("link", { name: /2\s*no trouble/ }).waitFor();
    await page.locator(`.screen[href="/monitors/${monitor(3).monitor_id}"]`).getByText(/^paused until/).first().waitFor();
    await counts.getByRole("link", { name: /1\s*paused/ }).click();
    await page.waitForFunction(() => document.querySelectorAll(".screen").length === 1);
    await page.goto(`${gateway.url}/?view=rows`);
    await page.locator(`.row[href="/monitors/${monitor(3).monitor_id}"]`).getByText(/^paused until/).waitFor();
  },
    { path: null }));
