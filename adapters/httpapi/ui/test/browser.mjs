// A browser at a fake gateway.
import { after } from "node:test";
import { launch } from "./chromium.mjs";
import { FakeGateway } from "./fakegateway.mjs";

// All tests of a script share a browser. Each has a context and a gateway of its own.
const browser = await launch();
after(() => browser.close());

// open runs a test with a page of a new gateway; prepare fills the gateway before. Errors of the page fail the test.
export async function open(prepare, run, options = {}) {
  const gateway = await FakeGateway.start();
  prepare(gateway);
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
    await context.close();
    await gateway.stop();
  }
}
