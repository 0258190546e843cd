import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { api, apiKey, control, link, visit } from "./real.mjs";
import { any, en, ja, sentence } from "./words.mjs";

const desktop = { viewport: { width: 1440, height: 900 } };
const phone = { viewport: { width: 375, height: 812 }, isMobile: true, hasTouch: true };
const english = { words: en, locale: "en-GB", seconds: (n) => `${n} ${en.common.second}` };
const japanese = { words: ja, locale: "ja-JP", seconds: (n) => `${n}${ja.common.second}` };
const people = [
  { ...english, device: desktop, size: "desktop", byLink: true, video: "story0ende0", channel: "Harbour camera", title: "The harbour at night", by: "Alex", says: "The switcher was black." },
  { ...japanese, device: phone, size: "phone", video: "story0japh0", channel: "水無月ましろ", title: "【歌枠】まったり歌います", by: "佐藤", says: "スイッチャーの出力が黒でした。" },
];
const thresholdSec = 6;

// Each of them lives through the whole story with a stream of their own, one after the other: what happens to a stream
// moves the others on the wall, and its previews are limited.
describe("from the sign-in to the recovered incident", () => {
  for (const person of people) {
    test(`${person.locale}, ${person.size}`, (t) =>
      visit(
        async (page, context) => {
          const began = Date.now();
          const step = async (name, run) => {
            try {
              return await run();
            } catch (error) {
              error.message = `${name}: ${error.message}`;
              throw error;
            } finally {
              t.diagnostic(`${name}: done after ${Math.round((Date.now() - began) / 1000)} s`);
            }
          };
          await step("sign in", () => signIn(page, person));
          await step("register", () => register(page, person));
          await step("live on the wall", () => seeLive(page, person));
          await control("black", { video: person.video, on: true });
          const incident = await step("alert on the wall", () => seeAlert(page, person));
          const tab = await context.newPage(); // the wall stays open beside it
          await step("incident", () => understand(tab, person, incident));
          await step("acknowledge, note, share", () => act(tab, page, person));
          await control("black", { video: person.video, on: false });
          await step("recovery", () => seeRecovery(tab, page, person));
          await step("clip", () => playClip(tab, person));
          await control("end", { video: person.video });
        },
        { ...person.device, locale: person.locale },
      ));
  }
});

async function signIn(page, { words, byLink }) {
  if (byLink) {
    await page.goto((await control("link")).link);
  } else {
    await page.goto("/signin");
    await page.getByLabel(words.signin.key, { exact: true }).fill(apiKey);
    await page.getByRole("button", { name: words.signin.submit }).click();
  }
  await page.waitForURL((url) => url.pathname === "/");
  await link(page, "live");
}

// goTo uses the links of the top, or those at the bottom of a phone.
const goTo = (page, name) => page.getByRole("navigation").getByRole("link", { name, exact: true }).first().click();

async function register(page, { words, video, title, channel }) {
  const { stream_url, callback_url } = await control("broadcast", { video, title });
  await goTo(page, words.shell.register);
  const sees = page.getByRole("region", { name: words.register.sees });
  await page.locator("input[name=told]").nth(1).check(); // no route tells anybody yet
  await page.getByLabel(words.register.url).fill(stream_url);
  await sees.locator(".facts, .is-warning").first().waitFor();
  while (!(await sees.getByText(title, { exact: true }).isVisible())) { // a busy platform did not answer in time
    await page.getByRole("button", { name: words.register.lookAgain }).click();
  }
  for (const text of [title, words.register.states.live, words.register.noProblem]) await sees.getByText(text, { exact: true }).waitFor();
  await page.getByRole("radio", { name: words.register.presets.talk[0] }).check();
  await page.getByText(words.register.single, { exact: true }).click();
  const fields = words.monitor.fields;
  assert.equal(await page.getByLabel(fields.stream_title, { exact: true }).inputValue(), title);
  await page.getByLabel(fields.channel_name, { exact: true }).fill(channel);
  await page.getByLabel(fields.check_interval_sec, { exact: true }).fill("2");
  await page.getByLabel(fields.blackout_threshold_sec, { exact: true }).fill(String(thresholdSec));
  await page.getByLabel(words.register.callback, { exact: true }).fill(callback_url);
  await page.getByRole("button", { name: words.register.test, exact: true }).click();
  await page.locator(".trial-head", { hasText: words.register.delivered }).getByText("204").waitFor();
  await fits(page);
  await page.getByRole("button", { name: words.register.submit, exact: true }).click();
  await page.waitForURL("**/monitors/*");
  await page.getByRole("heading", { level: 1, name: channel }).waitFor();
  await fits(page);
  const id = new URL(page.url()).pathname.split("/")[2];
  const { config } = (await api("GET", `/api/v1/monitors/${id}`)).body;
  assert.deepEqual([config.check_interval_sec, config.blackout_threshold_sec, config.silence_threshold_sec], [2, thresholdSec, 20], "two values of their own, one of the preset");
}

async function seeLive(page, { words, channel }) {
  await goTo(page, words.shell.wall);
  const onAir = page.getByRole("region", { name: words.wall.onAir });
  const screen = onAir.getByRole("link", { name: channel });
  await screen.waitFor({ state: "attached" });
  await onAir.evaluate((region) => region.scrollIntoView()); // only what is in view is drawn
  assert.ok((await luma(screen.getByRole("img", { name: sentence(words.wall.livePicture(channel, any)) }))) > 40, "the live picture is dark");
  await fits(page);
}

// seeAlert returns the path of the incident.
async function seeAlert(page, { words, channel }) {
  const tile = page.getByRole("article", { name: channel });
  await tile.getByText(words.blackout.title).first().waitFor();
  await tile.getByText(sentence(words.blackout.lasts.replace("{lasted}", any))).first().waitFor();
  await tile.getByText(words.wall.nobodyHasIt).waitFor();
  await fits(page);
  return tile.getByRole("link", { name: words.wall.open }).getAttribute("href");
}

async function understand(tab, { words, channel, seconds }, incident) {
  await tab.goto(incident);
  await tab.getByRole("heading", { level: 1, name: words.blackout.title }).getByText(channel).waitFor();
  assert.ok((await luma(picture(tab, words, "before", channel))) > 40, "the picture before is dark");
  assert.ok((await luma(picture(tab, words, "onset", channel))) < 10, "the picture of the onset is bright");
  const means = words.blackout.means.replace("{luma_below_percent}", "10").replace("{area_percent}", "98");
  const numbers = words.why.andMeans(words.why.alert(any, seconds(thresholdSec)), means);
  await tab.getByRole("region", { name: words.incident.why }).getByText(sentence(numbers)).waitFor();
  await delivered(tab, words, words.blackout.alert);
  await fits(tab);
}

async function act(tab, wall, { words, channel, by, says }) {
  await tab.getByRole("button", { name: words.incident.acknowledge }).click();
  const name = tab.getByRole("dialog", { name: words.shell.yourName });
  await name.getByRole("textbox").fill(by);
  await name.getByRole("button", { name: words.common.save }).click();
  await tab.locator(".head").getByText(by).waitFor();
  await wall.getByRole("article", { name: channel }).getByText(by).waitFor();
  const log = tab.getByRole("region", { name: words.incident.log });
  await log.getByLabel(words.incident.addNote).fill(says);
  await log.getByRole("button", { name: words.common.save }).click();
  await log.getByRole("listitem").getByText(says).waitFor();
  const more = tab.getByLabel(words.incident.more);
  if (await more.isVisible()) await more.click();
  await tab.getByRole("button", { name: words.incident.share }).click();
  const share = tab.getByRole("dialog", { name: words.incident.shareTitle });
  await share.getByRole("button", { name: words.incident.makeLinks }).click();
  const shared = await fetch(await share.getByLabel(words.incident.variants.onset).first().inputValue()); // without a cookie
  assert.deepEqual([shared.status, shared.headers.get("content-type")], [200, "image/jpeg"]);
  await share.getByRole("button", { name: words.common.close }).click();
}

async function seeRecovery(tab, wall, { words, channel }) {
  const recovered = words.incidents.recovered(words.blackout.title);
  await tab.getByRole("heading", { level: 1, name: recovered }).waitFor();
  assert.ok((await luma(picture(tab, words, "after", channel))) > 40, "the picture after is dark");
  await delivered(tab, words, words.blackout.recovered);
  await wall.locator(".mini.is-recovered", { hasText: channel }).getByText(words.wall.recovered, { exact: true }).waitFor();
  await fits(tab);
  await fits(wall);
}

async function playClip(tab, { words }) {
  const clip = tab.getByLabel(words.incident.clipLabel);
  await clip.evaluate(async (video) => {
    video.muted = true;
    await video.play();
  });
  const handle = await clip.elementHandle();
  await tab.waitForFunction((video) => video.currentTime > 0.5 && video.videoWidth > 0, handle);
}

const picture = (tab, words, which, channel) => tab.getByRole("img", { name: sentence(words.incident.pictureAt(`${words.incident[which]}: ${channel}`, any)) }).first();

const delivered = (tab, words, what) =>
  tab.getByRole("region", { name: words.incident.told }).getByRole("row", { name: what }).getByText(words.incident.deliveryStates.delivered).waitFor();

// luma is the mean brightness of a picture, 0 to 255.
async function luma(img) {
  await img.waitFor();
  return img.evaluate(async (element) => {
    await element.decode();
    const sheet = new OffscreenCanvas(32, 18).getContext("2d");
    sheet.drawImage(element, 0, 0, 32, 18);
    const { data } = sheet.getImageData(0, 0, 32, 18);
    let sum = 0;
    for (let i = 0; i < data.length; i += 4) sum += (data[i] + data[i + 1] + data[i + 2]) / 3;
    return sum / (data.length / 4);
  });
}

async function fits(page) {
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${page.url()} scrolls sideways`);
}
