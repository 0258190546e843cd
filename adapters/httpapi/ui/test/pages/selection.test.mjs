import assert from "node:assert/strict";
import { test } from "node:test";
import { barriers, looks, open, sideways, visit } from "../browser.mjs";
import { incident, monitor } from "../fakegateway.mjs";
import { fillMonitors } from "../fakemonitors.mjs";
import { fillNotifications } from "../fakenotifications.mjs";

const later = (min) => new Date(Date.now() + min * 60_000).toISOString();
const planned = (n, start, end) => ({ config: { ...monitor(n).config, scheduled_start_time: start, scheduled_end_time: end } });
const bar = (page) => page.getByRole("region", { name: "Selected streams" });
const box = (page, n) => page.getByRole("checkbox", { name: `Select Channel ${n}`, exact: true });
const marked = (page) => page.locator(".select-box :checked").count();
const says = (page, words) => bar(page).getByText(words, { exact: true }).waitFor();
const names = (list) => list.locator("li").allInnerTexts().then((all) => all.map((t) => t.replace(/\s+/g, " ")));

async function select(page, ...numbers) {
  await page.getByRole("button", { name: "Select", exact: true }).click();
  for (const n of numbers) await box(page, n).check();
  if (numbers.length > 0) await says(page, `${numbers.length} selected`);
}

// choose opens an action of the bar.
async function choose(page, action) {
  await bar(page).getByRole("button", { name: action, exact: true }).click();
  return page.getByRole("dialog");
}

test("boxes select streams of every part of the wall: a range with Shift, all that are shown, and what a filter hides is counted", () =>
  open(
    (gateway) => {
      fillMonitors(gateway, 20, (n) => ({ labels: n > 10 ? { team: "b" } : {}, ...(n > 17 && { status: "waiting", ...planned(n, later(n), null) }) }));
      for (const n of [1, 2]) gateway.incidents.set(incident(n).incident_id, incident(n));
    },
    async (page, gateway) => {
      await page.locator(".tile").nth(1).waitFor();
      assert.equal(gateway.requests.some((r) => r.includes("Selection")), false, "nothing of it is loaded before");
      assert.equal(await page.locator(".select-box").count(), 0);
      await select(page, 1, 18, 4);
      await box(page, 8).click({ modifiers: ["Shift"] });
      await says(page, "7 selected");
      await box(page, 6).click({ modifiers: ["Shift"] }); // takes the end of the range out again
      await says(page, "4 selected");
      assert.deepEqual(await Promise.all([3, 4, 5, 6, 8].map((n) => box(page, n).isChecked())), [false, true, true, false, false]);
      await page.getByRole("button", { name: "All 20 shown" }).click();
      await says(page, "20 selected");
      await bar(page).getByRole("button", { name: "None" }).click();
      await says(page, "0 selected");
      assert.ok(await bar(page).getByRole("button", { name: "Stop watching" }).isDisabled());
      await box(page, 1).check();
      await box(page, 12).check();
      await page.locator(".view-bar select").first().selectOption({ label: "b" });
      await says(page, "1 of them not shown now");
      await bar(page).getByRole("button", { name: "All 10 shown" }).click();
      await says(page, "11 selected");
      await page.getByRole("button", { name: "Select", exact: true }).click();
      await bar(page).waitFor({ state: "detached" });
      assert.equal(await page.locator(".select-box").count(), 0);
    },
  ));

test("x selects what j and k have chosen, also after a click on a box; Escape ends it, and the help lists both", () =>
  open(
    (gateway) => {
      fillMonitors(gateway, 60);
      gateway.incidents.set(incident(7).incident_id, incident(7));
    },
    async (page) => {
      await page.locator(".tile").waitFor();
      for (const key of ["j", "x", "j", "j", "x"]) await page.keyboard.press(key);
      await says(page, "2 selected");
      assert.deepEqual([await box(page, 7).isChecked(), await box(page, 1).isChecked(), await box(page, 2).isChecked()], [true, false, true]);
      await box(page, 4).click();
      for (const key of ["x", "j", "x"]) await page.keyboard.press(key);
      await page.waitForFunction(() => document.querySelectorAll(".select-box :checked").length === 3);
      assert.deepEqual([await box(page, 7).isChecked(), await box(page, 3).isChecked(), await box(page, 4).isChecked()], [true, true, true]);
      for (let i = 0; i < 50; i++) await page.keyboard.press("j");
      await page.waitForFunction(() => document.querySelector(".screen.selected")?.getBoundingClientRect().bottom <= document.querySelector(".selected-bar").getBoundingClientRect().top);
      await page.keyboard.press("?");
      const help = page.getByRole("dialog", { name: "Keyboard" });
      for (const [what, key] of [["select or no longer", "x"], ["end the selection", "Escape"]]) assert.equal(await help.locator("div", { has: page.getByText(what, { exact: true }) }).locator("kbd").last().textContent(), key);
      await page.keyboard.press("Escape");
      await says(page, "3 selected");
      await page.keyboard.press("Escape");
      await bar(page).waitFor({ state: "detached" });
      assert.equal(await page.evaluate(() => document.activeElement.textContent), "Select");
    },
  ));

test("planned times are moved relative to each one's own, exceptions are named, and what was refused is tried again alone", () =>
  open(
    (gateway) => {
      const start = "2030-01-01T20:00:00Z";
      gateway.log = fillMonitors(gateway, 6, (n) => {
        if (n === 1) return { status: "waiting", ...planned(n, start, "2030-01-01T22:00:00+09:00") };
        if (n === 2) return { status: "waiting", ...planned(n, "2030-01-01T20:30:00Z", null) };
        if (n === 3) return planned(n, later(-60), start);
        if (n === 4) return planned(n, later(-60), null);
        return n === 5 ? {} : { status: "completed", ended_at: later(-1), ...planned(n, start, null) };
      });
    },
    async (page, gateway) => {
      const { log } = gateway;
      await page.goto(`${gateway.url}/?view=rows`);
      await page.locator(".row").first().waitFor();
      await select(page);
      await bar(page).getByRole("button", { name: "All 5 shown" }).click();
      await page.goto(`${gateway.url}/?show=off`); // the page is loaded anew: the selection is that of a page
      await select(page, 6);
      await visit(page, "/");
      await bar(page).getByRole("button", { name: "All 5 shown" }).click();
      await says(page, "6 selected");
      const id = monitor(2).monitor_id;
      const usual = gateway.routes.get(`PATCH /api/v1/monitors/${id}`);
      gateway.routes.set(`PATCH /api/v1/monitors/${id}`, (sent) => (log.sent.push(["PATCH", 2, sent]), [400, { error: { code: "INVALID_CONFIG", message: "config.scheduled_start_time is refused" } }]));
      const dialog = await choose(page, "Move");
      await dialog.getByLabel("By, min").fill("90");
      await dialog.getByLabel("Direction").selectOption("earlier");
      await dialog.getByText("3 streams: planned start and end move, 1 h 30 min earlier.").waitFor();
      await dialog.getByText("1 of them has begun: only the planned end moves.").waitFor();
      assert.deepEqual(await names(dialog.locator(".streams").last()), ["004 Channel 4 has begun, and has no planned end", "005 Channel 5 has no planned time", "006 Channel 6 has ended"]);
      await dialog.getByRole("button", { name: "Move 3 streams" }).click();
      const run = page.getByRole("region", { name: "Move" });
      await run.getByText("2 of 3 moved, 1 refused").waitFor();
      assert.deepEqual(await names(run.locator(".streams").first()), ["002 Channel 2 A value is not accepted. config.scheduled_start_time is refused"]);
      const second = { config: { scheduled_start_time: "2030-01-01T19:00:00.000Z" } };
      assert.deepEqual(log.sent.sort(([, a], [, b]) => a - b), [
        ["PATCH", 1, { config: { scheduled_start_time: "2030-01-01T18:30:00.000Z", scheduled_end_time: "2030-01-01T11:30:00.000Z" } }],
        ["PATCH", 2, second],
        ["PATCH", 3, { config: { scheduled_end_time: "2030-01-01T18:30:00.000Z" } }],
      ]);
      gateway.routes.set(`PATCH /api/v1/monitors/${id}`, usual);
      await run.getByRole("button", { name: "Try 1 again" }).click();
      await run.getByText("3 of 3 moved").first().waitFor();
      assert.deepEqual(log.sent.slice(3), [["PATCH", 2, second]], "nothing is moved twice");
      await run.getByText("Left alone: 3").click();
      await run.getByText("has no planned time").waitFor();
      await run.getByRole("button", { name: "Close" }).click();
      await says(page, "6 selected");
    },
    { path: null },
  ));

test("only thresholds that were typed are sent, and detectors are switched on and off; labels are set and removed", () =>
  open(
    (gateway) => (gateway.log = fillMonitors(gateway, 3, (n) => ({ labels: n === 3 ? {} : { team: "a" } }))),
    async (page, gateway) => {
      const { log } = gateway;
      const done = async (words) => {
        await page.getByText(words).first().waitFor();
        await page.getByRole("button", { name: "Close" }).click();
        return log.sent.splice(0).sort(([, a], [, b]) => a - b);
      };
      await page.locator(".screen").first().waitFor();
      await select(page, 1, 3);
      let dialog = await choose(page, "Thresholds");
      await dialog.getByRole("button", { name: "Change 2 streams" }).click();
      await dialog.getByRole("alert").getByText("Nothing was changed").waitFor();
      await dialog.getByLabel("Black: alert after, s").fill("15");
      await dialog.getByText("Switch further detectors on").click();
      await dialog.getByLabel("Made-up sound").first().check();
      await dialog.getByLabel("Made up is over, dB").fill("-20");
      assert.equal(await dialog.getByRole("group", { name: "Switch off" }).count(), 0, "what is switched on is not switched off");
      await dialog.getByRole("button", { name: "Change 2 streams" }).click();
      const on = { config: { blackout_threshold_sec: 15, detectors: { made_up: { threshold_sec: 40, above_db: -20 } } } };
      assert.deepEqual(await done("2 of 2 changed"), [["PATCH", 1, on], ["PATCH", 3, on]]);
      dialog = await choose(page, "Thresholds");
      await dialog.getByRole("group", { name: "Switch off" }).getByLabel("Made-up sound").check();
      await dialog.getByRole("button", { name: "Change 2 streams" }).click();
      assert.deepEqual((await done("2 of 2 changed"))[0], ["PATCH", 1, { config: { detectors: { made_up: null } } }]);

      dialog = await choose(page, "Labels");
      await dialog.getByLabel("Name").fill("team");
      await dialog.getByLabel("Value").fill("a");
      assert.deepEqual(await names(dialog.locator(".streams").last()), ["001 Channel 1 is so already"]);
      await dialog.getByRole("button", { name: "Label 1 stream", exact: true }).click();
      assert.deepEqual(await done("1 of 1 labelled"), [["PATCH", 3, { labels: { team: "a" } }]]);
      dialog = await choose(page, "Labels");
      await dialog.getByLabel("What").selectOption("remove");
      await dialog.getByRole("button", { name: "Label 2 streams" }).click();
      assert.deepEqual(await done("2 of 2 labelled"), [["PATCH", 1, { labels: { team: null } }], ["PATCH", 3, { labels: { team: null } }]]);
    },
  ));

test("selected streams are paused, resumed, silenced by one silence, and stopped", () =>
  open(
    (gateway) => {
      gateway.log = fillMonitors(gateway, 4);
      gateway.state = fillNotifications(gateway);
    },
    async (page, gateway) => {
      const { log, state } = gateway;
      const ended = async (words) => {
        await page.getByText(words).first().waitFor();
        await page.getByRole("button", { name: "Close" }).click();
      };
      await page.locator(".screen").first().waitFor();
      await select(page, 1, 2);
      let dialog = await choose(page, "Resume");
      await dialog.getByText("Nothing of this can be done with the selected streams.").waitFor();
      await page.keyboard.press("Escape");
      dialog = await choose(page, "Pause");
      await dialog.getByLabel("How long").selectOption("15 min");
      await dialog.getByRole("button", { name: "Pause 2 streams" }).click();
      await ended("2 of 2 paused");
      const [, , { paused_until: until }] = log.sent[0];
      assert.ok(Math.abs(Date.parse(until) - Date.now() - 900_000) < 60_000, until);
      dialog = await choose(page, "Resume");
      await dialog.getByRole("button", { name: "Resume 2 streams" }).click();
      await ended("2 of 2 resumed");
      assert.deepEqual(log.sent.slice(2).map(([, , change]) => change), [{ paused_until: null }, { paused_until: null }]);
      dialog = await choose(page, "Silence");
      await dialog.getByLabel("By", { exact: true }).fill("Ann");
      assert.match(await dialog.getByLabel("Only this stream").locator("option:checked").textContent(), /^2 streams: Channel 1, Channel 2$/);
      await dialog.getByRole("button", { name: "Save" }).click();
      await ended("2 of 2 silenced");
      assert.deepEqual(state.sent.map(([what, { match }]) => [what, match.monitors]), [["POST /api/v1/silences", [1, 2].map((n) => monitor(n).monitor_id)]]);
      log.sent.length = 0;
      dialog = await choose(page, "Stop watching");
      await dialog.getByRole("button", { name: "Cancel" }).click();
      assert.deepEqual(log.sent, []);
      dialog = await choose(page, "Stop watching");
      await dialog.getByText("Which").click();
      assert.deepEqual(await names(dialog.locator(".streams")), ["001 Channel 1", "002 Channel 2"]);
      await dialog.getByRole("button", { name: "Stop watching 2 streams" }).click();
      await ended("2 of 2 stopped");
      assert.deepEqual(log.sent.sort(), [["DELETE", 1], ["DELETE", 2]]);
    },
  ));

test("200 streams are changed by at most 5 requests at once; another page shows how it goes, and leaving the dashboard midway asks", () =>
  open(
    (gateway) => {
      gateway.log = fillMonitors(gateway, 200);
      gateway.holding = [];
      const answer = gateway.api.bind(gateway);
      gateway.api = (request, ...rest) => (request.method === "PATCH" && gateway.holding ? gateway.holding.push(() => answer(request, ...rest)) : answer(request, ...rest));
    },
    async (page, gateway) => {
      await page.locator(".screen").first().waitFor();
      await select(page);
      await page.getByRole("button", { name: "All 200 shown" }).click();
      const dialog = await choose(page, "Labels");
      await dialog.getByLabel("Name").fill("night");
      await dialog.getByLabel("Value").fill("yes");
      await dialog.getByRole("button", { name: "Label 200 streams" }).click();
      await page.getByText("0 of 200 labelled").waitFor();
      assert.equal(await page.evaluate(() => document.activeElement.id), "run-title");
      await page.waitForTimeout(100); // would others be sent?
      assert.equal(gateway.holding.length, 5);
      await page.keyboard.press("g");
      await page.keyboard.press("i");
      await page.waitForURL("**/incidents");
      const asked = page.waitForEvent("dialog");
      await page.evaluate(() => void setTimeout(() => location.reload()));
      const question = await asked;
      assert.equal(question.type(), "beforeunload");
      await question.dismiss();
      gateway.holding.splice(0).forEach((go) => go());
      await page.getByText("5 of 200 labelled").waitFor();
      await page.getByRole("button", { name: "Send no more" }).click();
      gateway.holding.splice(0).forEach((go) => go());
      await page.getByText("10 of 200 labelled").first().waitFor();
      assert.match(await page.locator(".outcomes .streams li").first().innerText(), /not sent/);
      gateway.holding = null;
      await page.getByRole("button", { name: "Try 190 again" }).click();
      await page.getByText("200 of 200 labelled").first().waitFor();
      assert.equal(gateway.log.sent.length, 200);
      await page.getByRole("button", { name: "Close" }).click();
      assert.equal(await page.locator(".selected-bar").count(), 0);
    },
  ));

test("a key that may only view selects nothing, and is told why", () =>
  open(
    (gateway) => {
      fillMonitors(gateway, 3);
      gateway.role = "view";
    },
    async (page, gateway) => {
      const reason = "The key “ann” may not do this: it takes one with the role operate or more.";
      await page.locator(`fieldset[title="${reason}"] .btn`, { hasText: "Select" }).waitFor();
      assert.ok(await page.getByRole("button", { name: "Select", exact: true }).isDisabled());
      await page.keyboard.press("j");
      await page.keyboard.press("x");
      await page.getByRole("alert").getByText(reason).waitFor();
      assert.equal(await marked(page), 0);
      assert.equal(gateway.requests.some((r) => r.includes("Selection")), false);
      await page.keyboard.press("?");
      const help = page.getByRole("dialog");
      await help.getByText("pin or unpin").waitFor();
      assert.equal(await help.getByText("select or no longer").count(), 0);
    },
  ));

for (const look of looks)
  test(`selecting has no barrier and scrolls nothing sideways: ${look.colorScheme}, ${look.locale}`, () =>
    open(
      (gateway) => {
        fillNotifications(gateway);
        fillMonitors(gateway, 30, (n) => ({ labels: { team: "a", show: "x".repeat(100) }, metadata: { channel_name: n % 3 ? `Channel ${n}` : "🎈".repeat(200) }, ...(n > 20 && { status: "waiting", ...planned(n, later(n), null) }) }));
        gateway.routes.set(`PATCH /api/v1/monitors/${monitor(21).monitor_id}`, () => [400, { error: { code: "INVALID_CONFIG", message: "x".repeat(300) } }]);
        gateway.incidents.set(incident(1).incident_id, incident(1));
      },
      async (page, gateway) => {
        const check = async (what, part) => {
          assert.deepEqual(await barriers(page, part), [], what);
          assert.ok((await sideways(page)) <= 0, `${what} scrolls sideways`);
        };
        for (const view of ["/?view=rows&group=team", "/"]) {
          await page.goto(gateway.url + view);
          await page.locator(".tile").first().waitFor();
          await page.locator(".select button").click();
          await page.locator(".select-box input").first().check();
          await page.locator(".rail .select-box input").first().check();
          await check(view);
        }
        await page.locator(".selected-bar > .btn").first().click();
        const actions = page.locator(".selected-actions button");
        for (let n = 0; n < (await actions.count()); n++) {
          await actions.nth(n).click();
          await page.locator("dialog[open]").waitFor();
          await check(`action ${n}`, "dialog[open]");
          await page.keyboard.press("Escape");
          await page.locator("dialog[open]").waitFor({ state: "detached" });
        }
        await actions.nth(2).click();
        await page.locator("dialog[open] button[type=submit]").click();
        await page.locator(".outcomes").waitFor();
        await page.locator(".run button.primary").waitFor();
        for (const more of await page.locator(".outcomes summary").all()) await more.click();
        await check("the results");
      },
      look,
    ));
