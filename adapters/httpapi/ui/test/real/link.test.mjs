import assert from "node:assert/strict";
import { test } from "node:test";
import { control, link, open } from "./real.mjs";

test("a stream goes black and comes back, and the wall shows both", () =>
  open(async (page) => {
    await page.goto("/");
    await link(page, "live");
    await control("stream", { video: "blackblack0", metadata: { channel_name: "Harbour camera" } });
    await page.getByText("Harbour camera").first().waitFor();
    await control("black", { video: "blackblack0", on: true });
    const tile = page.locator(".tile", { hasText: "Harbour camera" });
    await tile.first().waitFor();
    await control("black", { video: "blackblack0", on: false });
    await tile.first().waitFor({ state: "detached" });
    await control("end", { video: "blackblack0" });
  }));

test("a gateway that hangs is noticed, and the wall comes back by itself", () =>
  open(async (page) => {
    await page.goto("/");
    await link(page, "live");
    await control("hang");
    try {
      const began = Date.now();
      await link(page, "lost", 20_000);
      assert.ok(Date.now() - began < 17_000, `it took ${Date.now() - began} ms`);
    } finally {
      await control("resume");
    }
    await link(page, "live", 60_000);
  }));

test("after a restart of the gateway the session still works, and the wall comes back by itself", () =>
  open(async (page) => {
    await page.goto("/");
    await link(page, "live");
    const lost = link(page, "lost", 60_000);
    await control("restart");
    await lost;
    await link(page, "live", 60_000);
    assert.equal((await page.request.get("/api/v1/session")).status(), 200);
  }));
