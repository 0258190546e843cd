import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { open } from "../browser.mjs";
import { incident, monitor } from "../fakegateway.mjs";
import { payload } from "../payload.mjs";

const fill = (count, ...incidents) => (gateway) => {
  for (let n = 1; n <= count; n++) gateway.monitors.set(monitor(n).monitor_id, monitor(n));
  for (const i of incidents) gateway.incidents.set(i.incident_id, i);
  gateway.version = 1;
};
const texts = (locator) => locator.evaluateAll((all) => all.map((e) => e.textContent));
const tileNames = (page) => texts(page.locator(".tile h3"));

test("all incidents that fit the filter are saved as CSV, those of further pages too", () =>
  open(fill(3, incident(1), incident(2), incident(3)), async (page, gateway) => {
    const asked = [];
    gateway.routes.set("GET /api/v1/incidents", (_, request) => {
      const { searchParams } = new URL(request.url, gateway.url);
      asked.push(searchParams);
      return searchParams.get("after") ? [200, { incidents: [incident(1)], next: null }] : [200, { incidents: [incident(3), incident(2)], next: "more" }];
    });
    await page.goto(`${gateway.url}/incidents?condition=black`);
    await page.locator(".incident-row").first().waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export CSV" }).click()]);
    assert.match(download.suggestedFilename(), /^incidents-\d{4}-\d\d-\d\d\.csv$/);
    const rows = readFileSync(await download.path(), "utf8").trim().split("\r\n");
    assert.deepEqual(rows.slice(1).map((row) => row.split(",")[0]), [3, 2, 1].map((n) => incident(n).incident_id));
    assert.ok(rows[1].includes("Channel 3"));
    assert.deepEqual(asked.slice(-2).map((p) => [p.get("condition"), p.get("after")]), [["black", null], ["black", "more"]]);
  }, { path: null }));

test("a stream that goes black gets a tile, and its recovery takes it away", () =>
  open(fill(3), async (page, gateway) => {
    await page.getByText("Nothing needs you.").waitFor();
    gateway.updateIncident(incident(2));
    await page.locator(".tile").waitFor();
    assert.deepEqual(await tileNames(page), ["Channel 2"]);
    assert.match(await page.title(), /^\(1\) /);
    const over = new Date().toISOString();
    const black = incident(2);
    gateway.updateIncident({ ...black, conditions: black.conditions.map((c) => ({ ...c, ended_at: over })), state: "resolved", resolved_at: over });
    await page.locator(".mini.is-recovered").waitFor();
    assert.equal(await page.locator(".tile").count(), 0);
  }));

test("hints are a list of their own, and no stream needs somebody for them", () =>
  open(fill(2), async (page, gateway) => {
    await page.getByText("Nothing needs you.").waitFor();
    const hints = page.getByRole("region", { name: "Hints" });
    assert.equal(await hints.count(), 0);
    gateway.updateMonitor(monitor(2, { hints: [{ kind: "quieter", since: new Date().toISOString(), numbers: { minutes: 5, db_per_minute: 6.2 } }] }));
    await hints.getByRole("link", { name: "Channel 2 Quieter by 6.2 dB each minute for 5 minutes" }).waitFor();
    assert.ok(await page.getByText("Nothing needs you.").isVisible());
    gateway.updateMonitor(monitor(2));
    await hints.waitFor({ state: "detached" });
  }));

test("a stream that waits has its number, and what ended is found from the count of off, also once no stream is left", () =>
  open(
    (gateway) => gateway.monitors.set(monitor(2).monitor_id, { ...monitor(2), status: "waiting" }),
    async (page, gateway) => {
      await page.locator(".mini").getByText("002 Channel 2").waitFor();
      await page.getByRole("link", { name: "0 off" }).click();
      await page.locator("main").getByRole("link", { name: "Ended streams" }).waitFor();
      gateway.monitors.clear();
      await page.goto(gateway.url);
      await page.locator("main").getByRole("link", { name: "Ended streams" }).click();
      await page.waitForURL("**/ended");
    },
  ));

test("a list under the pointer does not move: what is new waits in a pill", () =>
  open(fill(3, incident(1)), async (page, gateway) => {
    await page.locator(".tile").hover();
    gateway.updateIncident(incident(3, { started_at: new Date().toISOString() }));
    await page.getByRole("button", { name: "1 new" }).waitFor();
    assert.deepEqual(await tileNames(page), ["Channel 1"]);
    await page.getByRole("button", { name: "1 new" }).click();
    await page.locator(".tile").nth(1).waitFor();
    assert.equal((await tileNames(page)).length, 2);
  }));

test("what got worse than it was acknowledged needs somebody again", () =>
  open(
    (gateway) => fill(2, incident(1, { acknowledged_by: "Ann", acknowledged_at: new Date().toISOString(), acknowledged_severity: 1, severity: 2 }))(gateway),
    async (page) => {
      await page.locator(".tile .who", { hasText: "Ann has it" }).getByText("worse since then").waitFor();
      await page.locator(".tile").first().getByRole("button", { name: "Acknowledge" }).waitFor();
      assert.match(await page.locator(".nav .badge").textContent(), /^1 /);
    },
  ));

test("what nobody has is first, and wall, navigation, incidents and title count the same", () =>
  open(
    (gateway) => {
      const [seen, began] = [new Date().toISOString(), new Date(Date.now() - 600_000).toISOString()];
      const over = (i) => ({ ...i, conditions: i.conditions.map((c) => ({ ...c, ended_at: seen })) });
      const old = incident(1, { started_at: began });
      const taken = incident(2, { acknowledged_by: "Ann", acknowledged_at: seen });
      fill(4, { ...old, conditions: old.conditions.map((c) => ({ ...c, last_started_at: began })) }, taken, over(incident(3)))(gateway);
    },
    async (page, gateway) => {
      await page.evaluate(() => localStorage.setItem("stream-monitor.name", '"Ben"'));
      await page.reload();
      await page.locator(".tile").nth(1).waitFor();
      assert.deepEqual(await tileNames(page), ["Channel 1", "Channel 2"]);
      assert.deepEqual(await texts(page.locator(".section-head h2")), ["Needs somebody 1", "Somebody has it 1", "On air, no trouble 1"]);
      assert.match(await page.locator(".nav .badge").textContent(), /^1 /);
      assert.match(await page.title(), /^\(1\) /);
      await page.getByText("Sound is off. Turn on", { exact: true }).click();
      await page.getByText("Sound is off. Turn on", { exact: true }).waitFor({ state: "detached" });
      await page.locator(".tile").first().getByRole("button", { name: "Acknowledge" }).click();
      await page.locator(".tile .who", { hasText: "Ben has it" }).waitFor();
      assert.equal(await page.locator("#attention-title").textContent(), "Needs somebody 0", "the tile stays under the hand");
      await page.mouse.move(0, 0);
      await page.locator("#taken-title", { hasText: "2" }).waitFor();
      await page.goto(`${gateway.url}/incidents`);
      await page.locator(".incident-row").nth(2).waitFor();
      assert.equal(await page.locator(".incident-row", { hasText: "Nobody has it" }).count(), 0);
    },
  ));

test("an incident is acknowledged in its row, and the list stays", () =>
  open(fill(2, incident(1), incident(2)), async (page, gateway) => {
    await page.evaluate(() => localStorage.setItem("stream-monitor.name", '"Ben"'));
    await page.goto(`${gateway.url}/incidents`);
    await page.locator(".day", { hasText: "2 that nobody has" }).waitFor();
    await page.getByRole("button", { name: "Acknowledge: Channel 2" }).click();
    await page.locator(".incident-row .who", { hasText: "Ben" }).waitFor();
    assert.equal(await page.locator(".incident-row .who .btn").count(), 1);
    assert.equal(new URL(page.url()).pathname, "/incidents");
  }));

test("who acknowledges is asked once, and everybody sees it", () =>
  open(fill(2, incident(1), incident(2)), async (page) => {
    await page.locator(".tile").first().getByRole("button", { name: "Acknowledge" }).click();
    await page.getByRole("textbox", { name: "Your name" }).fill("Ann");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".tile .who", { hasText: "Ann has it" }).waitFor();
    await page.mouse.move(0, 0);
    await page.getByRole("button", { name: "Acknowledge" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".tile .who b").length === 2 && !document.querySelector(".tile .btn.primary"));
    assert.doesNotMatch(await page.title(), /^\(/);
  }));

test("filter, search and view are in the address, and Back undoes them", () =>
  open(fill(30, incident(1)), async (page) => {
    await page.locator(".counts a.is-trouble").click();
    await page.waitForURL("**/?show=trouble");
    await page.locator(".screen").first().waitFor({ state: "detached" });
    await page.goBack();
    await page.locator(".screen").first().waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("channel 17");
    await page.waitForURL("**/?q=channel+17");
    await page.waitForFunction(() => document.querySelectorAll(".screen").length === 1);
    await page.locator("body").click({ position: { x: 5, y: 700 } });
    await page.keyboard.press("v");
    await page.waitForURL(/view=rows/);
    assert.equal(await page.locator(".rows .row").count(), 1);
  }));

test("single keys move, open and explain; they can be switched off", () =>
  open(fill(3, incident(1), incident(2)), async (page) => {
    await page.locator(".tile").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.locator(".tile.selected").waitFor();
    const chosen = await page.locator(".tile.selected h3").textContent();
    assert.equal(chosen, (await tileNames(page))[1]);
    await page.keyboard.press("?");
    await page.getByLabel("Single keys work").uncheck();
    await page.getByRole("button", { name: "Close" }).click();
    await page.keyboard.press("g");
    await page.keyboard.press("i");
    await page.keyboard.press("Enter");
    assert.equal(new URL(page.url()).pathname, "/");
  }));

test("what is chosen by key is drawn and in view, as a picture and as a row, and stays so when it is pinned", () =>
  open(fill(300, incident(1)), async (page) => {
    const inView = () =>
      page.waitForFunction(() => {
        const box = document.querySelector(".selected")?.getBoundingClientRect();
        const covered = document.querySelector(".row-head") ?? document.querySelector(".top");
        return box && box.top >= covered.getBoundingClientRect().bottom && box.bottom <= innerHeight;
      });
    const press = async (key, times) => {
      for (let i = 0; i < times; i++) await page.keyboard.press(key);
    };
    await page.locator(".screen").first().waitFor();
    await press("j", 100);
    await page.locator(".screen.selected").getByText("Channel 100", { exact: true }).waitFor();
    await inView();
    await press("k", 90);
    await page.locator(".screen.selected").getByText("Channel 10", { exact: true }).waitFor();
    await inView();
    await press("j", 40);
    await press("p", 1);
    await page.locator("li:first-child > .screen.selected").getByText("Channel 50", { exact: true }).waitFor();
    await inView();
    await press("v", 1);
    await press("j", 60);
    await page.locator(".row.selected").waitFor();
    await inView();
  }));

test("the keys that are listed are those of the page", () =>
  open(fill(3, incident(1)), async (page, gateway) => {
    const keys = async () => {
      await page.keyboard.press("?");
      await page.locator("dialog[open] .keys dt").first().waitFor();
      return (await texts(page.locator(".keys dd"))).join(" ");
    };
    await page.locator(".tile").waitFor();
    assert.equal(await keys(), "j k Enter a s r / p x v f ? gw gi gd gc");
    await page.goto(`${gateway.url}/settings`);
    await page.locator("main h1").waitFor();
    assert.equal(await keys(), "/ ? gw gi gd gc");
  }));

test("labels filter and group the wall, are in its address, and a browser keeps the view by name", () =>
  open(
    (gateway) => {
      fill(6, incident(1), incident(2))(gateway);
      for (let n = 1; n <= 6; n++) gateway.monitors.set(monitor(n).monitor_id, monitor(n, { labels: n === 6 ? {} : { team: n % 2 ? "odd" : "even", show: "朝の番組 <b>" } }));
    },
    async (page, gateway) => {
      const shown = (screens, tiles) => page.waitForFunction(([s, t]) => document.querySelectorAll(".screen").length === s && document.querySelectorAll(".tile").length === t, [screens, tiles]);
      const headings = () => texts(page.locator(".group h3"));
      await shown(4, 2);
      await page.getByLabel("Group by").selectOption("team");
      await page.waitForURL("**/?group=team");
      await page.locator(".group").nth(2).waitFor();
      assert.deepEqual(await headings(), ["even 1", "odd 2", "without team 1"]);
      await page.locator(".view-bar select").first().selectOption({ label: "even" });
      await page.waitForURL("**/?group=team&label=team%3Aeven");
      await shown(1, 1);
      assert.deepEqual(await tileNames(page), ["Channel 2"]);
      assert.match(await page.locator(".tile .label-line").textContent(), /show: \u2068朝の番組 <b>\u2069/);
      assert.deepEqual(await texts(page.locator(".counts a b")), ["1", "0", "0", "0", "1", "0"]);

      await page.getByRole("button", { name: "Views" }).click();
      await page.getByLabel("Keep this view as").fill("Even nights");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("link", { name: "Even nights" }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("link", { name: "Without the filter team: even" }).click();
      await shown(4, 2);
      await page.goto(gateway.url); // the browser has kept it
      await page.getByRole("button", { name: "Views" }).click();
      await page.getByRole("link", { name: "Even nights" }).click();
      await page.waitForURL("**/?group=team&label=team%3Aeven");
      await shown(1, 1);
      await page.goto(`${gateway.url}/?label=team:nobody`);
      await page.getByText("No stream fits").waitFor();
    },
  ));

test("incidents are asked for by label, and stand under the values of one", () =>
  open(
    (gateway) => {
      fill(4, incident(1), incident(2))(gateway);
      for (let n = 1; n <= 4; n++) gateway.monitors.set(monitor(n).monitor_id, monitor(n, { labels: n === 1 ? { team: "a" } : {} }));
      const listed = [incident(1, { labels: { team: "a" } }), incident(2, { labels: {} }), incident(9, { labels: { team: "b" }, state: "resolved", resolved_at: new Date().toISOString() })];
      gateway.routes.set("GET /api/v1/incidents", (_, request) => [200, { incidents: new URL(request.url, "http://gateway").searchParams.getAll("label").includes("team:a") ? [listed[0]] : listed, next: null }]);
    },
    async (page) => {
      await page.locator(".incident-row").nth(2).waitFor();
      assert.deepEqual(await texts(page.locator("h2.day")), ["a 1", "b 1", "without team 1"]);
      await page.locator(".view-bar select").first().selectOption({ label: "a" });
      await page.waitForFunction(() => document.querySelectorAll(".incident-row").length === 1);
      assert.deepEqual(await texts(page.locator("h2.day")), ["a 1"]);
    },
    { path: "/incidents?group=team" },
  ));

test("rows have the last hour as a strip, and only those in view ask for it", () =>
  open(fill(200), async (page, gateway) => {
    const ok = { state: "ok", share: { ok: 1 } };
    const bucket = (i) => ({ from: new Date(Date.now() - (120 - i) * 30_000).toISOString(), stream: { state: "live", share: { live: 1 } }, video: ok, audio: ok, segments: ok, luma: null, level: null });
    for (let n = 1; n <= 200; n++) gateway.routes.set(`GET /api/v1/monitors/${monitor(n).monitor_id}/timeline`, () => [200, { monitor_id: monitor(n).monitor_id, from: "", to: "", bucket_sec: 30, buckets: Array.from({ length: 120 }, (_, i) => bucket(i)) }]);
    await page.goto(`${gateway.url}/?view=rows`);
    await page.getByRole("img", { name: "Last hour of Channel 1", exact: true }).waitFor();
    assert.equal(await page.getByText("Last hour", { exact: true }).count(), 1);
    await page.waitForFunction(() => !document.querySelector(".rows .row span.lane"));
    const asked = gateway.requests.filter((r) => r.endsWith("/timeline")).length;
    assert.ok(asked > 5 && asked < 60, `${asked} rows asked`);
  }, { path: null }));

test("of 1,000 streams only those in view are drawn, and the last one is found by scrolling", () =>
  open(fill(1000), async (page) => {
    await page.locator(".screen").first().waitFor();
    assert.ok((await page.locator(".screen").count()) < 80);
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await page.getByText("Channel 1000", { exact: true }).waitFor();
    assert.ok((await page.locator(".screen").count()) < 80);
  }));

test("titles of strangers are texts: markup, right-to-left, 300 emoji, a bomb of metadata", () =>
  open(
    (gateway) => {
      const hostile = [
        { channel_name: "<img src=x onerror=\"document.title='owned'\">", stream_title: "<script>document.title='owned'</script>" },
        { channel_name: "مرحبا بالعالم", stream_title: "\u202Eright to left" },
        { channel_name: "🎉".repeat(300), stream_title: "👩‍👩‍👧‍👦".repeat(300) },
        { channel_name: { nested: "object" }, stream_title: ["list"], ...Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`key${i}`, "x".repeat(20)])) },
      ];
      hostile.forEach((metadata, i) => gateway.monitors.set(monitor(i + 1).monitor_id, monitor(i + 1, { metadata })));
      gateway.incidents.set(incident(1).incident_id, incident(1));
      gateway.version = 1;
    },
    async (page) => {
      await page.locator(".screen").nth(2).waitFor();
      assert.equal(await page.locator("img[src='x'], script:not([src])").count(), 0);
      assert.doesNotMatch(await page.title(), /owned/);
      assert.match((await tileNames(page))[0], /^<img src=x/);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, "nothing widens the page");
    },
  ));

test("a stream of which only the address is known is called by its video everywhere", () =>
  open(
    (gateway) => {
      for (const n of [1, 2]) gateway.monitors.set(monitor(n).monitor_id, monitor(n, { metadata: { channel_name: null, stream_title: null } }));
      gateway.incidents.set(incident(2).incident_id, incident(2));
      gateway.version = 1;
    },
    async (page, gateway) => {
      gateway.routes.set(`GET /api/v1/monitors/${monitor(1).monitor_id}`, () => [200, gateway.monitors.get(monitor(1).monitor_id)]);
      const [video, address] = ["video000001", "youtube.com/watch?v=video000001"];
      await page.locator(".screen .title", { hasText: address }).waitFor();
      assert.equal(await page.locator(".screen .name").textContent(), video);
      assert.deepEqual(await tileNames(page), ["video000002"]);
      assert.equal(await page.title(), "(1) Wall · stream-monitor");
      await page.goto(`${gateway.url}/?view=rows`);
      await page.locator(".rows .row", { hasText: video }).getByText(address).waitFor();
      await page.goto(`${gateway.url}/monitors/${monitor(1).monitor_id}`);
      await page.getByRole("heading", { level: 1, name: video }).waitFor();
      assert.match(await page.title(), /^(\(1\) )?\u2068video000001\u2069 · stream-monitor$/);
      await page.goto(`${gateway.url}/incidents`);
      await page.locator(".incident-row", { hasText: "video000002" }).getByText("youtube.com/watch?v=video000002").waitFor();
      await page.locator(".incident-row a").click();
      await page.getByRole("link", { name: "video000002", exact: true }).waitFor();
      assert.equal(await page.title(), "(1) Black video, \u2068video000002\u2069 · stream-monitor");
    },
  ));

test("a phone shows the same, and nothing is wider than 375 px", () =>
  open(
    (gateway) => {
      fill(40, incident(1), incident(2))(gateway);
      const groups = ["Orbit Live", "Northline", "Live cameras", "Partners of the north"];
      for (let n = 1; n <= 40; n++) gateway.monitors.set(monitor(n).monitor_id, monitor(n, { labels: { agency: groups[Math.max(0, n - 37)] } }));
    },
    async (page) => {
      await page.locator(".tile").first().waitFor();
      await page.getByText("Partners of the north").first().waitFor();
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 375);
      assert.ok((await page.locator(".tile .btn.primary").first().boundingBox()).height >= 44);
      await page.locator(".tabbar a", { hasText: "Incidents" }).click();
      await page.locator(".incident-row").first().waitFor();
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 375);
    },
    { path: "/?group=agency", viewport: { width: 375, height: 760 }, hasTouch: true, isMobile: true },
  ));

test("all that the wall loads is at most 60 kB", () => assert.ok(payload() <= 60_000, `${payload()} bytes`));
