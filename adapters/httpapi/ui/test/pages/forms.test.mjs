import assert from "node:assert/strict";
import { test } from "node:test";
import { barriers, open } from "../browser.mjs";
import { channelID } from "../fakechannels.mjs";
import { fillNotifications } from "../fakenotifications.mjs";
import { fill, id, pages, typeWebhook } from "../fakepages.mjs";

const press = (name) => (page) => page.getByRole("button", { name, exact: true }).click();
const change = async (page) => {
  await page.getByRole("button", { name: "Change", exact: true }).first().click();
  await page.locator("#change-check_interval_sec").fill("11"); // else nothing is sent
};
const dialog = "dialog[open] form";

// forms are all forms that a gateway can refuse: where they are, the request, and wrong fields with the inputs that say so.
const forms = {
  destination: ["/destinations", press("Add a destination"), dialog, "POST /api/v1/destinations", { name: "field-name", "secrets.bot_token": "field-field.bot_token", "config.channel": "field-field.channel", fallback: "field-fallback" }],
  route: [
    "/destinations",
    async (page) => (await press("Add a route")(page), await press("Add a time")(page)),
    dialog,
    "POST /api/v1/routes",
    { name: "field-name", "match.labels.Team": "field-labels", "match.metadata": "field-metadata", "windows[0].timezone": "field-window0.timezone", delay_sec: "field-delay", repeat_sec: "field-repeat" },
  ],
  silence: ["/destinations", async (page) => (await press("Add a silence")(page), await page.locator("#field-monitor").selectOption(id)), dialog, "POST /api/v1/silences", { "match.max_severity": "field-max_severity", "match.monitors": "field-monitor", to: "field-hours", by: "field-by" }],
  "silence at night": ["/destinations", press("Only severe at night"), dialog, "POST /api/v1/silences", { "window.start": "field-start", "window.timezone": "field-timezone", comment: "field-comment" }],
  plan: ["/destinations", press("Change the plan"), dialog, "PATCH /api/v1/duty", { "people[0].windows[0].end": "field-person0.window0.end", "people[1].name": "field-person1.name", "people[1].destination_id": "field-person1.destination" }],
  override: ["/destinations", press("Put on duty"), dialog, "POST /api/v1/duty/overrides", { person: "field-person", from: "field-from", to: "field-to", by: "field-by" }],
  stream: [
    pages.register,
    (page) => typeWebhook(page, "https://example.com/hook"),
    ".register-form",
    "POST /api/v1/monitors",
    { stream_url: "stream-url", "config.check_interval_sec": "set-check_interval_sec", "config.cookie_jar": "set-cookie-jar", "config.scheduled_start_time": "set-start", "labels.Team": "set-labels", callback_url: "callback" },
  ],
  channel: [pages["register a channel"], () => {}, ".register-form", "POST /api/v1/channels", { channel: "channel", "config.blackout_threshold_sec": "set-blackout_threshold_sec" }],
  change: [`/monitors/${id}`, change, dialog, `PATCH /api/v1/monitors/${id}`, { "config.silence_db_threshold": "change-silence_db_threshold", "config.detectors.made_up.above_db": "change-detectors.made_up.above_db", callback_url: "change-callback_url", labels: "change-labels" }],
  "change of a channel": [`/channels/${channelID}`, change, dialog, `PATCH /api/v1/channels/${channelID}`, { "config.check_interval_sec": "change-check_interval_sec" }],
  pause: [`/monitors/${id}`, press("Pause…"), dialog, `PATCH /api/v1/monitors/${id}`, { paused_until: "field-minutes" }],
  "pause until a time": [`/monitors/${id}`, async (page) => (await press("Pause…")(page), await page.locator("#field-minutes").selectOption("")), dialog, `PATCH /api/v1/monitors/${id}`, { paused_until: "field-until" }],
  reference: [`/monitors/${id}`, () => {}, "form:has(#reference-picture)", `POST /api/v1/monitors/${id}/references`, { image: "reference-picture", name: "field-name", similarity: "field-similarity" }],
  "cookie jar": ["/settings", () => {}, "form:has(#jar-file)", "POST /api/v1/cookie-jars", { cookies: "jar-file", name: "jar-name" }],
  login: ["/settings", () => {}, "form:has(#login-name)", "POST /api/v1/ingest-logins", { refresh_token: "token", name: "login-name" }],
};

for (const [name, [path, prepare, form, request, fields]] of Object.entries(forms)) {
  test(`each wrong field of ${name} says so where it is, and the first has the focus`, () =>
    open((gateway) => (fill(gateway), fillNotifications(gateway)), async (page, gateway) => {
      const problems = Object.keys(fields).map((field) => ({ field, code: "INVALID_CONFIG", message: `${field} is wrong` }));
      gateway.routes.set(request, () => [400, { error: { code: "INVALID_CONFIG", message: "all of it", problems } }]);
      await page.goto(gateway.url + path);
      await prepare(page);
      await page.locator(form).evaluate((of) => ((of.noValidate = true), of.requestSubmit()));
      await page.getByRole("alert").getByText("That was not accepted. What is wrong is marked.", { exact: true }).waitFor();
      const marked = page.locator(`${form} [aria-invalid=true]`);
      assert.deepEqual((await marked.evaluateAll((all) => all.map((of) => of.id))).sort(), Object.values(fields).sort());
      assert.equal(await marked.first().evaluate((of) => of === document.activeElement), true);
      for (const of of await marked.all()) {
        const said = await of.evaluate((input) => document.getElementById(`${input.id}-wrong`)?.innerText.trim());
        assert.match(said, /^[A-Z].*\.$/);
        assert.doesNotMatch(said, /[a-z]_[a-z]|is wrong/);
        assert.ok((await of.getAttribute("aria-describedby")).split(" ").includes(`${await of.getAttribute("id")}-wrong`));
      }
      assert.deepEqual(await barriers(page, form), []);
    }, { path: null }));
}
