import assert from "node:assert/strict";
import { test } from "node:test";
import { barriers, looks, open } from "../browser.mjs";
import { incident, monitor } from "../fakegateway.mjs";
import { destination, fillNotifications, route, silence } from "../fakenotifications.mjs";

// told opens the page of destinations.
const told = (run, options) => {
  let state;
  const prepare = (gateway) => {
    for (const n of [1, 2]) gateway.monitors.set(monitor(n).monitor_id, monitor(n));
    state = fillNotifications(gateway);
  };
  return open(
    prepare,
    async (page, gateway) => {
      await page.getByRole("cell", { name: "Slack #live-ops" }).waitFor();
      await run(page, state, gateway);
    },
    { path: "/destinations", ...options },
  );
};
const sentTo = async (state, what) => {
  for (const until = Date.now() + 10_000; Date.now() < until; ) {
    const found = state.sent.findLast(([to]) => to === what);
    if (found) return found[1];
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${what} was not sent, but ${JSON.stringify(state.sent)}`);
};
const described = (input) => input.evaluate((of) => of.getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id).innerText.trim()).join(" "));
const nameHere = (page) => page.evaluate(() => JSON.parse(localStorage.getItem("stream-monitor.name")));
const row = (page, name) => page.getByRole("row", { name });

test("a destination is added with its secret, which no page shows again", () =>
  told(async (page, state) => {
    await page.getByRole("button", { name: "Add a destination" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Kind").selectOption("line");
    await dialog.getByLabel("Name").fill("LINE desk");
    await dialog.getByLabel("Channel access token").fill("a-secret");
    await dialog.getByLabel("Receiver's ID").fill("C1");
    await dialog.getByLabel("Language of the messages").selectOption("ja");
    await dialog.getByRole("button", { name: "Save" }).click();
    assert.deepEqual(await sentTo(state, "POST /api/v1/destinations"), { name: "LINE desk", language: "ja", config: { to: "C1" }, secrets: { channel_access_token: "a-secret" }, fallback: null, kind: "line" });
    await row(page, "LINE desk").getByRole("button", { name: "Change" }).click();
    assert.equal(await dialog.getByLabel("Channel access token").inputValue(), "");
    assert.ok(!(await page.content()).includes("a-secret"));
  }));

test("a change leaves a secret that is not typed alone, and an empty field is removed", () =>
  told(async (page, state) => {
    await row(page, "Slack #live-ops").getByRole("button", { name: "Change" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Channel ID (optional)").fill("");
    await dialog.getByRole("button", { name: "Save" }).click();
    const sent = await sentTo(state, `PATCH /api/v1/destinations/${destination(1).destination_id}`);
    assert.deepEqual([sent.config, sent.secrets], [{ channel: null }, {}]);
  }));

test("a destination that works again is shown so while the page stays open", () =>
  told(async (page, state) => {
    await row(page, "Northline automation").getByText("HTTP 503 Service Unavailable").waitFor();
    await row(page, "Night desk").getByText("Every attempt failed for 5 days.").waitFor();
    state.destinations[2] = destination(3, { name: "Northline automation", kind: "webhook" });
    await row(page, "Northline automation").getByText("HTTP 503").waitFor({ state: "detached" });
    await row(page, "Northline automation").getByText("Working").waitFor();
  }));

test("what is refused stays in the form, and each wrong field says so where it is", () =>
  told(async (page, state, gateway) => {
    const wrong = (field, code = "INVALID_CONFIG") => ({ field, code, message: `${field} is wrong` });
    gateway.routes.set("POST /api/v1/destinations", () => [400, { error: { ...wrong("config.from"), problems: [wrong("config.from"), wrong("config.to"), wrong("owner")] } }]);
    await page.getByRole("button", { name: "Add a destination" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Kind").selectOption("email");
    await dialog.getByLabel("Name", { exact: true }).fill("Mail");
    for (const label of ["Mail server", "Sender", "Receivers"]) await dialog.getByLabel(label, { exact: true }).fill("x");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("alert").getByText("What is wrong is marked.").waitFor();
    await dialog.getByRole("alert").getByText("owner is wrong").waitFor();
    const [sender, receivers] = [dialog.getByLabel("Sender"), dialog.getByLabel("Receivers")];
    for (const field of [sender, receivers]) assert.equal(await field.getAttribute("aria-invalid"), "true");
    assert.equal(await described(sender), "A value is not accepted. A right one is alerts@example.com. The address from which messages come. The mail server must allow it.");
    assert.ok(await sender.evaluate((input) => input === document.activeElement));
    assert.deepEqual(await barriers(page), []);
    await sender.fill("alerts@example.com");
    assert.deepEqual([await sender.getAttribute("aria-invalid"), await receivers.getAttribute("aria-invalid")], [null, "true"]);
    assert.equal(await dialog.getByLabel("Name", { exact: true }).inputValue(), "Mail");
  }));

test("a test says what the provider answered, and states say what is wrong", () =>
  told(async (page) => {
    await row(page, "Northline automation").getByText("Failing for 7 min").waitFor();
    await row(page, "Northline automation").getByText("6 waiting").waitFor();
    await row(page, "Night desk").getByText("Every attempt failed for 5 days.").waitFor();
    await row(page, "Northline automation").getByRole("button", { name: "Send a test" }).click();
    const card = page.getByRole("region", { name: "A test to Northline automation" });
    await card.getByText("It was not accepted.").waitFor();
  }));

test("routes are put into another order, and the default one stays last and has no name to change", () =>
  told(async (page, state) => {
    state.routes.splice(2, 0, { ...route(9), name: "new", match: state.routes[1].match });
    Object.assign(state.routes[1], { continue: false, windows: [] });
    await page.reload();
    await page.getByRole("listitem").filter({ hasText: "new" }).getByText(/^never reached: “.*” ends the search before it$/).waitFor();
    state.routes.splice(2, 1);
    await page.reload();
    await page.getByRole("button", { name: "Later: automation" }).click();
    const sent = await sentTo(state, "PUT /api/v1/routes/order");
    assert.deepEqual(sent.routes, [route(2).route_id, route(1).route_id]);
    await page.getByRole("listitem").filter({ hasText: "everything else" }).getByRole("button", { name: "Change" }).click();
    const dialog = page.getByRole("dialog");
    assert.equal(await dialog.getByLabel("Name").count(), 0);
    await dialog.getByLabel("LINE 当番グループ").check();
    await dialog.getByRole("button", { name: "Save" }).click();
    const changed = await sentTo(state, `PATCH /api/v1/routes/${route(3).route_id}`);
    assert.deepEqual(changed.destinations, [destination(1).destination_id, destination(2).destination_id]);
    assert.equal(changed.match, undefined);
  }));

test("a route is made of conditions, severity, metadata, times, whoever is on duty and delays", () =>
  told(async (page, state) => {
    await page.getByRole("button", { name: "Add a route" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("night");
    await dialog.getByLabel("Black video").check();
    await dialog.getByLabel("Least severity").selectOption("2");
    await dialog.getByLabel("Only with this metadata").fill("channel_name=Orbit Live, venue.city=Osaka");
    await dialog.getByLabel("Only with these labels").fill("team=night, late\nshow=朝の番組");
    await dialog.getByRole("button", { name: "Add a time" }).click();
    await dialog.getByRole("button", { name: "Add a time" }).click();
    const [removed, night] = [dialog.getByRole("group", { name: "Only at these times 1" }), dialog.getByRole("group", { name: "Only at these times 2" })];
    for (const day of ["Fri", "Sat"]) await night.getByLabel(day).check();
    await night.getByLabel("From").fill("23:00");
    await night.getByLabel("Time zone").fill("Asia/Tokyo");
    await removed.getByRole("button", { name: "Remove" }).click();
    await dialog.getByLabel("Slack #live-ops").check();
    await dialog.getByLabel("Whoever is on duty").check();
    await dialog.getByLabel("Wait before telling, min").fill("5");
    await dialog.getByLabel("Go on to the next routes").check();
    await dialog.getByRole("button", { name: "Save" }).click();
    assert.deepEqual(await sentTo(state, "POST /api/v1/routes"), {
      destinations: [destination(1).destination_id], on_duty: true, delay_sec: 300, repeat_sec: 0, name: "night", continue: true,
      windows: [{ weekdays: ["fri", "sat"], start: "23:00", end: "06:00", timezone: "Asia/Tokyo" }],
      match: { events: [], conditions: ["black"], min_severity: 2, monitors: [], labels: { team: "night, late", show: "朝の番組" }, metadata: { channel_name: "Orbit Live", "venue.city": "Osaka" } },
    });
  }));

test("it says where an incident would be told, and why not elsewhere", () =>
  told(async (page) => {
    const card = page.getByRole("region", { name: "Where would it go, and why" });
    await card.getByText("label team is nothing, wanted night, Channel is nothing, wanted Orbit Live, severity is 1, wanted 2, condition is Late start, wanted Black video, No media").waitFor();
    await card.getByText("Slack #live-ops").waitFor();
    await card.getByText("at once").waitFor();
    await card.getByRole("listitem").filter({ hasText: "Night hook" }).getByText("not told. A webhook goes by how it begins: severity is 1, wanted 2").waitFor();
    await card.getByRole("combobox", { name: "Stream", exact: true }).selectOption({ label: "Channel 2" });
    await card.getByText(/^paused: nobody looks until .*\d\d:\d\d/).waitFor();
  }));

test("a silence until recovery names one stream, and one that stands can be ended", () =>
  told(async (page, state) => {
    await page.getByRole("button", { name: "Add a silence" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Only this stream").selectOption({ label: "Channel 2" });
    await dialog.getByLabel("How long").selectOption("recovered");
    await dialog.getByText("Choose one stream").waitFor();
    await dialog.getByLabel("By", { exact: true }).fill("Ann");
    await dialog.getByRole("button", { name: "Save" }).click();
    const sent = await sentTo(state, "POST /api/v1/silences");
    assert.deepEqual([sent.until_recovered, sent.match.monitors, sent.to, sent.by], [true, [monitor(2).monitor_id], undefined, "Ann"]);
    assert.equal(await nameHere(page), "Ann"); // nobody had one
    await row(page, "every day, 02:00 to 04:00 Asia/Tokyo").getByRole("button", { name: "End for good" }).click();
    await sentTo(state, `DELETE /api/v1/silences/${silence(2).silence_id}`);
    await row(page, "every day, 02:00 to 04:00 Asia/Tokyo").waitFor({ state: "detached" });
  }));

test("only what is severe at night is one form", () =>
  told(async (page, state) => {
    await page.evaluate(() => localStorage.setItem("stream-monitor.name", '"Ben"'));
    await page.reload();
    await page.getByRole("button", { name: "Only severe at night" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Time zone").fill("Asia/Tokyo");
    await dialog.getByLabel("By", { exact: true }).fill("Ann");
    await dialog.getByRole("button", { name: "Save" }).click();
    const sent = await sentTo(state, "POST /api/v1/silences");
    assert.deepEqual([sent.match.max_severity, sent.window, sent.comment], [1, { weekdays: [], start: "22:00", end: "06:00", timezone: "Asia/Tokyo" }, "only what is severe at night"]);
    assert.deepEqual([sent.by, await nameHere(page)], ["Ann", "Ben"]); // Ben still acknowledges as Ben
  }));

test("a silence is changed, one occurrence of it ends, and one of everything asks", () =>
  told(async (page, state) => {
    Object.assign(state.silences[1], { state: "active", next_at: "2026-12-01T19:00:00Z" });
    const nightly = row(page, "every day, 02:00 to 04:00 Asia/Tokyo");
    await nightly.getByRole("button", { name: "End this time" }).click();
    assert.deepEqual(await sentTo(state, `PATCH /api/v1/silences/${silence(2).silence_id}`), { skip_until: "2026-12-01T19:00:00Z" });
    await nightly.getByRole("button", { name: "Change" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Late start").uncheck();
    await dialog.getByLabel("Least severity").selectOption("0");
    await dialog.getByLabel("To", { exact: true }).fill("05:00");
    state.sent.length = 0;
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("alert").getByText("nobody is told of anything").waitFor();
    assert.ok(!state.sent.some(([what]) => what.startsWith("PATCH")));
    await dialog.getByLabel("Yes, silence everything").check();
    await dialog.getByRole("button", { name: "Save" }).click();
    const sent = await sentTo(state, `PATCH /api/v1/silences/${silence(2).silence_id}`);
    assert.deepEqual([sent.match.conditions, sent.window.end, sent.to, sent.until_recovered, sent.by], [[], "05:00", null, false, "Ann"]);
    assert.equal(await nameHere(page), ""); // Ann is who made it
  }));

test("the plan says who is on duty, and somebody is put in the place of it", () =>
  told(async (page, state) => {
    const card = page.getByRole("region", { name: "On duty" });
    await card.getByText(/until .+, then Ben/).waitFor();
    await card.getByText("Mon Tue, 22:00 to 06:00 Asia/Tokyo").waitFor();
    await card.getByRole("button", { name: "Put on duty" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Person").selectOption("Ben");
    await dialog.getByLabel("Until").fill("2999-01-01T06:00");
    await dialog.getByLabel("By", { exact: true }).fill("Ann");
    await dialog.getByRole("button", { name: "Save" }).click();
    const override = await sentTo(state, "POST /api/v1/duty/overrides");
    assert.deepEqual([override.person, override.to, override.from, override.by], ["Ben", "2998-12-31T21:00:00.000Z", undefined, "Ann"]);
    await dialog.waitFor({ state: "detached" });
    await card.getByRole("button", { name: "Remove: Ben" }).first().click();
    await sentTo(state, `DELETE /api/v1/duty/overrides/${state.duty.overrides[0]?.override_id ?? "0190a5d4-2a3b-7d8a-9c1d-000000000001"}`);
  }));

test("the weekly plan is changed as a whole", () =>
  told(async (page, state) => {
    await page.getByRole("button", { name: "Change the plan" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("group", { name: "Ben", exact: true }).getByRole("button", { name: "Remove this person" }).click();
    await dialog.getByRole("button", { name: "Add a person" }).click();
    await dialog.getByRole("button", { name: "Add a person" }).click();
    assert.equal(await dialog.getByRole("group", { name: "Person 3" }).getByLabel("From").inputValue(), "22:00"); // when the second ends
    await dialog.getByRole("group", { name: "Person 3" }).getByRole("button", { name: "Remove this person" }).click();
    const third = dialog.getByRole("group", { name: "Person 2" });
    assert.equal(await third.getByLabel("Told at").inputValue(), ""); // nobody gets the messages of another by mistake
    await third.getByLabel("Name").fill("千夏");
    await third.getByLabel("Told at").selectOption({ label: "LINE 当番グループ" });
    assert.equal(await third.getByRole("option", { name: "Northline automation" }).count(), 0); // a webhook
    await third.getByLabel("Sun").check();
    await dialog.getByRole("button", { name: "Save" }).click();
    const { people } = await sentTo(state, "PATCH /api/v1/duty");
    assert.deepEqual(people, [
      { name: "Ann", destination_id: destination(2).destination_id, windows: [{ weekdays: ["mon", "tue"], start: "22:00", end: "06:00", timezone: "Asia/Tokyo" }] },
      { name: "千夏", destination_id: destination(2).destination_id, windows: [{ weekdays: ["mon", "tue", "sun"], start: "06:00", end: "22:00", timezone: "Asia/Tokyo" }] },
    ]);
  }));

test("the wall says who is on duty, and that everything is silenced, and so does that of a room", () =>
  open(
    (gateway) => {
      gateway.monitors.set(monitor(1).monitor_id, monitor(1));
      const state = fillNotifications(gateway);
      state.silences = [silence(1, { match: {}, everything: true, next_at: state.duty.handover_at, incidents: [] })];
    },
    async (page, gateway) => {
      for (const form of ["", "?view=room"]) {
        await page.goto(`${gateway.url}/${form}`);
        await page.getByRole("definition").filter({ hasText: /^Ann until / }).waitFor();
        await page.getByRole("alert").filter({ hasText: "Everything is silenced. By Ann, until" }).waitFor();
        assert.equal(await page.locator("main.room").count(), form ? 1 : 0);
      }
    },
    { path: null },
  ));

const forms = { "en-GB": ["Add a route", "Only severe at night", "Put on duty", "Change the plan"], "ja-JP": ["ルートを追加", "夜間は重大なものだけ", "当番を交代", "予定を変更"] };
for (const look of looks) {
  test(`no form has a barrier: ${look.colorScheme}, ${look.locale}`, () =>
    told(async (page) => {
      for (const name of forms[look.locale]) {
        await page.getByRole("button", { name, exact: true }).focus();
        await page.keyboard.press("Enter");
        await page.getByRole("dialog").waitFor();
        assert.deepEqual(await barriers(page, "dialog[open]"), [], name);
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
        assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), name); // the focus is back
      }
    }, look));
}

test("a phone shows everything within its width", () =>
  told(
    async (page) => {
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 375);
      await page.getByRole("button", { name: "Add a route" }).click();
      const { x, width } = await page.getByRole("dialog").boundingBox();
      assert.ok(x >= 0 && x + width <= 375, `${x} + ${width}`);
    },
    { viewport: { width: 375, height: 812 } },
  ));

const delivered = (more) => ({
  event_id: null, event_type: null, monitor_id: monitor(1).monitor_id, stream_url: monitor(1).stream_url, incident_id: null, created_at: "2026-11-22T12:00:00Z", state: "failed", tried: 4,
  next_attempt_at: null, delivered_at: null, last_error: "HTTP 503", body: "", attempts: [], delivery_id: "0190a5d9-2a3b-7d8a-9c1d-000000000001",
  destination: { destination_id: destination(1).destination_id, name: "Slack #live-ops", kind: "slack" }, ...more,
});

test("deliveries to destinations are listed with their name, and what failed is sent again", () =>
  open(
    (gateway) => {
      gateway.monitors.set(monitor(1).monitor_id, monitor(1));
      gateway.routes.set("GET /api/v1/deliveries", () => [200, { deliveries: [delivered(), delivered({ delivery_id: "0190a5d9-2a3b-7d8a-9c1d-000000000002", monitor_id: null, stream_url: null })], next: null }]);
    },
    async (page, gateway) => {
      const sent = [];
      gateway.routes.set(`POST /api/v1/deliveries/${delivered().delivery_id}/replay`, () => (sent.push("one"), [202, {}]));
      gateway.routes.set("POST /api/v1/deliveries/replay", (body) => (sent.push(body), [202, { replayed: 2 }]));
      await page.goto(`${gateway.url}/deliveries?state=failed`);
      await page.getByText("Slack #live-ops · Channel 1").waitFor();
      await page.getByText("Slack #live-ops · several streams").waitFor();
      await page.getByRole("button", { name: "Redeliver" }).click();
      await page.getByRole("button", { name: "Queued again" }).waitFor();
      await page.getByRole("button", { name: "Send failed ones of 24 h again" }).click();
      await page.getByText("2 queued again").waitFor();
      assert.equal(sent[0], "one");
      assert.ok(Date.now() - Date.parse(sent[1].since) > 86_000_000);
    },
    { path: null },
  ));

test("an open incident is silenced for an hour, and wall and incident say so", () =>
  open(
    (gateway) => {
      gateway.monitors.set(monitor(1).monitor_id, monitor(1));
      gateway.incidents.set(incident(1).incident_id, incident(1));
    },
    async (page, gateway) => {
      const sent = [];
      gateway.routes.set("GET /api/v1/silences", () => [200, { silences: sent.map((s) => silence(1, { ...s, until_recovered: false, next_at: s.to, incidents: [incident(1).incident_id] })) }]);
      gateway.routes.set("POST /api/v1/silences", (body) => (sent.push(body), [201, silence(1, body)]));
      await page.goto(`${gateway.url}/incidents/${incident(1).incident_id}`);
      await page.getByRole("button", { name: "Silence for 1 h" }).click();
      await page.getByRole("textbox", { name: "Your name" }).fill("Ann");
      await page.getByRole("button", { name: "Save" }).last().click();
      await page.getByText(/^silenced until/).waitFor();
      assert.deepEqual([sent.length, sent[0].match, sent[0].by], [1, { monitors: [monitor(1).monitor_id] }, "Ann"]);
      assert.ok(Math.abs(Date.parse(sent[0].to) - Date.now() - 3_600_000) < 60_000, sent[0].to);
      await page.goto(gateway.url);
      await page.locator(".tile").getByText(/^silenced until/).waitFor();
    },
    { path: null },
  ));
