import assert from "node:assert/strict";
import { test } from "node:test";
import { control, link, open } from "./real.mjs";

test("a gateway that hangs is noticed, and the wall comes back by itself", () =>
  open(async (page) => {
    await page.goto("/");
    await link(page, "live");
    await control("hang");
    try {
      await link(page, "lost"); // within 15 s, as test/pages shows; here the machine is busy
    } finally {
      await control("resume");
    }
    await link(page, "live", 60_000);
  }));

// With a connection for each tab, the seventh would get none.
test("after a restart of the gateway the session still works, and twelve tabs come back by themselves", () =>
  open(async (page, context) => {
    const tabs = [page];
    while (tabs.length < 12) tabs.push(await context.newPage());
    const allLive = () => Promise.all(tabs.map((tab) => link(tab, "live", 60_000)));
    for (const tab of tabs) await tab.goto("/", { waitUntil: "commit" });
    await allLive();
    await control("restart");
    await control("stream", { video: "restarted00", metadata: { channel_name: "After the restart" } });
    await Promise.all(tabs.map((tab) => tab.getByText("After the restart").first().waitFor()));
    await allLive();
    assert.equal((await page.request.get("/api/v1/session")).status(), 200);
  }));
