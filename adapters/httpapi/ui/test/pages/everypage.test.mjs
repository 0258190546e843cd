// What holds for every page, in each theme and each language: no barrier, nothing beyond the width of the window, no word of the API.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { barriers, looks, open, shown, sideways, visit } from "../browser.mjs";
import { fillNotifications } from "../fakenotifications.mjs";
import { delivery, fill, id, pages, service } from "../fakepages.mjs";

// ofTheAPI are names of fields and events, codes, and paths. Settings may name variables of the environment.
const ofTheAPI = /\b[a-z]+(_[a-z0-9]+)+\b|\b[A-Z]+(_[A-Z]+)+\b|\b(config|secrets|match|labels|metadata|windows?|health|statistics|alert|stream|monitor|channel)\.[a-z]\w*|\/(api|internal)\/v1\b/g;

// seen is all that people read or hear of a page, but for what is quoted as it was sent, and what a tool or another server said.
const seen = (page) =>
  page.evaluate(() => {
    const quoted = "pre, code, script, style, [lang=en][dir=auto]";
    const all = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) if (!texts.currentNode.parentElement.closest(quoted)) all.push(texts.currentNode.data);
    for (const of of document.querySelectorAll("[aria-label], [title], [placeholder], [alt]"))
      if (!of.closest(quoted)) all.push(...["aria-label", "title", "placeholder", "alt"].map((name) => of.getAttribute(name) ?? ""));
    return all;
  });

// bodies are what a gateway answers. A test of adapters/httpapi writes it (WRITE_DOCS=1).
const bodies = JSON.parse(readFileSync(new URL("../../../testdata/bodies.json", import.meta.url), "utf8"));

// events are one of each type that has no detector, and one that has.
function events() {
  const [alert] = bodies["events valid"].events;
  const of = (event_type, data) => ({ ...alert, event_type, payload: { ...alert.payload, data } });
  return [alert, of("stream.started", { delay_sec: 320 }), of("stream.ended", { reason: "endlist" }), of("stream.delayed", { delay_sec: 320 }), of("alert.segment_error", { duration_sec: 61, threshold_sec: 60 }), of("monitor.error", { reason: "worker_lost" })];
}

function prepare(gateway) {
  fill(gateway);
  fillNotifications(gateway);
  gateway.routes.set("GET /api/v1/service", () => [200, { ...bodies["service valid"], youtube_api: service.youtube_api, twitch_api: service.twitch_api, sources: service.sources }]);
  gateway.routes.set(`GET /api/v1/monitors/${id}/events`, () => [200, { events: events(), pagination: { total: 1 } }]);
  gateway.routes.set("GET /api/v1/deliveries", () => [200, { deliveries: [delivery, ...bodies["deliveries valid"].deliveries], next: null }]);
}

const all = { ...pages, destinations: "/destinations" };
const forms = {
  "en-GB": { destinations: ["Add a destination", "Add a route", "Add a silence", "Only severe at night", "Put on duty", "Change the plan"], monitor: ["Change"], channel: ["Change"] },
  "ja-JP": { destinations: ["通知先を追加", "ルートを追加", "ミュートを追加", "夜間は重大なものだけ", "当番を交代", "予定を変更"], monitor: ["変更"], channel: ["変更"] },
};

for (const look of looks) {
  test(`no page has a barrier, scrolls sideways or has words of the API: ${look.colorScheme}, ${look.locale}`, () =>
    open(prepare, async (page) => {
      const found = [];
      const read = async (where) => {
        for (const text of await seen(page)) for (const [word] of text.matchAll(ofTheAPI)) if (where !== "settings" || !/^[A-Z_]+$/.test(word)) found.push(`${where}: ${word} in ${text.trim().slice(0, 120)}`);
      };
      await shown(page);
      for (const [name, path] of Object.entries(all)) {
        await visit(page, path);
        assert.ok((await sideways(page)) <= 0, `${name} scrolls sideways`);
        assert.deepEqual(await barriers(page), [], name);
        await read(name);
        for (const button of forms[look.locale][name] ?? []) {
          await page.getByRole("button", { name: button, exact: true }).first().click();
          await page.getByRole("dialog").waitFor();
          await read(`${name}, ${button}`);
          const kinds = page.locator("#field-kind option");
          for (const kind of await kinds.evaluateAll((options) => options.map((o) => o.value))) {
            await page.locator("#field-kind").selectOption(kind);
            await read(`${name}, ${kind}`);
          }
          await page.keyboard.press("Escape");
          await page.getByRole("dialog").waitFor({ state: "detached" });
        }
      }
      assert.deepEqual([...new Set(found)], []);
    }, look));
}
