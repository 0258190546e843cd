import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "../browser.mjs";
import { incident, monitor } from "../fakegateway.mjs";

const fill = (gateway) => {
  for (let n = 1; n <= 5; n++) gateway.monitors.set(monitor(n).monitor_id, monitor(n));
  gateway.incidents.set(incident(1).incident_id, incident(1));
  gateway.version = 1;
};
const live = (page) => page.locator("html[data-link=live]").waitFor({ state: "attached" });
const lost = (page) => page.locator("html[data-link=lost]").waitFor({ state: "attached", timeout: 17_000 });
const banner = (page) => page.locator(".banner").textContent();

test("a gateway that is gone: the data are grey, as of then, and timers stand still; it comes back by itself", () =>
  open(fill, async (page, gateway) => {
    await live(page);
    await page.locator(".tile .duration").waitFor();
    await gateway.vanish();
    await lost(page);
    assert.match(await banner(page), /link to the gateway is lost.*as of \d\d:\d\d:\d\d JST/);
    assert.match(await page.title(), /as of \d\d:\d\d:\d\d/);
    const before = await page.locator(".tile .duration").textContent();
    await page.waitForTimeout(2500);
    assert.equal(await page.locator(".tile .duration").textContent(), before);
    gateway.incidents.set(incident(2).incident_id, incident(2)); // it went on without this page
    gateway.version += 1;
    await gateway.comeBack();
    await page.getByRole("button", { name: "Try now" }).evaluateAll((buttons) => buttons.forEach((b) => b.click())); // gone if the page was faster
    await live(page);
    await page.locator(".tile").nth(1).waitFor();
  }));

test("a gateway that hangs raises no error, and is noticed within 15 s", () =>
  open(fill, async (page, gateway) => {
    await live(page);
    gateway.hung = true;
    const began = Date.now();
    await lost(page);
    assert.ok(Date.now() - began < 17_000);
    gateway.hung = false;
    await live(page);
  }));

test("an icon that a gateway which is away does not give raises no error, and is drawn later", () =>
  open(fill, async (page, gateway) => {
    await live(page);
    const asked = page.waitForEvent("requestfailed", (r) => r.url().endsWith(".svg"));
    await page.route("**/*.svg", (route) => route.abort());
    gateway.updateIncident(incident(2));
    await asked;
    await page.unroute("**/*.svg");
    gateway.updateIncident(incident(3));
    await page.waitForFunction(() => document.querySelector("link[rel=icon]").href.startsWith("blob:"));
  }));

test("one 503 does not end the feed for ever", () =>
  open(fill, async (page, gateway) => {
    await live(page);
    gateway.refuse = 503;
    for (const reader of gateway.readers) reader.destroy();
    await page.waitForFunction(() => document.documentElement.dataset.link === "lost");
    gateway.refuse = 0;
    await live(page);
  }));

test("a page asks again for a worker that could not be loaded", () =>
  open(
    (gateway) => {
      fill(gateway);
      gateway.noWorker = true;
    },
    async (page, gateway) => {
      await page.waitForRequest(/feed\.worker/);
      gateway.noWorker = false;
      await live(page);
    },
  ));

test("the end of a session is announced a day before, with a link that leads back", () =>
  open(fill, async (page, gateway) => {
    await live(page);
    await page.evaluate(() => fetch("/api/v1/session")); // by then, the page has its answer
    assert.equal(await page.locator(".banner").count(), 0);
    gateway.sessionMs = 23 * 3_600_000;
    await page.goto(gateway.url + "/settings");
    await page.getByText(/^Your session ends at .*JST/).waitFor();
    assert.equal(await page.getByRole("alert").getByRole("link", { name: "Sign in" }).getAttribute("href"), "/signin?next=%2Fsettings");
  }));

test("a checker that is behind is told, and nothing stays good that nobody checks", () =>
  open(fill, async (page, gateway) => {
    await live(page);
    gateway.checker = { ...gateway.checker, late: 2, late_monitors: [monitor(2).monitor_id, monitor(3).monitor_id] };
    gateway.heartbeat();
    await page.getByText("The checker is behind.").waitFor();
    await page.locator(".section-head", { hasText: "On air" }).getByText("2 looked at late").waitFor();
    await page.waitForFunction(() => document.querySelectorAll(".screen.late").length === 2);
    gateway.checker = { ...gateway.checker, late: 0, late_monitors: [] };
    gateway.heartbeat();
    await page.locator(".banner").waitFor({ state: "detached" });
    await page.waitForFunction(() => document.querySelectorAll(".screen.late").length === 0);
  }));

test("a picture of a tile is called now only while it is new", () =>
  open(fill, async (page, gateway) => {
    await live(page);
    gateway.addThumbnail(monitor(1), 120);
    const caption = page.locator(".tile .frames .caption").last();
    await caption.getByText("Last picture").waitFor();
    gateway.addThumbnail(monitor(1));
    await caption.getByText("Now", { exact: true }).waitFor();
  }));

test("a database that does not answer is told", () =>
  open(fill, async (page, gateway) => {
    await live(page);
    gateway.checker = null;
    gateway.heartbeat();
    await page.getByText("The gateway's database does not answer.").waitFor();
    await page.waitForFunction(() => document.querySelectorAll(".screen.late").length === 4);
    await page.goto(`${gateway.url}/?view=rows`);
    await page.getByText("looked at late").first().waitFor();
    assert.equal(await page.locator(".row").getByText("good", { exact: true }).count(), 0);
  }));

test("a clock that is wrong is told, and durations are right", () =>
  open(
    (gateway) => {
      fill(gateway);
      gateway.skewMs = 3_600_000;
    },
    async (page) => {
      await page.getByText("This computer's clock is off by 1 h").waitFor();
      await page.locator(".tile .duration", { hasText: /^1 h 1 min$/ }).waitFor(); // the onset is a minute old by this computer
    },
  ));

test("twelve tabs have one connection, and all hear the same", () =>
  open(fill, async (page, gateway, context) => {
    await live(page);
    const tabs = [page];
    for (let i = 0; i < 11; i++) {
      const tab = await context.newPage();
      await tab.goto(gateway.url, { waitUntil: "commit" });
      tabs.push(tab);
    }
    await Promise.all(tabs.map(live));
    assert.equal(gateway.readers.size, 1);
    gateway.updateIncident(incident(4));
    for (const tab of tabs) await tab.locator(`#tile-${monitor(4).monitor_id}`).waitFor();
  }));

test("the page is the same in Japanese, and remembers it", () =>
  open(fill, async (page) => {
    await live(page);
    await page.getByRole("button", { name: "日本語" }).click();
    await page.getByText("対応が必要").waitFor();
    await page.reload();
    await page.getByText("対応が必要").waitFor();
    assert.equal(await page.locator("html").getAttribute("lang"), "ja");
  }));

test("whoever is not signed in is led to the sign-in page, and back to where they wanted", () =>
  open(
    (gateway) => {
      fill(gateway);
      gateway.signedOut = true;
    },
    async (page) => {
      await page.waitForURL("**/signin?next=*");
      assert.equal(new URL(page.url()).searchParams.get("next"), "/incidents?state=open");
    },
    { path: "/incidents?state=open" },
  ));

test("a session that ends while the page is open is told; what was seen stays", () =>
  open(fill, async (page, gateway) => {
    await live(page);
    await page.locator(".tile").waitFor();
    gateway.signedOut = true;
    for (const reader of gateway.readers) reader.destroy();
    await page.getByText("You are signed out.").waitFor();
    assert.equal(new URL(page.url()).pathname, "/");
    assert.equal(await page.locator(".tile").count(), 1);
  }));

test("a stream whose incidents cannot be stored is marked on the wall and on its page, until they are", () =>
  open(fill, async (page, gateway) => {
    await live(page);
    const since = new Date(Date.now() - 60_000).toISOString();
    for (const n of [1, 2]) gateway.updateMonitor(monitor(n, { record_parked_since: since }));
    await page.locator(".tile", { hasText: "Channel 1" }).getByText("not recorded").waitFor();
    await page.locator(".section-head", { hasText: "On air" }).getByText("1 not recorded").waitFor();
    await page.locator(".screen", { hasText: "Channel 2" }).getByText("not recorded").waitFor();
    await page.goto(`${gateway.url}/?view=rows`);
    await page.locator(".row", { hasText: "Channel 2" }).getByText("not recorded").waitFor();
    const id = monitor(2).monitor_id;
    gateway.routes.set(`GET /api/v1/monitors/${id}`, () => [200, gateway.monitors.get(id)]);
    await page.goto(`${gateway.url}/monitors/${id}`);
    const line = page.locator(".monitor-facts").getByText(/incidents and history cannot be stored.*report/i);
    await line.waitFor();
    gateway.updateMonitor(monitor(2));
    await line.waitFor({ state: "detached" });
  }));
