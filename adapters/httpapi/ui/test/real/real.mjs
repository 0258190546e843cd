// A browser at the real gateway that test/suite/dashboard has started.
import { after } from "node:test";
import { launch } from "../chromium.mjs";

const { GATEWAY_URL, API_KEY, CONTROL_URL } = process.env;
export const gateway = GATEWAY_URL;
export const apiKey = API_KEY;

// control asks the test suite for what a browser cannot do (test/suite/dashboard/control_test.go).
export async function control(what, order = {}) {
  const response = await fetch(`${CONTROL_URL}/${what}`, { method: "POST", body: JSON.stringify(order) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${what}: ${text}`);
  return JSON.parse(text);
}

// api calls the gateway with the key, as a program would.
export async function api(method, path, body) {
  const response = await fetch(gateway + path, { method, headers: { "X-API-Key": API_KEY }, body: body && JSON.stringify(body) });
  return { status: response.status, body: await response.json() };
}

export const link = (page, state, timeout = 30_000) => page.locator(`html[data-link=${state}]`).waitFor({ state: "attached", timeout });

// All tests of a script share a browser. Each has a context of its own.
const browser = await launch();
after(() => browser.close());

// visit runs a test with a page that is not signed in. What a page must never do fails the test: an error, a refusal by
// the Content-Security-Policy, a dialog, a request to another host.
export async function visit(run, { elsewhere, ...options } = {}) {
  const context = await browser.newContext({ baseURL: gateway, viewport: { width: 1400, height: 900 }, locale: "en-GB", timezoneId: "Asia/Tokyo", reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(180_000); // browsers, gateway and streams share two cores
  const problems = [];
  context.on("weberror", (e) => problems.push(e.error().stack));
  context.on("console", (m) => /Content.Security|Trusted/i.test(m.text()) && problems.push(m.text()));
  context.on("dialog", (d) => problems.push(`a dialog: ${d.message()}`) && d.dismiss());
  context.on("request", (r) => {
    const url = new URL(r.url());
    if (url.protocol.startsWith("http") && url.origin !== gateway && !elsewhere) problems.push(`a request to another host: ${url}`);
  });
  try {
    const page = await context.newPage();
    await run(page, context);
    if (problems.length > 0) throw new Error(`the page reports: ${problems.join("\n")}`);
  } finally {
    await context.close();
  }
}

// open is visit with a page that is signed in.
export const open = (run, options) =>
  visit(async (page, context) => {
    const signedIn = await context.request.post("/api/v1/session", { data: { api_key: API_KEY } });
    if (signedIn.status() !== 204) throw new Error(`signing in is answered with ${signedIn.status()}`);
    await run(page, context);
  }, options);
