import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "../browser.mjs";
import { incident, monitor } from "../fakegateway.mjs";

const fill = (count, ...incidents) => (gateway) => {
  for (let n = 1; n <= count; n++) gateway.monitors.set(monitor(n).monitor_id, monitor(n));
  for (const i of incidents) gateway.incidents.set(i.incident_id, i);
  gateway.version = 1;
};
const began = (n) => new Date(Date.now() - n * 60_000).toISOString();
const black = (n, more = {}) => incident(n, { conditions: incident(n).conditions.map((c) => ({ ...c, last_started_at: began(n) })), ...more });
const taken = { acknowledged_by: "Ann", acknowledged_at: began(0), acknowledged_severity: 3 };
const screen = { viewport: { width: 1920, height: 1080 } };
const names = (page) => page.locator(".room-tile .room-name").evaluateAll((all) => all.map((e) => e.textContent));
const room = async (page, gateway, query = "") => {
  await page.goto(`${gateway.url}/?view=room${query}`);
  await page.locator("main.room").waitFor();
};

// A unit is 25 mm, of which capitals take 17.5: 20 minutes of arc at 3 m. No text is below 0.8 of it.
for (const inches of [27, 40, 55, 75]) {
  test(`what a room has to know can be read at 3 m on a screen of ${inches} inches`, () =>
    open(
      fill(30, black(1), black(2, taken), black(3, { severity: 3 })),
      async (page, gateway) => {
        await room(page, gateway, `&size=${inches}`);
        await page.locator(".room-tile").first().waitFor();
        const pxOfScreen = 1920 / (inches * 25.4 * (16 / Math.hypot(16, 9)));
        const small = await page.evaluate((least) => {
          const found = [];
          const walker = document.createTreeWalker(document.querySelector(".app"), NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) {
            const of = walker.currentNode.parentElement;
            if (!walker.currentNode.data.trim() || !of.checkVisibility() || of.closest(".room-controls, .hidden-text, dialog, .skip")) continue;
            const size = parseFloat(getComputedStyle(of).fontSize);
            if (size < least) found.push(`${walker.currentNode.data}: ${size} px`);
          }
          return found;
        }, 20 * pxOfScreen - 0.6);
        assert.deepEqual(small, []);
        assert.equal(await page.evaluate(() => Math.max(0, document.documentElement.scrollHeight - innerHeight)), 0, "nothing is below the screen");
      },
      screen,
    ));
}

test("what nobody has is first and large, what does not fit is counted, and the strip has every stream", () =>
  open(
    fill(40, black(9, taken), ...[1, 2, 3].map((n) => black(n))),
    async (page, gateway) => {
      await room(page, gateway, "&size=27");
      await page.locator(".room-notes .is-trouble").waitFor();
      const shown = await names(page);
      assert.match(shown[0], /Channel 1$/);
      assert.match(await page.locator(".room-notes .is-trouble").textContent(), new RegExp(`^${4 - shown.length} more`));
      await room(page, gateway, "&size=75");
      await page.locator(".room-tile").nth(3).waitFor();
      assert.deepEqual((await names(page)).map((n) => n.slice(-9)), ["Channel 1", "Channel 2", "Channel 3", "Channel 9"]);
      assert.equal(await page.locator(".room-notes .is-trouble").count(), 0);
      assert.equal(await page.locator("canvas.cells").count(), 1);
      const [{ height }, strip] = [page.viewportSize(), await page.locator(".strip").boundingBox()];
      assert.ok(strip.y + strip.height <= height + 1 && strip.height < height * 0.25, JSON.stringify(strip));
    },
    screen,
  ));

test("a thousand streams fit on the screen", () =>
  open(
    fill(1000, black(1)),
    async (page, gateway) => {
      await room(page, gateway);
      await page.locator(".room-tile").waitFor();
      await page.waitForFunction(() => document.querySelector(".strip").getBoundingClientRect().height < innerHeight * 0.25);
      const tile = await page.locator(".room-tile").boundingBox();
      assert.ok(tile.height > 400, JSON.stringify(tile));
    },
    screen,
  ));

test("without trouble the room says that nothing needs anybody", () =>
  open(fill(3), async (page, gateway) => {
    await room(page, gateway);
    await page.getByText("Nothing needs you.").waitFor();
  }, screen));

test("a room that has lost its feed says so large, as of then, and nothing can be acknowledged", () =>
  open(
    fill(3, black(1)),
    async (page, gateway) => {
      await room(page, gateway);
      await page.locator(".room-tile").waitFor();
      await gateway.vanish();
      const banner = page.locator(".banner", { hasText: "The link to the gateway is lost." });
      await banner.waitFor();
      assert.match(await banner.textContent(), /as of \d\d:\d\d:\d\d JST/);
      const size = await banner.locator("b").evaluate((e) => parseFloat(getComputedStyle(e).fontSize));
      assert.ok(size > 70, `${size} px`);
      assert.equal(await page.locator("main.room").evaluate((e) => getComputedStyle(e).pointerEvents), "none");
      await gateway.comeBack();
    },
    screen,
  ));

test("a pointer that lies on the screen holds nothing back", () =>
  open(
    fill(3, black(2)),
    async (page, gateway) => {
      await room(page, gateway);
      await page.locator(".room-tile").hover();
      gateway.updateIncident(black(1));
      await page.locator(".room-tile").nth(1).waitFor();
      assert.match((await names(page))[0], /Channel 1$/);
    },
    screen,
  ));

test("whoever is at the screen acknowledges there", () =>
  open(
    fill(2, black(1)),
    async (page, gateway) => {
      await page.evaluate(() => localStorage.setItem("stream-monitor.name", '"Ben"'));
      await room(page, gateway);
      await page.locator(".room-tile").getByRole("button", { name: "Acknowledge" }).click();
      await page.locator(".room-tile.taken .who", { hasText: "Ben has it" }).waitFor();
    },
    screen,
  ));

// countLocks is for a page: locks are those that keep the screen on.
function countLocks() {
  globalThis.locks = [];
  Object.defineProperty(navigator, "wakeLock", { value: { request: async (what) => (locks.push(what), { release: async () => locks.pop() }) } });
}

test("f fills the screen and keeps it on; f again ends both", () =>
  open(
    fill(2, black(1)),
    async (page, gateway, context) => {
      await context.addInitScript(countLocks);
      await page.goto(`${gateway.url}/?label=team:a&show=trouble`);
      await page.locator(".counts").waitFor();
      await page.keyboard.press("f");
      await page.waitForURL((url) => url.searchParams.get("view") === "room" && url.searchParams.get("label") === "team:a" && !url.searchParams.has("show"));
      await page.waitForFunction(() => document.fullscreenElement && locks.join() === "screen");
      await page.keyboard.press("f");
      await page.waitForFunction(() => !document.fullscreenElement && locks.length === 0);
      assert.equal(new URL(page.url()).searchParams.get("view"), null);
      await page.locator("header.top").waitFor();
    },
    { path: null, ...screen },
  ));

test("a screen that is filled just as the room appears is kept on", () =>
  open(
    fill(2),
    async (page, gateway, context) => {
      await context.addInitScript(countLocks);
      await context.addInitScript(() => {
        Element.prototype.requestFullscreen = () => Promise.resolve();
        new MutationObserver((_, observer) => {
          if (!document.querySelector("main.room")) return;
          observer.disconnect();
          Object.defineProperty(document, "fullscreenElement", { value: document.documentElement });
          document.dispatchEvent(new Event("fullscreenchange"));
        }).observe(document, { childList: true, subtree: true });
      });
      await page.goto(gateway.url);
      await page.getByRole("button", { name: "Wall for the room" }).click();
      await page.waitForFunction(() => locks.join() === "screen");
    },
    { path: null, ...screen },
  ));

test("where the browser does not keep the screen on a word says so", () =>
  open(
    fill(2),
    async (page, gateway, context) => {
      await context.addInitScript(() => Object.defineProperty(navigator, "wakeLock", { value: undefined }));
      await page.goto(gateway.url);
      await page.getByRole("button", { name: "Wall for the room" }).click();
      await page.getByText("This screen may go dark").waitFor();
    },
    { path: null, ...screen },
  ));

test("the room says that sound is off, and when it is quiet", () =>
  open(
    fill(2),
    async (page, gateway) => {
      await room(page, gateway);
      await page.getByRole("button", { name: "Sound is off. Turn on" }).waitFor();
      const hour = (by) => `${String((new Date(Date.now() + 9 * 3_600_000).getUTCHours() + by + 24) % 24).padStart(2, "0")}:00`;
      await page.evaluate(([from, to]) => {
        localStorage.setItem("stream-monitor.sound", "true");
        localStorage.setItem("stream-monitor.sounding", JSON.stringify({ least: 0, repeatSec: 30, quiet: { on: true, from, to, least: 3 }, spoken: false }));
      }, [hour(-1), hour(2)]);
      await page.reload();
      await page.locator("main.room").click();
      await page.getByText(`quiet until ${hour(2)}: only critical severity and worse sounds`).waitFor();
    },
    screen,
  ));
