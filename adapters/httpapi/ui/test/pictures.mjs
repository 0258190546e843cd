// Takes the pictures of the README and of the documentation: node test/pictures.mjs GATEWAY_URL FOLDER
// test/program/screenshots starts the gateway and names what is to be seen in the environment.
import { chromium } from "playwright-core";
import { join } from "node:path";

const [gateway, folder] = process.argv.slice(2);
const { API_KEY, MONITOR, INCIDENT, PREVIEW_URL, CALLBACK_URL, CHROMIUM = "/usr/bin/chromium" } = process.env;
const desktop = { width: 1440, height: 900 };
const phone = { width: 375, height: 812 };
const preview = `/register?preset=music&url=${encodeURIComponent(PREVIEW_URL)}`;

const pictures = [
  { name: "wall", path: "/", wait: ".screen .pic img" },
  { name: "wall-ja", path: "/", wait: ".screen .pic img", scheme: "light", language: "ja-JP" },
  { name: "wall-phone", path: "/", wait: ".screen .pic img", viewport: phone },
  { name: "incident", path: `/incidents/${INCIDENT}`, wait: ".pic img" },
  { name: "monitor", path: `/monitors/${MONITOR}`, wait: ".lanes canvas", scheme: "light" },
  { name: "register", path: preview, wait: ".sees .facts", act: testWebhook },
];

async function testWebhook(page) {
  await page.locator("#callback").fill(CALLBACK_URL);
  await page.locator("#callback ~ button, .with-button:has(#callback) button").click();
  await page.locator(".trial").waitFor();
  await page.evaluate(() => scrollTo(0, 0));
}

const settleMs = 4000; // pictures of all streams come with the next report of their workers
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
for (const { name, path, wait, act, scheme = "dark", language = "en-GB", viewport = desktop } of pictures) {
  const context = await browser.newContext({ baseURL: gateway, viewport, deviceScaleFactor: viewport === phone ? 2 : 1, colorScheme: scheme, locale: language, timezoneId: "Asia/Tokyo" });
  const signedIn = await context.request.post("/api/v1/session", { data: { api_key: API_KEY } });
  if (signedIn.status() !== 204) throw new Error(`signing in is answered with ${signedIn.status()}`);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(path);
  await page.locator("html[data-link=live]").waitFor({ state: "attached" });
  await page.locator(wait).first().waitFor();
  if (act) await act(page);
  await page.waitForTimeout(settleMs);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  console.log(`took ${name}.png`);
  await context.close();
}
await browser.close();
