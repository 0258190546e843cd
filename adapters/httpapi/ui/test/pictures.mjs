// Takes the pictures of the README and of the documentation: node test/pictures.mjs GATEWAY_URL FOLDER
// test/program/screenshots starts the gateway and names what is to be seen in the environment.
import { join } from "node:path";
import { launch } from "./chromium.mjs";

const [gateway, folder] = process.argv.slice(2);
const { API_KEY, MONITOR, INCIDENT, PREVIEW_URL, CALLBACK_URL } = process.env;
const desktop = { width: 1440, height: 900 };
const phone = { width: 375, height: 812 };

const pictures = [
  { name: "wall", path: "/", ready: everyPicture },
  { name: "wall-ja", path: "/", ready: everyPicture, scheme: "light", language: "ja-JP" },
  { name: "wall-phone", path: "/", ready: everyPicture, viewport: phone },
  { name: "incident", path: `/incidents/${INCIDENT}`, ready: showClip },
  { name: "monitor", path: `/monitors/${MONITOR}`, ready: everyPicture, scheme: "light" },
  { name: "register", path: `/register?preset=music&url=${encodeURIComponent(PREVIEW_URL)}`, ready: testWebhook },
];

// everyPicture waits until each picture in view has come: those of streams come with the next report of their workers.
async function everyPicture(page) {
  await page.waitForFunction(() => {
    const inView = [...document.querySelectorAll(".pic:not(.plot-pic, :has(video))")].filter((pic) => pic.getBoundingClientRect().top < innerHeight);
    return inView.length > 0 && inView.every((pic) => [...pic.querySelectorAll("img")].some((img) => img.complete && img.naturalWidth > 0));
  });
}

// showClip shows a moment of the clip before the trouble.
async function showClip(page) {
  await everyPicture(page);
  await page.locator("video").evaluate(async (video) => {
    video.muted = true;
    await video.play();
    video.pause();
    const shown = new Promise((resolve) => video.addEventListener("seeked", resolve, { once: true }));
    video.currentTime = 12;
    await shown;
  });
}

async function testWebhook(page) {
  await page.locator(".sees .facts").waitFor();
  await page.locator("#callback").fill(CALLBACK_URL);
  await page.locator(".with-button:has(#callback) button").click();
  await page.locator(".trial .word.is-on_air").waitFor(); // the receiver accepted it
  await page.evaluate(() => scrollTo(0, 0));
}

const settleMs = 1000; // the last canvases are drawn
const browser = await launch();
for (const { name, path, ready, scheme = "dark", language = "en-GB", viewport = desktop } of pictures) {
  const context = await browser.newContext({ baseURL: gateway, viewport, deviceScaleFactor: viewport === phone ? 2 : 1, colorScheme: scheme, locale: language, timezoneId: "Asia/Tokyo" });
  const signedIn = await context.request.post("/api/v1/session", { data: { api_key: API_KEY } });
  if (signedIn.status() !== 204) throw new Error(`signing in is answered with ${signedIn.status()}`);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(path);
  await page.locator("html[data-link=live]").waitFor({ state: "attached" });
  await ready(page);
  await page.waitForTimeout(settleMs);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  console.log(`took ${name}.png`);
  await context.close();
}
await browser.close();
