// A browser with a fake gateway, for one test.
import { chromium } from "playwright-core";
import { FakeGateway } from "./fakegateway.mjs";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

// open runs a test with a page of a new gateway; prepare fills the gateway before. Errors of the page fail the test.
export async function open(prepare, run, options = {}) {
  const gateway = await FakeGateway.start();
  prepare(gateway);
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, locale: "en-GB", timezoneId: "Asia/Tokyo", ...options });
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
    await browser.close();
    await gateway.stop();
  }
}
