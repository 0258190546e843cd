// A browser at a fake gateway.
import { readFileSync } from "node:fs";
import { after } from "node:test";
import { launch } from "./chromium.mjs";
import { FakeGateway } from "./fakegateway.mjs";

// All tests of a script share a browser. Each has a context and a gateway of its own.
const browser = await launch();
after(() => browser.close());

const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

// looks are those in which every page is checked: each width, and each theme in each language.
export const looks = [
  { colorScheme: "light", viewport: { width: 1440, height: 900 }, locale: "en-GB" },
  { colorScheme: "dark", viewport: { width: 2560, height: 900 }, locale: "ja-JP" },
  { colorScheme: "dark", viewport: { width: 375, height: 800 }, locale: "en-GB" },
  { colorScheme: "light", viewport: { width: 375, height: 800 }, locale: "ja-JP" },
];

// barriers are what axe-core finds on the page.
export async function barriers(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ")).join(", ")}`);
}

// open runs a test with a page of a new gateway; prepare fills the gateway before. Errors of the page fail the test. Nothing moves:
// drawing what does takes 40 % of the CPU time.
export async function open(prepare, run, options = {}) {
  const gateway = await FakeGateway.start();
  prepare(gateway);
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, locale: "en-GB", timezoneId: "Asia/Tokyo", reducedMotion: "reduce", ...options });
  const errors = [];
  context.on("weberror", (e) => errors.push(e.error().stack));
  context.on("console", (m) => /Content.Security|Trusted/i.test(m.text()) && errors.push(m.text()));
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  try {
    await page.goto(gateway.url);
    await run(page, gateway, context);
    if (errors.length > 0) throw new Error(`the page reports: ${errors.join("\n")}`);
  } finally {
    await context.close();
    await gateway.stop();
  }
}
