import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { api, control, gateway, link, open } from "./real.mjs";

test("the cookie of a session is out of reach of scripts, and opens the wall and its feed", () =>
  open(async (page, context) => {
    await page.goto("/");
    await link(page, "live");
    const [cookie] = await context.cookies();
    assert.equal(cookie.name, "stream_monitor_session");
    assert.ok(cookie.httpOnly && cookie.sameSite === "Strict");
    assert.equal(await page.evaluate(() => document.cookie), "");
  }));

test("a title is text, never markup", () =>
  open(async (page) => {
    const hostile = '<img src=x onerror="document.title=1337;alert(1)"><script>alert(2)</script>';
    await control("stream", { video: "hostile0000", metadata: { channel_name: hostile, stream_title: `${hostile}‮אבג${"🎉".repeat(300)}` } });
    await page.goto("/");
    await page.getByText("<img src=x onerror").first().waitFor();
    assert.equal(await page.locator('img[src="x"]').count(), 0);
    assert.doesNotMatch(await page.title(), /1337/);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the title widens the page");
  }));

test("inline code does not run, whoever puts it into the page", () =>
  open(async (page) => {
    await page.goto("/");
    await link(page, "live");
    const outcome = await page.evaluate(() => {
      try {
        document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.ran = 1'>");
        return "inserted";
      } catch (error) {
        return error.name;
      }
    });
    assert.equal(outcome, "TypeError"); // trusted types
    assert.equal(await page.evaluate(() => window.ran), undefined);
  }).catch((error) => {
    // The refusal itself is reported on the console, as it should be.
    if (!/^the page reports: .*(TrustedHTML|Trusted)/.test(error.message)) throw error;
  }));

// Pages at another port of the same host are of the same site, so the browser sends the cookie with their requests.
test("a page of another origin cannot use the session", async () => {
  const other = createServer((_, response) => response.setHeader("Content-Type", "text/html").end("<title>another site</title>"));
  await new Promise((resolve) => other.listen(0, "127.0.0.1", resolve));
  try {
    await open(
      async (page) => {
        const before = (await api("GET", "/api/v1/monitors")).body.pagination.total;
        await page.goto(`http://127.0.0.1:${other.address().port}/`);
        const body = JSON.stringify({ stream_url: "https://www.youtube.com/watch?v=forgedforge", callback_url: "https://example.com/hook" });
        const sent = page.waitForResponse((r) => r.url() === `${gateway}/api/v1/monitors`);
        await page.evaluate(
          ([url, text]) => fetch(url, { method: "POST", mode: "no-cors", credentials: "include", body: new Blob([text], { type: "application/x-www-form-urlencoded" }) }).catch(() => {}),
          [`${gateway}/api/v1/monitors`, body],
        );
        assert.equal((await sent).status(), 403); // 401 would mean that the browser sent no cookie
        assert.equal((await api("GET", "/api/v1/monitors")).body.pagination.total, before);
      },
      { elsewhere: true },
    );
  } finally {
    other.close();
  }
});
