import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "../browser.mjs";
import { evidence, incident, monitor } from "../fakegateway.mjs";

const begin = Date.now() - 600_000;
const at = (sec) => new Date(begin + sec * 1000).toISOString();
const tokyo = (at, options) => at.toLocaleString("en-GB", { ...options, timeZone: "Asia/Tokyo" }).replace(",", "");
// clock is a time as the page writes it: with its day shortly after midnight.
const clock = (sec) => {
  const time = new Date(begin + sec * 1000);
  const day = { weekday: "short", day: "numeric", month: "short" };
  return `${tokyo(time, day) === tokyo(new Date(), day) ? "" : `${tokyo(time, day)} `}${tokyo(time, { timeStyle: "medium" })}`;
};
const page1 = `/incidents/${incident(1).incident_id}`;
const live = (page) => page.locator("html[data-link=live]").waitFor({ state: "attached" });

const file = (variant, sec) => ({ variant, media_type: variant === "levels" ? "application/json" : "image/jpeg", size: 1000, width: 640, height: 360, taken_at: at(sec), measure: 12 });
const captured = (n, condition, phase, variants) => evidence(n, { monitor_id: monitor(1).monitor_id, incident_id: incident(1).incident_id, event_id: `event-${n}`, condition, phase, note: null, variants });
const condition = (name, from, to, event) => ({ name, started_at: at(from), last_started_at: at(from), ended_at: to && at(to), count: 1, longest_sec: 0, spans: [{ started_at: at(from), ended_at: to && at(to) }], alert: { event_id: event, at: at(from + 30), duration_sec: 30, threshold_sec: 30, criteria: null, reason: null, detail: null } });

// Black from 0 to 100 s, silent from 50 s on: at once, one after the other began.
function fill(gateway) {
  gateway.monitors.set(monitor(1).monitor_id, monitor(1));
  gateway.incidents.set(incident(1).incident_id, incident(1, { started_at: at(0), conditions: [condition("black", 0, 100, "event-1"), condition("silent", 50, null, "event-2")] }));
  gateway.evidence = [
    captured(3, "black", "recovery", [file("recovery", 101)]),
    captured(2, "silent", "alert", [file("before", 49), file("onset", 51), file("levels", 51)]),
    captured(1, "black", "alert", [file("before", -1), file("onset", 1), file("clip", -30)]),
  ];
  gateway.version = 1;
}
const shots = (page) => page.locator(".shot").evaluateAll((all) => all.map((e) => e.querySelector("b").textContent + " " + (e.querySelector(".num")?.textContent ?? "")));

test("of two conditions at once, pictures, clip and lanes are those of the chosen one, in the order of time", () =>
  open(fill, async (page, gateway) => {
    const asked = [];
    gateway.routes.set(`GET /api/v1/monitors/${monitor(1).monitor_id}/timeline`, (_, request) => {
      const query = new URL(request.url, gateway.url).searchParams;
      // The wall, which was open before, asks for the last hour.
      if (new Date(query.get("to")) - new Date(query.get("from")) < 3600_000) asked.push(query.get("from"));
      return [404, { error: { code: "NOT_FOUND", message: "none" } }];
    });
    await page.goto(gateway.url + page1);
    const choice = page.getByRole("navigation", { name: "Condition that is shown" });
    await choice.locator("[aria-current]", { hasText: "No sound" }).waitFor(); // the one that lasts
    await page.locator(".shot.bad").waitFor();
    assert.deepEqual(await shots(page), [`Before ${clock(49)}`, `Onset ${clock(51)}`, "Now "]);
    assert.equal(await page.locator("video").count(), 0);
    await choice.getByRole("link", { name: "Black video" }).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL("**?condition=black");
    await page.locator("video").waitFor();
    assert.deepEqual(await shots(page), [`Before ${clock(-1)}`, `Onset ${clock(1)}`, `After ${clock(101)}`]);
    await page.waitForFunction(() => !document.querySelector(".player .plots"), null, { timeout: 5000 });
    assert.deepEqual([...new Set(asked)].sort(), [at(-300), at(50 - 300)].sort());
  }, { path: null }));

test("a further detector needs no page: wall, incident and events have the words of its row", () =>
  open(fill, async (page, gateway) => {
    const one = incident(1, { severity: 0, severity_now: 0, started_at: at(580), conditions: [{ ...condition("imagined", 580, null, "event-3"), alert: { ...condition("imagined", 580, null, "event-3").alert, criteria: { difference: 0.25 } } }] });
    gateway.updateIncident(one);
    gateway.evidence = [captured(3, "imagined", "alert", [file("before", 579), { ...file("onset", 581), rendition_height: 360 }])];
    gateway.routes.set(`GET /api/v1/monitors/${monitor(1).monitor_id}`, () => [200, monitor(1)]);
    gateway.routes.set(`GET /api/v1/monitors/${monitor(1).monitor_id}/events`, () => [200, { events: [
      { event_id: "event-4", event_type: "alert.imaginary_recovered", created_at: at(590), webhook_status: "sent", webhook_last_error: null, sent_at: at(590), attempts: [], payload: { monitor_id: monitor(1).monitor_id } },
      { event_id: "event-3", event_type: "alert.imaginary", created_at: at(585), webhook_status: "sent", webhook_last_error: null, sent_at: at(585), attempts: [], payload: { monitor_id: monitor(1).monitor_id } },
    ], pagination: { total: 2 } }]);
    await page.locator(".tile", { hasText: "Imagined video" }).getByText("Imagined for").waitFor();
    await page.goto(gateway.url + page1);
    await page.locator(".shot.bad").getByText("360p · luma 5 %").waitFor();
    const why = page.getByRole("region", { name: "Why this is an incident" });
    await why.getByText("Does anybody dream?").waitFor();
    await why.getByText("Imagined is a difference over 0.25.").waitFor();
    await why.getByText(/^Medium severity from .* on, if it lasts\.$/).waitFor(); // by its row, after a minute
    await page.goto(`${gateway.url}/monitors/${monitor(1).monitor_id}`);
    const events = page.getByRole("region", { name: "Events" });
    await events.getByText("Picture is imagined").waitFor();
    await events.getByText("Picture is real").waitFor();
    await page.goto(`${gateway.url}/incidents`);
    await page.getByRole("combobox", { name: "Condition" }).selectOption({ label: "Imagined video" });
    await page.waitForURL("**condition=imagined");
    assert.equal(gateway.requests.filter((r) => r === "GET /api/v1/detectors").length, 4, "once for each load of the page");
  }));

test("a picture that is added is shown, though another incident gets one at once and the gateway is busy at first", () =>
  open(fill, async (page, gateway) => {
    const [recovery, ...before] = gateway.evidence;
    gateway.evidence = before;
    await page.goto(`${gateway.url}${page1}?condition=black`);
    await page.locator(".shot.bad").waitFor();
    let busy = 1;
    gateway.routes.set("GET /api/v1/evidence", () =>
      busy-- > 0 ? [503, { error: { code: "UNAVAILABLE", message: "busy" } }] : [200, { evidence: [recovery, ...before], next: null }],
    );
    gateway.append("evidence.added", recovery);
    gateway.append("evidence.added", evidence(4)); // within the 200 ms of one batch
    await page.locator(".shot", { hasText: "After" }).getByText(clock(101)).waitFor();
    assert.ok(busy < 0, "the first answer was a refusal");
  }, { path: null }));

test("a phone shows who has the incident, or that nobody has", () =>
  open(
    fill,
    async (page, gateway) => {
      const owner = page.locator(".head").getByText("Nobody has it");
      await owner.waitFor();
      const one = gateway.incidents.get(incident(1).incident_id);
      gateway.updateIncident({ ...one, acknowledged_by: "Ann", acknowledged_at: at(300), updated_at: at(301) });
      await page.locator(".head").getByText(`Ann has it since ${clock(300)}`).waitFor();
    },
    { path: page1, viewport: { width: 375, height: 812 } },
  ));

test("what got worse than it was acknowledged can be acknowledged again", () =>
  open(fill, async (page, gateway) => {
    await page.evaluate(() => localStorage.setItem("stream-monitor.name", '"Ben"'));
    await page.goto(gateway.url + page1);
    const take = page.locator(".action-bar").getByRole("button", { name: "Acknowledge" });
    await take.waitFor();
    const one = { ...gateway.incidents.get(incident(1).incident_id), acknowledged_by: "Ann", acknowledged_at: at(300), acknowledged_severity: 1, severity: 1 };
    gateway.updateIncident({ ...one, updated_at: at(301) });
    await take.waitFor({ state: "detached" });
    gateway.updateIncident({ ...one, severity: 2, updated_at: at(302) });
    await page.locator(".head").getByText(`Ann has it since ${clock(300)}, worse since then`).waitFor();
    await page.locator("h1").getByText("001").waitFor();
    await page.locator(".action-bar").getByRole("link", { name: "as Ben" }).waitFor();
    await take.click();
    await page.locator(".head").getByText("Ben has it since").waitFor();
    await take.waitFor({ state: "detached" });
  }));

test("the picture of now is awaited in words, has its time, age and luma, and an old one is not called now", () =>
  open(fill, async (page, gateway) => {
    const seen = page.getByRole("region", { name: "What was seen" });
    await seen.getByText("Fetching …").waitFor();
    gateway.skewMs = -45_000; // the picture was taken long before it came; the page moves its clock once a second
    gateway.addThumbnail(monitor(1));
    gateway.skewMs = 0;
    const now = seen.locator(".shot").nth(2);
    await now.getByText("Last picture").waitFor();
    assert.match(await now.locator("figcaption").innerText(), /[4-9]\d s ago/);
    gateway.addThumbnail(monitor(1));
    await now.getByText("Now", { exact: true }).waitFor();
    await now.getByText(/^luma \d+ %$/).waitFor();
    assert.match(await now.locator("figcaption").innerText(), /^Now\s+\d\d:\d\d:\d\d\s+\d+ s ago\s+luma/);
  }, { path: page1 }));

const delivery = {
  event_id: "event-1", event_type: "alert.blackout", monitor_id: monitor(1).monitor_id, stream_url: monitor(1).stream_url, incident_id: incident(1).incident_id,
  created_at: at(30), state: "delivered", tried: 1, next_attempt_at: null, delivered_at: at(31), last_error: null, body: "{}",
  attempts: [{ at: at(30), status: 204, error: null, request: { url: "https://receiver.example/a/path/that/is/long", headers: {}, duration_ms: 10 }, response: null }],
};

test("a phone shows what was sent, to which address, and what that answered, within its width", () =>
  open(
    (gateway) => (fill(gateway), gateway.routes.set("GET /api/v1/deliveries", () => [200, { deliveries: [delivery], next: null }])),
    async (page) => {
      const row = page.getByRole("region", { name: "What was sent" }).getByRole("row", { name: "Picture is black" });
      await row.getByText("answered with 204").waitFor();
      for (const part of [row.getByText("https://receiver.example/"), row.getByRole("button", { name: "Redeliver" })]) {
        const { x, width } = await part.boundingBox();
        assert.ok(x >= 0 && x + width <= 375, `${x} + ${width}`);
      }
    },
    { path: page1, viewport: { width: 375, height: 812 } },
  ));

test("the log and what was sent keep the time at which somebody was first told", () =>
  open(
    (gateway) => {
      fill(gateway);
      const attempt = (sec, error = null) => ({ ...delivery.attempts[0], at: at(sec), error });
      const messages = { ...delivery, event_id: null, event_type: null, delivery_id: "0190a5d9-2a3b-7d8a-9c1d-000000000001", destination: { destination_id: "d", name: "ben-phone", kind: "ntfy" }, body: "", delivered_at: at(112.5), attempts: [attempt(31, "HTTP 503"), attempt(32.5), attempt(56), attempt(112)] };
      gateway.routes.set("GET /api/v1/deliveries", () => [200, { deliveries: [messages], next: null }]);
    },
    async (page) => {
      const row = page.getByRole("region", { name: "What was sent" }).getByRole("row", { name: "Messages about it" });
      await row.waitFor();
      const cells = await row.getByRole("cell").allInnerTexts();
      assert.equal(cells[3], "4");
      assert.match(cells[4], /^2\.5\s?s\s+newest at .*\d\d:\d\d:\d\d$/);
      const line = (words) => page.getByRole("region", { name: "Log" }).getByRole("listitem").filter({ hasText: words }).locator("time").getAttribute("datetime");
      assert.deepEqual([await line("Delivered: ben-phone"), await line("Delivered last: ben-phone")], [at(32.5), at(112.5)]);
    },
    { path: page1 },
  ));

test("a false positive is asked for in the menu of a phone, and said to close nothing", () =>
  open(
    fill,
    async (page, gateway) => {
      const sent = [];
      gateway.routes.set(`POST /api/v1/incidents/${incident(1).incident_id}/label`, (body) => (sent.push(body.false_positive), [200, { kind: "label", at: at(500), by: "Ann", text: null, false_positive: true }]));
      await page.goto(gateway.url + page1);
      const button = page.getByRole("button", { name: "False positive" });
      await page.locator(".action-bar").waitFor();
      assert.equal(await button.count(), 0);
      await page.getByLabel("More actions").click();
      const question = page.getByRole("alertdialog", { name: "Call this incident a false positive?" });
      await button.click();
      await page.keyboard.press("Escape");
      await question.waitFor({ state: "detached" });
      assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), "More actions");
      await page.keyboard.press("Enter");
      await button.click();
      await question.getByText("closes and silences nothing").waitFor();
      await question.getByRole("button", { name: "False positive" }).click();
      await page.getByRole("textbox", { name: "Your name" }).fill("Ann");
      await page.getByRole("button", { name: "Save" }).last().click();
      for (const until = Date.now() + 10_000; sent.length === 0 && Date.now() < until; ) await new Promise((resolve) => setTimeout(resolve, 50));
      assert.deepEqual(sent, [true]);
    },
    { path: null, viewport: { width: 375, height: 812 } },
  ));

test("the log says when the severity rose, and to what", () =>
  open(fill, async (page, gateway) => {
    const line = (kind, sec, severity = null) => ({ kind, at: at(sec), by: null, text: null, false_positive: null, severity });
    gateway.updateIncident({ ...gateway.incidents.get(incident(1).incident_id), log: [line("opened", 30), line("severity_raised", 80, 2)] });
    await page.goto(gateway.url + page1);
    await page.getByRole("region", { name: "Log" }).getByRole("listitem").filter({ hasText: clock(80) }).filter({ hasText: "Raised to high severity" }).waitFor();
  }, { path: null }));

test("an error is told in Japanese by its code, and its own text is marked as English", () =>
  open(
    (gateway) => {
      const last_error = "the segment could not be read: HTTP 403";
      const alert = { event_id: "event-1", at: at(60), duration_sec: 60, threshold_sec: 60, criteria: null, reason: "segment", detail: "HTTP 403 Forbidden" };
      gateway.monitors.set(monitor(1).monitor_id, monitor(1, { last_error }));
      gateway.incidents.set(incident(1).incident_id, incident(1, { conditions: [{ ...condition("no_media", 0, null, "event-1"), alert }] }));
      gateway.version = 1;
    },
    async (page, gateway) => {
      const why = page.getByRole("region", { name: "障害と判断した理由" });
      await why.getByText("アラート時：セグメントを取得できない。").waitFor();
      await why.getByText("直近のエラー：").waitFor();
      assert.deepEqual(await why.locator("[lang=en]").allTextContents(), ["HTTP 403 Forbidden", "the segment could not be read: HTTP 403"]);
      await page.goto(gateway.url);
      await page.locator(".tile small", { hasText: "直近のエラー：" }).locator("[lang=en]").waitFor();
    },
    { path: page1, locale: "ja-JP" },
  ));

test("an incident of one condition has nothing to choose", () =>
  open((gateway) => (fill(gateway), gateway.incidents.set(incident(1).incident_id, incident(1))), async (page) => {
    await page.locator(".shot.bad").waitFor();
    assert.equal(await page.locator(".choice").count(), 0);
  }, { path: page1 }));

test("what a person has resolved is said while it lasts, and when it is over", () =>
  open(fill, async (page, gateway) => {
    const id = incident(1).incident_id;
    const one = gateway.incidents.get(id);
    const update = (ended) => gateway.updateIncident({ ...one, state: "resolved", resolved_at: at(500), resolved_by: "Ann", severity_now: null, updated_at: ended ?? at(500), conditions: [{ ...one.conditions[0], ended_at: ended }] });
    update(null);
    await page.goto(gateway.url + page1);
    await page.getByText("resolved by Ann, still: Black video").waitFor();
    await page.goto(gateway.url + "/incidents");
    await page.getByText("resolved by Ann, still: Black video").waitFor();
    update(at(590));
    await page.getByText("resolved by Ann", { exact: true }).waitFor();
    assert.equal(await page.getByText("Nobody was needed").count(), 0);
  }, { path: null }));

test("an open incident is resolved once somebody confirms it, and a resolved one is not", () =>
  open(fill, async (page, gateway) => {
    const sent = [];
    gateway.routes.set(`POST /api/v1/incidents/${incident(1).incident_id}/resolve`, (body) => {
      sent.push(body);
      const one = gateway.incidents.get(incident(1).incident_id);
      const log = [{ kind: "resolved", at: at(500), by: "Ann", text: null, false_positive: null }];
      gateway.updateIncident({ ...one, log, state: "resolved", resolved_at: at(500), updated_at: at(601), conditions: one.conditions.map((c) => ({ ...c, ended_at: c.ended_at ?? at(500) })) });
      return [200, log[0]];
    });
    await page.goto(gateway.url + page1);
    const button = page.getByRole("button", { name: "Resolve" });
    const question = page.getByRole("alertdialog", { name: "Resolve this incident?" });
    await button.click();
    await question.getByText("Another incident opens").waitFor();
    await page.keyboard.press("Enter"); // the safe answer has the focus
    await question.waitFor({ state: "detached" });
    assert.deepEqual(sent, []);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Resolve");
    const lasting = gateway.incidents.get(incident(1).incident_id);
    gateway.updateIncident({ ...lasting, updated_at: at(600), conditions: lasting.conditions.map((c) => ({ ...c, ended_at: c.ended_at ?? at(500) })) });
    await page.getByRole("heading", { level: 1, name: "recovered" }).waitFor();
    await page.keyboard.press("Enter");
    await question.getByText("All is good again").waitFor(); // nothing lasts that it could warn of
    await page.keyboard.press("Escape");
    await question.waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Your name" }).fill("Ann");
    await page.getByRole("button", { name: "Save" }).last().click();
    await page.getByText("Ann resolved the incident").waitFor();
    assert.equal(await button.count(), 0);
    assert.equal(sent.length, 1);
    assert.equal(sent[0].by, "Ann");
    assert.match(sent[0].op_id, /^[0-9a-f]{32}$/);
  }, { path: null }));

test("evidence that was added while the link was lost is there once it is back", () =>
  open(fill, async (page, gateway) => {
    const all = gateway.evidence;
    gateway.evidence = [];
    await page.goto(gateway.url + page1);
    await live(page);
    await page.getByText("No picture was kept").first().waitFor();
    await gateway.vanish();
    await page.locator("html[data-link=lost]").waitFor({ state: "attached", timeout: 17_000 });
    gateway.evidence = all;
    gateway.version++;
    await gateway.comeBack();
    await page.locator(".shot.bad").waitFor();
  }, { path: null }));

test("list, page and wall add up what came back, and name the second condition and everybody who had it", () =>
  open(
    (gateway) => {
      fill(gateway);
      const spans = [[0, 120], [240, 360], [500, null]].map(([from, to]) => ({ started_at: at(from), ended_at: to && at(to) }));
      const silent = { ...condition("silent", 0, null, "event-2"), last_started_at: at(500), count: 3, spans };
      const had = [{ by: "Ann", at: at(30), severity: 1 }, { by: "Bob", at: at(250), severity: 2 }];
      const one = incident(1, { severity: 3, severity_now: 1, reopened: 2, started_at: at(0), conditions: [silent, condition("black", 300, 400, "event-1")], acknowledgements: had });
      gateway.incidents.set(one.incident_id, one);
    },
    async (page, gateway) => {
      const total = /3 times, [6-8] min \d+ s in all/; // 120 + 160 + 100 s, and as long as this file runs
      await page.locator(".tile", { hasText: "earlier Black video" }).getByText(total).waitFor();
      await page.getByText("medium severity, at worst critical").first().waitFor();
      await page.goto(`${gateway.url}/incidents`);
      await page.locator(".incident-row", { hasText: "earlier Black video" }).getByText(total).waitFor();
      await page.goto(gateway.url + page1);
      await page.locator(".head").getByText(total).waitFor();
      await page.locator(".owner", { hasText: "Nobody has it" }).getByText(`Ann\u2069 at ${clock(30)}`).waitFor();
      await page.locator(".why-box", { hasText: /3 times, [5-7] min/ }).waitFor();
      const resolved = { ...gateway.incidents.get(incident(1).incident_id), state: "resolved", severity_now: null, resolved_at: at(600), updated_at: at(601) };
      gateway.updateIncident({ ...resolved, conditions: resolved.conditions.map((c) => ({ ...c, ended_at: c.ended_at ?? at(560), spans: c.spans.map((s) => ({ ...s, ended_at: s.ended_at ?? at(560) })) })) });
      await page.locator(".head b.num", { hasText: "5 min 40 s" }).waitFor(); // 120 + 160 + 60 s
      await page.locator(".owner", { hasText: "acknowledged by" }).getByText("Bob").waitFor();
    },
  ));

const opinions = {
  en: { why: "Why this is an incident", log: "Log", label: "Second opinion: end screen (93 % sure, low severity). a logo", drop: "Second opinion: nobody needs to know", state: "Dropped" },
  ja: { why: "障害と判断した理由", log: "経過", label: "セカンドオピニオン：end screen（確信度93%、重大度：低）。 a logo", drop: "セカンドオピニオン：通知は不要と判断", state: "送信見送り" },
};
for (const [locale, words] of Object.entries(opinions)) {
  test(`a second opinion and the message that it dropped are shown, ${locale}`, () =>
    open(
      (gateway) => {
        fill(gateway);
        const opinion = (verdict, more = {}) => ({ verdict, asked_at: at(32), answered_at: at(33), label: null, confidence: null, severity: null, reason: null, ...more });
        const [black, silent] = gateway.incidents.get(incident(1).incident_id).conditions;
        black.alert.opinion = opinion("drop", { reason: "the end screen" });
        silent.alert.opinion = opinion("label", { label: "end screen", confidence: 0.93, severity: 0, reason: "a logo" });
        const line = { kind: "opinion", at: at(33), by: null, text: "the end screen", false_positive: null, severity: null, verdict: "drop" };
        gateway.incidents.set(incident(1).incident_id, { ...gateway.incidents.get(incident(1).incident_id), log: [line] });
        const dropped = { ...delivery, event_id: null, event_type: null, delivery_id: "0190a5d9-2a3b-7d8a-9c1d-000000000001", destination: { destination_id: "d", name: "people", kind: "slack" }, state: "dropped", tried: 0, delivered_at: null, last_error: "dropped by the second opinion: the end screen", body: "", attempts: [] };
        gateway.routes.set("GET /api/v1/deliveries", () => [200, { deliveries: [dropped], next: null }]);
      },
      async (page) => {
        const why = page.getByRole("region", { name: words.why });
        await why.getByText(words.label).waitFor();
        await why.getByText(words.drop).filter({ hasText: "the end screen" }).waitFor();
        await page.getByRole("region", { name: words.log }).getByRole("listitem").filter({ hasText: words.drop }).filter({ hasText: "the end screen" }).waitFor();
        const row = page.getByRole("row").filter({ hasText: "people" });
        await row.getByText(words.state, { exact: true }).waitFor();
        await row.getByText("dropped by the second opinion: the end screen").waitFor();
        assert.ok(await row.getByRole("button").isDisabled());
        if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/opinion-${locale}.png`, fullPage: true });
      },
      { path: page1, locale: locale === "ja" ? "ja-JP" : "en-GB" },
    ));
}
