// A browser at a fake gateway.
import { readFileSync } from "node:fs";
import { after } from "node:test";
import { launch } from "./chromium.mjs";
import { FakeGateway } from "./fakegateway.mjs";

// All tests of a script share a browser. Each has a context and a gateway of its own.
const browser = await launch();
after(() => browser.close());

const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

// looks are those in which every page is checked: each theme and each language.
export const looks = [
  { colorScheme: "light", viewport: { width: 1440, height: 900 }, locale: "en-GB" },
  { colorScheme: "dark", viewport: { width: 375, height: 800 }, locale: "ja-JP" },
];

// barriers are what axe-core finds on the page, or on a part of it.
export async function barriers(page, part = "html") {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  const { violations } = await page.evaluate((part) => globalThis.axe.run(part, { resultTypes: ["violations"] }), part);
  return violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ")).join(", ")}`);
}

// sideways is by how many pixels the page is wider than the window, in the width where it is most; 0 or less: nowhere.
export async function sideways(page) {
  const { width, height } = page.viewportSize();
  let most = 0;
  for (const w of [375, 1440, 2560]) {
    await page.setViewportSize({ width: w, height });
    most = Math.max(most, await page.evaluate(() => document.documentElement.scrollWidth - innerWidth));
  }
  await page.setViewportSize({ width, height });
  return most;
}

// visit goes to another page as a link does, which loads nothing again, and waits until the page has what it shows.
export async function visit(page, path) {
  await page.evaluate((path) => {
    history.pushState(null, "", path);
    dispatchEvent(new PopStateEvent("popstate"));
    return new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
  }, path);
  await shown(page);
}

// shown waits until a page has what it shows.
export async function shown(page) {
  await page.locator("main h1, main h2").first().waitFor({ state: "attached" });
  await page.waitForFunction(() => !document.querySelector("main[aria-busy=true], main [aria-busy=true]"));
}

// open runs a test with a page of a new gateway. The page is at a path, or nowhere yet (null). prepare fills the gateway before. Errors
// of the page fail the test. Nothing moves: drawing what does takes 40 % of the CPU time.
export async function open(prepare, run, { path = "/", ...options } = {}) {
  const gateway = await FakeGateway.start();
  prepare(gateway);
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, locale: "en-GB", timezoneId: "Asia/Tokyo", reducedMotion: "reduce", ...options });
  const errors = [];
  context.on("weberror", (e) => errors.push(e.error().stack));
  context.on("console", (m) => /Content.Security|Trusted/i.test(m.text()) && errors.push(m.text()));
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  try {
    if (path) await page.goto(gateway.url + path);
    await run(page, gateway, context);
    if (errors.length > 0) throw new Error(`the page reports: ${errors.join("\n")}`);
  } finally {
    await context.close();
    await gateway.stop();
  }
}
