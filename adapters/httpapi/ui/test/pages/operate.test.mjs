import assert from "node:assert/strict";
import { test } from "node:test";
import { barriers, open } from "../browser.mjs";
import { channelID } from "../fakechannels.mjs";
import { incident, monitor } from "../fakegateway.mjs";
import { at, cookieJars, delivery, eventID, fill, hostile, id, pages, preview, typeWebhook } from "../fakepages.mjs";

test("a wrong key is refused with a reason, and the right one leads to the page that was asked for", () =>
  open(fill, async (page, gateway) => {
    gateway.routes.set("POST /api/v1/session", ({ api_key }) => (api_key === "right" ? [200, {}] : [401, { error: { code: "UNAUTHORIZED", message: "api_key is wrong" } }]));
    await page.goto(`${gateway.url}/signin?next=${encodeURIComponent("/deliveries?state=failed")}`);
    await page.getByLabel("API key", { exact: true }).fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("That key is not known here.").waitFor();
    await page.getByLabel("API key", { exact: true }).fill("right");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL("**/deliveries?state=failed");
  }, { path: null }));

test("a key that may only view sees what it may not do, and why", () =>
  open((gateway) => (fill(gateway), (gateway.role = "view")), async (page, gateway) => {
    let previews = 0;
    gateway.routes.set("POST /api/v1/preview", () => (previews++, [200, preview]));
    const reason = "The key “ann” may not do this: it takes one with the role operate or more.";
    await page.goto(`${gateway.url}/monitors/${id}`);
    await page.locator(`fieldset[title="${reason}"]`).first().waitFor();
    assert.ok(await page.getByRole("button", { name: "Stop watching" }).isDisabled());
    await page.goto(`${gateway.url}${pages.incident}`);
    await page.locator("fieldset[disabled]").first().waitFor();
    assert.ok(await page.getByRole("button", { name: "Acknowledge" }).isDisabled());
    await page.keyboard.press("a");
    await page.getByRole("alert").getByText(reason).waitFor();
    await page.goto(gateway.url + pages.register);
    await page.getByRole("note").getByText(reason).waitFor();
    assert.ok(await page.getByRole("button", { name: "Watch this stream" }).isDisabled());
    await page.goto(`${gateway.url}/settings`);
    await page.getByText("Signed in with the key “ann”, which has the role view.").waitFor();
    assert.equal(previews, 0);
  }, { path: null }));

test("the settings show the units of the API, and why it gives no answer", () =>
  open(fill, async (page) => {
    const card = page.locator(".service");
    await card.getByText(/^7,001 of 10,000, until .*JST$/).waitFor();
    await card.getByText(/^about 120 streams at /).waitFor();
    await card.getByText(/^the units are used up \(/).waitFor();
    await card.getByText("Asked again").first().waitFor();
    await card.getByText(/^about 12 streams at /).waitFor();
  }, { path: "/settings" }));

test("who is not signed in gets to the sign-in", () =>
  open((gateway) => (gateway.signedOut = true), async (page) => {
    await page.waitForURL("**/signin?next=%2F");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  }));

test("a stream is seen before it is registered, and a lost answer registers it once", () =>
  open(fill, async (page, gateway) => {
    const keys = [];
    const sent = [];
    gateway.routes.set("POST /api/v1/monitors", (registration, request) => {
      keys.push(request.headers["idempotency-key"]);
      sent.push(registration);
      return keys.length === 1 ? [503, { error: { code: "UNAVAILABLE", message: "later" } }] : [201, { monitor_id: id }];
    });
    await page.goto(`${gateway.url}/register`);
    await page.getByLabel("Address of the stream").fill(monitor(9).stream_url);
    await page.getByText("planned, not live yet").waitFor();
    await page.getByText("An event is sent if it is not live.").waitFor();
    assert.equal(await page.locator(".sees-title").textContent(), hostile);
    await page.getByRole("radio", { name: /Music/ }).check();
    await typeWebhook(page, "https://example.com/hook");
    await page.getByRole("button", { name: "Send a test" }).click();
    await page.getByText("The receiver did not accept it.").waitFor();
    await page.getByText("sha256=4b6ac1ed").waitFor();
    await page.getByRole("button", { name: "Watch this stream" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByRole("button", { name: "Watch this stream" }).click();
    await page.waitForURL(`**/monitors/${id}`);
    assert.equal(keys.length, 2);
    assert.equal(keys[0], keys[1]);
    assert.equal(sent[1].config.silence_threshold_sec, 60);
    assert.equal(sent[1].config.blackout_threshold_sec, 30);
    assert.ok(sent[1].config.scheduled_start_time);
  }, { path: null }));

test("what was looked up goes with its address, and what was typed stays", () =>
  open(fill, async (page, gateway) => {
    const [upcoming, live, gone] = [7, 8, 9].map((n) => monitor(n).stream_url);
    const found = {
      [upcoming]: { ...preview, stream_url: upcoming, title: "Tomorrow's show", channel: "First channel" },
      [live]: { ...preview, stream_url: live, title: "On now", channel: "Second channel", state: "live", reason: "live", scheduled_start_at: null },
    };
    gateway.routes.set("POST /api/v1/preview", ({ stream_url }) => (stream_url === gone ? [502, { error: { code: "UNAVAILABLE", message: "no answer" } }] : [200, found[stream_url] ?? preview]));
    const sent = [];
    gateway.routes.set("POST /api/v1/monitors", (registration) => (sent.push(registration), [201, { monitor_id: id }]));
    const address = page.getByLabel("Address of the stream");
    for (const { typed, between } of [{}, { between: gone }, { between: "no address" }, { typed: "My own title" }]) {
      await page.goto(`${gateway.url}/register`);
      await address.fill(upcoming);
      await page.getByText("planned, not live yet").waitFor();
      if (typed) {
        await page.getByText("Change single values").click();
        assert.equal(await page.locator("#set-title").inputValue(), "Tomorrow's show");
        await page.locator("#set-title").fill(typed);
      }
      if (between) {
        await address.fill(between);
        await page.getByText("planned, not live yet").waitFor({ state: "detached" });
        if (between === gone) await page.getByText("no answer").waitFor();
      }
      await address.fill(live);
      await page.getByText("live now").first().waitFor();
      await typeWebhook(page, "https://example.com/hook");
      await page.getByRole("button", { name: "Watch this stream" }).click();
      await page.waitForURL(`**/monitors/${id}`);
      const { stream_url, metadata, config } = sent.at(-1);
      assert.deepEqual([stream_url, metadata, config.scheduled_start_time], [live, { channel_name: "Second channel", stream_title: typed ?? "On now" }, undefined]);
    }
  }));

const duplicate = { field: "stream_url", code: "DUPLICATE_MONITOR", message: "it is already being watched by mon-7" };

test("what would be refused is said before it is submitted", () =>
  open(fill, async (page, gateway) => {
    gateway.routes.set("POST /api/v1/preview", () => [200, { ...preview, problems: [duplicate] }]);
    await page.goto(gateway.url + pages.register);
    await page.getByText("Address of the stream: This stream is watched already.").waitFor();
    assert.equal(await page.locator(".problems [lang=en]").textContent(), duplicate.message);
    assert.equal(await page.getByText("Can be registered").count(), 0);
  }, { path: null }));

test("a refused duplicate links to what is there already, before and after it is sent", () =>
  open(fill, async (page, gateway) => {
    const existing = { field: "stream_url", code: "DUPLICATE_MONITOR", message: "is already being watched", existing_id: monitor(2).monitor_id };
    gateway.routes.set("POST /api/v1/preview", () => [200, { ...preview, state: "unavailable", reason: "members_only", problems: [existing, { ...existing, message: "of before", existing_id: "mon-7" }] }]);
    gateway.routes.set("POST /api/v1/monitors", () => [409, { error: existing }]);
    await page.goto(gateway.url + pages.register);
    await page.locator(".problems a").nth(1).waitFor();
    await page.getByText("reason: the video is for members only").waitFor();
    assert.deepEqual(await page.locator(".problems a").evaluateAll((links) => links.map((a) => [a.getAttribute("href"), a.textContent])), [[`/monitors/${monitor(2).monitor_id}`, "Channel 2"], ["/monitors/mon-7", "mon-7"]]);
    await typeWebhook(page, "https://example.com/hook");
    await page.getByRole("button", { name: "Watch this stream" }).click();
    await page.getByRole("alert").getByRole("link", { name: "Channel 2" }).click();
    await page.waitForURL(`**/monitors/${monitor(2).monitor_id}`);
    gateway.routes.set("POST /api/v1/channels", () => [409, { error: { code: "DUPLICATE_CHANNEL", message: "is registered already", existing_id: channelID } }]);
    await page.goto(gateway.url + pages["register a channel"]);
    await typeWebhook(page, "https://example.com/hook");
    await page.getByRole("button", { name: "Watch this channel" }).click();
    await page.getByRole("alert").getByRole("link", { name: "Show the channel" }).click();
    await page.waitForURL(`**/channels/${channelID}`);
  }, { path: null }));

test("refusals are Japanese on a Japanese page, and what the API adds is marked as English", () =>
  open(
    fill,
    async (page, gateway) => {
      gateway.routes.set("POST /api/v1/preview", () => [200, { ...preview, problems: [duplicate] }]);
      gateway.routes.set("POST /api/v1/monitors", () => [429, { error: { code: "MAX_MONITORS_EXCEEDED", message: "50 monitors are active" } }]);
      await page.goto(gateway.url + pages.register);
      await page.getByText("配信のアドレス：この配信はすでに監視しています。").waitFor();
      await typeWebhook(page, "https://example.com/hook");
      await page.getByRole("button", { name: "この配信を監視" }).click();
      await page.getByRole("alert").getByText("同時に監視できる配信の上限に達しています。").waitFor();
      assert.equal(await page.getByRole("alert").locator("[lang=en]").textContent(), "50 monitors are active");
    },
    { path: null, locale: "ja-JP" },
  ));

// refuseHook answers a preview as a gateway does that refuses one webhook and knows the stream.
function refuseHook(asked) {
  return (sent) => {
    asked.push(sent);
    const problems = sent.callback_url === "https://bad.example.com/" ? [{ field: "callback_url", code: "INVALID_URL", message: "bad.example.com is in a private network" }] : [];
    if (sent.stream_url) return [200, { ...preview, problems }];
    return [200, { ...preview, stream_url: null, title: null, state: "unknown", problems: [{ field: "stream_url", code: "INVALID_URL", message: "is missing" }, ...problems] }];
  };
}

test("a webhook is checked while it is typed, without another look at the stream, and its refusal goes once it is corrected", () =>
  open(fill, async (page, gateway) => {
    const asked = [];
    gateway.routes.set("POST /api/v1/preview", refuseHook(asked));
    await page.clock.install();
    await page.goto(gateway.url + pages.register);
    await page.getByText("Can be registered").waitFor();
    // A check waits for 7 s. One that the page takes back while it is drawn anew waits as long again.
    const checked = async (url) => {
      await page.getByText("Checking what you changed …").waitFor();
      while (asked.at(-1).callback_url !== url || (await page.getByText("Checking what you changed …").isVisible())) await page.clock.fastForward(7000);
    };
    await typeWebhook(page, "https://bad.example.com/");
    await checked("https://bad.example.com/");
    await page.getByText("Webhook: Give an https address").waitFor();
    assert.equal(await page.getByText("Can be registered").count(), 0);
    await typeWebhook(page, "https://good.example.com/");
    await page.getByText("Webhook: Give an https address").waitFor({ state: "detached" });
    await checked("https://good.example.com/");
    await page.getByText("Can be registered").waitFor();
    assert.equal(await page.locator(".sees-title").textContent(), hostile);
    assert.deepEqual([asked[0].stream_url, ...new Set(asked.slice(1).map((sent) => sent.stream_url))], [preview.stream_url, undefined]);
  }));

test("a change of thresholds sends only what differs", () =>
  open(fill, async (page, gateway) => {
    let change;
    gateway.routes.set(`PATCH /api/v1/monitors/${id}`, (sent) => ((change = sent), [200, gateway.monitors.get(id)]));
    await page.goto(gateway.url + pages.monitor);
    const kept = "Kept in the file of live-ops. The next “stream-monitor apply” undoes what is changed here.";
    await page.getByRole("definition").getByText(kept).waitFor();
    await page.getByRole("button", { name: "Change" }).first().click();
    await page.getByRole("dialog").getByText(kept).waitFor();
    await page.getByLabel("Black: alert after, s").fill("15");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator("dialog[open]").waitFor({ state: "detached" });
    assert.deepEqual(change, { config: { blackout_threshold_sec: 15 } });
  }, { path: null }));

test("a monitor whose stream goes black while its page is open counts since then", () =>
  open(fill, async (page, gateway) => {
    await page.locator(".lanes canvas").first().waitFor();
    assert.equal(await page.locator(".monitor-head .big").count(), 0);
    gateway.updateIncident(incident(1));
    await page.locator(".monitor-head .big", { hasText: /1 min \d+ s/ }).waitFor();
  }, { path: pages.monitor }));

test("a picture is asked for once it is announced, not before", () =>
  open(fill, async (page, gateway) => {
    const path = `GET /api/v1/monitors/${id}/thumbnail`;
    await page.goto(gateway.url + pages.monitor);
    await page.locator("html[data-link=live]").waitFor({ state: "attached" });
    await page.getByRole("img", { name: "no picture yet" }).waitFor();
    assert.equal(gateway.requests.includes(path), false);
    gateway.addThumbnail(monitor(1));
    await page.locator(".monitor-picture img").waitFor();
    assert.equal(gateway.requests.filter((r) => r === path).length, 1);
  }, { path: null }));

test("a monitor that is deleted while its page is open says so", () =>
  open(fill, async (page, gateway) => {
    await page.locator(".lanes canvas").first().waitFor();
    gateway.routes.delete(`GET /api/v1/monitors/${id}`);
    gateway.updateMonitor(monitor(1, { status: "stopped", ended_at: at(0) }));
    await page.getByText("There is no such monitor.").waitFor();
  }, { path: pages.monitor }));

test("the span of a history is in the address, and the same data are a table", () =>
  open(fill, async (page) => {
    await page.getByRole("button", { name: "7 d" }).click();
    await page.waitForURL("**?span=7d");
    await page.getByText("As a table").click();
    await page.getByRole("cell", { name: "black" }).waitFor();
  }, { path: pages.monitor }));

test("a phone has chosen no delivery until somebody does, and then shows it alone", () =>
  open(
    fill,
    async (page) => {
      const row = page.getByRole("list", { name: "Deliveries, newest first" }).getByRole("link");
      await row.waitFor();
      assert.equal(await row.getAttribute("aria-current"), null);
      await row.click();
      await page.getByText("sha256=4b6ac1ed").waitFor();
      assert.equal(await row.isVisible(), false);
    },
    { path: "/deliveries", viewport: { width: 375, height: 812 } },
  ));

test("a delivery shows its signature and its answer as text, and is sent again", () =>
  open(fill, async (page, gateway) => {
    let again = 0;
    gateway.routes.set(`POST /api/v1/monitors/${id}/events/${eventID}/redeliver`, () => [202, { again: again++ }]);
    await page.goto(`${gateway.url}/deliveries?selected=${eventID}`);
    await page.getByText("sha256=4b6ac1ed").waitFor();
    await page.getByText("onerror=alert(1)").first().waitFor();
    assert.equal(await page.locator("main img[src=x]").count(), 0);
    await page.getByRole("button", { name: "Redeliver" }).click();
    await page.getByRole("button", { name: "Queued again" }).waitFor();
    assert.equal(again, 1);
  }, { path: null }));

test("a stream is told by the routes unless a webhook is typed, and the wall names those of which nobody is told", () =>
  open(fill, async (page, gateway) => {
    const sent = [];
    gateway.routes.set("POST /api/v1/monitors", (registration) => (sent.push(registration), [400, { error: { code: "NOBODY_TOLD", message: "no route" } }]));
    await page.goto(gateway.url + pages.register);
    await page.getByText("Can be registered").waitFor();
    await page.getByRole("button", { name: "Watch this stream" }).click();
    await page.getByRole("alert").getByText("Nobody would be told of this stream").waitFor();
    assert.equal(sent[0].callback_url, null);
    gateway.updateMonitor(monitor(9, { callback_url: null, untold: true }));
    await page.goto(`${gateway.url}/`);
    await page.getByText("Nobody is told of").waitFor();
  }, { path: null }));

test("optional detectors are those of the preset, and single ones are switched and set", () =>
  open(fill, async (page, gateway) => {
    const sent = [];
    gateway.routes.set("POST /api/v1/monitors", (registration) => (sent.push(registration), [201, { monitor_id: id }]));
    gateway.routes.set(`PATCH /api/v1/monitors/${id}`, (change) => (sent.push(change), [200, gateway.monitors.get(id)]));
    await page.goto(`${gateway.url}/register?preset=music&url=${encodeURIComponent(monitor(9).stream_url)}`);
    await page.getByText("Can be registered").waitFor();
    await typeWebhook(page, "https://example.com/hook");
    await page.locator("summary", { hasText: "Further detectors" }).click();
    assert.ok(await page.getByLabel("Made-up sound").isChecked());
    await page.getByLabel("Made up is over, dB").fill("-20");
    await page.getByRole("button", { name: "Watch this stream" }).click();
    await page.getByText("Made-up sound").waitFor(); // on the page of the monitor
    assert.deepEqual([sent[0].config.preset, sent[0].config.detectors], ["music", { made_up: { threshold_sec: 60, above_db: -20 } }]);
    await page.getByText("alert after 1 min · level db: −3.46").waitFor();
    const qualities = page.getByRole("listitem").filter({ hasText: "720p · 2.8 Mb/s" });
    assert.match(await qualities.innerText(), /black\s+looked at \d/);
    await page.getByRole("button", { name: "Change" }).first().click();
    await page.locator("dialog summary").click();
    await page.locator("dialog").getByLabel("Made-up sound").uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator("dialog[aria-labelledby=change-title]").waitFor({ state: "hidden" });
    assert.deepEqual(sent[1], { config: { detectors: { made_up: null } } });
  }, { path: null }));

for (const owner of [`monitors/${id}`, `channels/${channelID}`])
  test(`references of ${owner.split("/")[0]} are shown with their pictures, added and removed`, () =>
    open(fill, async (page, gateway) => {
      const list = [{ reference_id: eventID, name: hostile.slice(0, 60), unwanted: "after_start", similarity: 0.92 }];
      const path = `/api/v1/${owner}/references`;
      const sent = [];
      gateway.routes.set(`GET ${path}`, () => [200, { references: list }]);
      gateway.routes.set(`POST ${path}`, (picture, request) => {
        const { searchParams: given } = new URL(request.url, gateway.url);
        sent.push(picture.toString(), request.headers["content-type"], ...given.values());
        if (sent.length === 5) return [400, { error: { code: "INVALID_CONFIG", message: "image cannot be read: accepted is a JPEG or PNG" } }];
        list.push({ ...list[0], reference_id: "2", name: given.get("name"), unwanted: given.get("unwanted") });
        return [201, list[1]];
      });
      gateway.routes.set(`DELETE ${path}/2`, () => [200, { reference_id: list.pop().reference_id }]);
      await page.goto(`${gateway.url}/${owner}`);
      await page.getByText("from a similarity of 0.92").waitFor();
      assert.equal(await page.locator(".references img").getAttribute("src"), `${path}/${eventID}/image`);
      await page.locator("summary", { hasText: "Add a reference" }).click();
      await page.getByLabel("Picture: JPEG or PNG").setInputFiles({ name: "soon.png", mimeType: "image/png", buffer: Buffer.from("a picture") });
      await page.getByLabel("Name", { exact: true }).fill("Soon");
      await page.getByLabel("When it is unwanted").selectOption("always");
      await page.getByRole("button", { name: "Upload" }).click();
      await page.getByText("accepted is a JPEG or PNG").waitFor();
      await page.getByRole("button", { name: "Upload" }).click();
      await page.getByText("always unwanted · from").waitFor();
      assert.deepEqual(sent.slice(5), ["a picture", "image/png", "Soon", "always", "0.92"]);
      await page.getByRole("button", { name: "Remove Soon" }).click();
      await page.getByRole("alertdialog", { name: /^Remove .Soon.\?$/ }).getByRole("button", { name: "Remove" }).click();
      await page.getByText("always unwanted · from").waitFor({ state: "detached" });
    }, { path: null }));

test("a monitor has the references of its channel, which say so, unless one of its own has the same name; its channel changes them", () =>
  open(fill, async (page, gateway) => {
    gateway.monitors.get(id).channel_id = channelID;
    const reference = { reference_id: eventID, name: "Soon", unwanted: "after_start", similarity: 0.92 };
    gateway.routes.set(`GET /api/v1/monitors/${id}/references`, () => [200, { references: [reference] }]);
    gateway.routes.set(`GET /api/v1/channels/${channelID}/references`, () => [200, { references: [{ ...reference, reference_id: "2" }, { ...reference, reference_id: "3", name: "Break" }] }]);
    await page.goto(`${gateway.url}/monitors/${id}`);
    const rows = page.getByRole("region", { name: "References" }).getByRole("listitem");
    await rows.filter({ hasText: "Break" }).waitFor();
    const texts = await rows.allInnerTexts();
    assert.deepEqual(texts.map((t) => [t.split("\n")[0], /Remove/.test(t), /of its channel/.test(t), /replaced by that of this stream/.test(t)]), [["Soon", true, false, false], ["Soon", false, true, true], ["Break", false, true, false]]);
    assert.equal(await rows.nth(2).locator("img").getAttribute("src"), `/api/v1/channels/${channelID}/references/3/image`);
    await rows.nth(2).getByRole("link", { name: "of its channel" }).click();
    await page.waitForURL(`**/channels/${channelID}`);
    await page.getByRole("button", { name: "Remove Break" }).waitFor();
  }, { path: null }));

test("logins are shown with their state, uploaded, replaced, deleted and chosen; their cookies go nowhere else", () =>
  open(fill, async (page, gateway) => {
    const list = cookieJars.map((jar) => ({ ...jar }));
    const sent = [];
    gateway.routes.set("GET /api/v1/cookie-jars", () => [200, { cookie_jars: list }]);
    gateway.routes.set("POST /api/v1/cookie-jars", (file, request) => {
      sent.push(["POST", file.toString(), request.headers["content-type"], new URL(request.url, gateway.url).searchParams.get("name")]);
      if (sent.length === 1) return [400, { error: { code: "INVALID_CONFIG", message: "cookies is JSON; expected is a cookie file" } }];
      list.push({ ...list[2], jar_id: "5", name: "new", signed_in: true });
      return [201, list.at(-1)];
    });
    gateway.routes.set("PUT /api/v1/cookie-jars/2", (file) => {
      sent.push(["PUT", file.toString()]);
      Object.assign(list[1], { state: "unused", rejected_at: null });
      return [200, list[1]];
    });
    gateway.routes.set("DELETE /api/v1/cookie-jars/5", () => [200, { jar_id: list.pop().jar_id }]);
    gateway.routes.set(`PATCH /api/v1/monitors/${id}`, (change) => (sent.push(change), [200, gateway.monitors.get(id)]));
    await page.goto(`${gateway.url}/settings`);
    const jars = page.locator("[aria-labelledby=jars-title] li");
    assert.match(await jars.nth(0).innerText(), /members\s+accepted\s+The platform accepted it at .*used by 3 streams/s);
    assert.match(await jars.nth(1).innerText(), /rejected\s+The platform has rejected it since .*used by one stream/s);
    assert.match(await jars.nth(2).innerText(), /not used yet.*not signed in.*used by no stream/s);
    const file = { name: "cookies.txt", mimeType: "text/plain", buffer: Buffer.from("# cookies") };
    await page.locator("summary", { hasText: "Upload a login" }).click();
    await page.getByLabel("Cookie file: cookies.txt").setInputFiles(file);
    await page.getByLabel("Name", { exact: true }).fill("new");
    await page.getByRole("button", { name: "Upload", exact: true }).click();
    await page.getByText("expected is a cookie file").waitFor();
    await page.getByRole("button", { name: "Upload", exact: true }).click();
    await jars.nth(4).waitFor();
    await jars.nth(1).locator("input[type=file]").setInputFiles({ ...file, buffer: Buffer.from("# newer") });
    await jars.nth(1).getByText("not used yet").waitFor();
    await page.getByRole("button", { name: "Delete new" }).click();
    await page.getByRole("alertdialog", { name: /^Delete .new.\?$/ }).getByRole("button", { name: "Delete" }).click();
    await jars.nth(4).waitFor({ state: "detached" });
    assert.deepEqual(sent, [["POST", "# cookies", "text/plain", "new"], ["POST", "# cookies", "text/plain", "new"], ["PUT", "# newer"]]);

    await page.goto(`${gateway.url}/monitors/${id}`);
    await page.getByRole("button", { name: "Change" }).first().click();
    await page.locator("dialog").getByLabel("Login").selectOption("members");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator("dialog[aria-labelledby=change-title]").waitFor({ state: "hidden" });
    assert.deepEqual(sent.at(-1), { config: { cookie_jar: "members" } });
  }, { path: null }));

test("what requests for a stream of one's own carry is typed once, never shown again, and changed field by field", () =>
  open(fill, async (page, gateway) => {
    const sent = [];
    gateway.routes.set("POST /api/v1/monitors", (body) => [201, (sent.push(body.config), { monitor_id: id })]);
    gateway.routes.set(`PATCH /api/v1/monitors/${id}`, (body) => [200, (sent.push(body), gateway.monitors.get(id))]);
    await page.goto(`${gateway.url}/register?url=${encodeURIComponent("icy+https://radio.example/live")}`);
    await typeWebhook(page, "https://example.com/hook");
    assert.equal(await page.getByLabel("Token address").count(), 0);
    gateway.routes.set("POST /api/v1/preview", () => [200, { ...preview, source: "hls", stream_url: "hls+https://cdn.example/live.m3u8" }]);
    await page.getByLabel("Address of the stream").fill("https://cdn.example/live.m3u8");
    await page.getByLabel("Token address").fill("https://auth.example/token?k=s3cr3t");
    await page.getByLabel("Send the query of the address").check();
    for (const [at, name] of ["Authorization", "authorization"].entries()) {
      await page.getByRole("button", { name: "Add a header field" }).click();
      await page.getByLabel("Name of a header field").nth(at).fill(name);
      await page.getByLabel(`Value of ${name}`, { exact: true }).fill("Bearer s3cr3t");
    }
    await page.getByRole("button", { name: "Watch this stream" }).click();
    assert.equal(await page.getByLabel("Name of a header field").nth(1).evaluate((input) => input.validationMessage), "There is a field of this name already.");
    await page.getByRole("button", { name: "Remove authorization", exact: true }).click();
    await page.getByRole("button", { name: "Watch this stream" }).click();
    await page.waitForURL(`**/monitors/${id}`);
    const { http_headers, token_url, copy_query } = sent[0];
    assert.deepEqual([http_headers, token_url, copy_query], [{ Authorization: "Bearer s3cr3t" }, "https://auth.example/token?k=s3cr3t", true]);

    const watched = gateway.monitors.get(id);
    watched.stream_url = "hls+https://cdn.example/live.m3u8";
    watched.config = { ...watched.config, http_headers: { authorization: null, "x-key": null }, token_url: "set", copy_query: true };
    await page.goto(`${gateway.url}/monitors/${id}`);
    await page.getByText("authorization, x-key").waitFor();
    assert.equal(await page.getByText("s3cr3t").count(), 0);
    await page.getByRole("button", { name: "Change" }).first().click();
    const dialog = page.locator("dialog[aria-labelledby=change-title]");
    await dialog.locator(".carried-row").nth(0).getByRole("button", { name: "Replace" }).click();
    await dialog.locator("input:focus").fill("Bearer n3w");
    await dialog.getByRole("button", { name: "Remove x-key" }).click();
    assert.deepEqual(await barriers(page), []);
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "hidden" });
    assert.deepEqual(sent[1], { config: { http_headers: { authorization: "Bearer n3w" } } });
  }, { path: null }));
