import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { open } from "../browser.mjs";
import { channel, channelID, failing, fillChannels } from "../fakechannels.mjs";
import { monitor } from "../fakegateway.mjs";
import { fillNotifications } from "../fakenotifications.mjs";
import { fill, pages, typeWebhook } from "../fakepages.mjs";

// channels opens a page of channels. state has what the gateway keeps and what it was sent.
const channels = (path, run) => {
  let state;
  const prepare = (gateway) => {
    fill(gateway);
    state = fillChannels(gateway);
  };
  return open(prepare, async (page, gateway) => {
    await run(page, state, gateway);
  }, { path });
};
const changes = (state) => state.sent.filter(([what]) => !what.includes("/preview"));

test("a channel that was pasted where a stream belongs is registered as one, and what will be watched is seen before", () =>
  channels("/register", async (page, state) => {
    await page.getByLabel("Address of the stream").fill("@channel1");
    await page.getByRole("status").getByRole("link", { name: "Register a channel" }).click();
    const found = page.getByRole("region", { name: "What the system sees" });
    await found.getByText("UCabcdefghijklmnopqrstuv").waitFor();
    await found.getByRole("region", { name: "Will be watched" }).getByText("Evening show").waitFor();
    await found.getByRole("region", { name: "Waiting" }).getByText("It starts in more than 48 hours.").waitFor();
    await found.getByRole("region", { name: "Skipped" }).getByText("It is for members, and the channel has no login.").waitFor();
    await page.getByText("Can be registered").waitFor();
    await page.getByRole("radio", { name: /Music/ }).check();
    await page.getByText("Change single values").click();
    await page.getByLabel("Login").selectOption("members");
    await typeWebhook(page, "https://example.com/hook");
    await page.getByRole("button", { name: "Watch this channel" }).click();
    await page.waitForURL(`**/channels/${channelID}`);
    const [[what, sent]] = changes(state);
    assert.deepEqual([what, sent.channel, sent.callback_url, sent.config.preset, sent.config.silence_threshold_sec, sent.cookie_jar, sent.config.cookie_jar], ["POST /api/v1/channels", "@channel1", "https://example.com/hook", "music", 60, "members", undefined]);
    assert.ok(!("scheduled_start_time" in sent.config));
  }));

test("a preview says why a channel cannot be read, and why it would be refused", () =>
  channels("/channels/register", async (page, _, gateway) => {
    const answer = { channel_url: "https://www.youtube.com/@channel1", source_id: null, handle: null, title: null, streams: [], failure: "not_found", detail: "HTTP 404", problems: [] };
    gateway.routes.set("POST /api/v1/channels/preview", () => [200, answer]);
    await page.getByLabel("Channel", { exact: true }).fill("@channel1");
    await page.getByText("The platform knows no such channel.").waitFor();
    answer.problems = [{ field: "channel", code: "DUPLICATE_CHANNEL", message: "it is channel 7" }];
    await page.getByRole("button", { name: "Look again" }).click();
    await page.getByText("Channel: This channel is registered already.").waitFor();
    assert.equal(await page.getByText("Can be registered").count(), 0);
  }));

test("the list says of each channel whether it can be read, and how many streams are watched", () =>
  channels("/channels", async (page) => {
    const row = (name) => page.getByRole("row", { name });
    await row("Channel 2").getByText(/^cannot be read, since/).waitFor();
    await row("Channel 2").getByText("The platform refuses to show the page.").waitFor();
    await row("Channel 3").getByText(/^the newest 7 readings failed, since/).waitFor();
    assert.deepEqual((await row("Evening show").getByRole("cell").allTextContents()).slice(3), ["2", "31 waits for room", "1"]);
    assert.equal(await row("Channel 4").count(), 0);
    await page.getByRole("link", { name: "Stopped ones, too" }).click();
    await row("Channel 4").getByText(/^stopped, since/).waitFor();
  }));

test("the channels that are listed are saved as CSV", () =>
  channels("/channels", async (page) => {
    await page.getByRole("row", { name: "Channel 2" }).waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export CSV" }).click()]);
    assert.match(download.suggestedFilename(), /^channels-\d{4}-\d\d-\d\d\.csv$/);
    const [names, ...rows] = (await readFile(await download.path(), "utf8")).trim().split("\r\n");
    assert.match(names, /^\ufeff?channel_id,channel_url,/);
    assert.equal(rows.length, 3);
    assert.match(rows[1], /,https:\/\/www\.youtube\.com\/@channel2,UCabcdefghijklmnopqrstuv,'@channel2,Channel 2,music,.*,refused,/);
  }));

test("the page of a channel leads to its monitors, which lead back, and says since when it cannot be read", () =>
  channels(`/channels/${channelID}`, async (page, state, gateway) => {
    const watched = page.getByRole("region", { name: "Watched", exact: true }).getByRole("listitem");
    await watched.filter({ hasText: "朝の雑談" }).getByText("reserved, registered by a person").waitFor();
    await page.getByText("Its monitor failed: the video is private.").waitFor();
    const refused = page.getByRole("listitem").filter({ hasText: "is reserved for a later start" });
    assert.equal(await refused.getByRole("link", { name: "Monitor" }).getAttribute("href"), `/monitors/${monitor(2).monitor_id}`);
    await page.getByText("It was missing at one look; a second one decides.").waitFor();
    Object.assign(state.all[0], failing(7200));
    await page.getByRole("alert").getByText("What was found before is watched all the same.").waitFor();
    await page.getByRole("heading", { name: /^cannot be read, since/ }).waitFor();
    gateway.monitors.get(monitor(1).monitor_id).channel_id = channelID;
    await watched.filter({ hasText: "Evening show" }).getByRole("link", { name: "Monitor" }).click();
    await page.waitForURL(`**${pages.monitor}`);
    await page.getByRole("link", { name: "its channel", exact: true }).click();
    await page.waitForURL(`**/channels/${channelID}`);
  }));

test("the page of a channel says what happened to it, when, and what was done", () =>
  channels(`/channels/${channelID}`, async (page) => {
    const rows = page.getByRole("region", { name: "Events" }).getByRole("row");
    await rows.nth(4).waitFor();
    const said = await rows.evaluateAll((all) => all.slice(1).map((row) => row.innerText.replace(/\s+/g, " ").replace(/^.*?[\d:]{8} /, "")));
    assert.match(said[0], /^Channel can be read again lasted 2 h (29|30) min, The platform refuses to show the page. a page of consent$/);
    assert.match(said[1], /^Channel cannot be read since .*, The platform refuses/);
    assert.deepEqual(said.slice(2), ["Stream of a channel found Third It waits for room: as many streams are watched as may be.", "Stream of a channel found Evening show registered"]);
    await rows.nth(4).getByRole("link", { name: "Evening show" }).click();
    await page.waitForURL(`**${pages.monitor}`);
  }));

test("a route names events of channels, and an explanation asks about a channel", () =>
  channels("/destinations", async (page, _, gateway) => {
    fillNotifications(gateway);
    await page.reload();
    const asked = [];
    const explain = gateway.routes.get("POST /api/v1/routes/explain");
    gateway.routes.set("POST /api/v1/routes/explain", (body, request) => (asked.push(body), explain(body, request)));
    await page.getByLabel("What happens").selectOption("Channel cannot be read");
    await page.getByText("People get found streams only by a route that names the event").waitFor();
    await page.getByRole("combobox", { name: "Channel", exact: true }).selectOption("Evening show");
    await page.waitForResponse((response) => response.url().endsWith("/explain") && response.request().postData().includes("channel_id"));
    assert.deepEqual(asked.at(-1), { event_type: "channel.unreadable", channel_id: channelID });
  }));

test("a change of how streams are watched sends only what differs", () =>
  channels(`/channels/${channelID}`, async (page, state) => {
    const kept = "Kept in the file of live-ops. The next “stream-monitor apply” undoes what is changed here.";
    await page.getByRole("definition").getByText(kept).waitFor();
    await page.getByRole("button", { name: "Change" }).click();
    await page.getByRole("dialog").getByText(kept).waitFor();
    await page.getByLabel("Black: alert after, s").fill("15");
    await page.locator("summary", { hasText: "Further detectors" }).click();
    await page.getByLabel("Made-up sound").uncheck();
    await page.getByLabel("Login").selectOption("members");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator("dialog[open]").waitFor({ state: "detached" });
    assert.deepEqual(changes(state), [[`PATCH /api/v1/channels/${channelID}`, { config: { blackout_threshold_sec: 15, detectors: { made_up: null } }, cookie_jar: "members" }]]);
  }));

test("a stop asks about streams that are being watched, also of those that only the gateway knows of", () =>
  channels(`/channels/${channelID}`, async (page, state, gateway) => {
    state.all[0].streams = channel(1, { streams: [{ ...state.all[0].streams[1], title: "Reserved" }] }).streams;
    const path = `DELETE /api/v1/channels/${channelID}`;
    const stop = gateway.routes.get(path);
    const asked = [];
    gateway.routes.set(path, (body, request) => {
      asked.push(new URL(request.url, gateway.url).search);
      return asked.at(-1) ? stop(body, request) : [409, { error: { code: "CHANNEL_RUNNING", message: "1 streams of the channel are being watched" } }];
    });
    await page.reload();
    await page.getByText("Reserved", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Stop the channel" }).click();
    const dialog = page.getByRole("dialog", { name: /^Stop .Evening show.\?$/ });
    assert.equal(await dialog.getByRole("radio").count(), 0);
    await dialog.getByRole("button", { name: "Stop the channel" }).click();
    await dialog.getByRole("alert").getByText("Streams of the channel are being watched.").waitFor();
    await dialog.getByRole("button", { name: "Stop the channel" }).click(); // nothing is chosen: the browser refuses it
    await dialog.getByLabel("Watch them until they end").check();
    await dialog.getByRole("button", { name: "Stop the channel" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("heading", { name: /^stopped, since/ }).waitFor();
    assert.deepEqual(asked, ["", "?running=keep"]);
  }));
