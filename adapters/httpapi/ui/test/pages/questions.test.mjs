import assert from "node:assert/strict";
import { test } from "node:test";
import { barriers, looks, open, visit } from "../browser.mjs";
import { fillNotifications } from "../fakenotifications.mjs";
import { fill, id } from "../fakepages.mjs";

const words = { "en-GB": { stop: "Stop watching", cancel: "Cancel" }, "ja-JP": { stop: "監視を終了", cancel: "キャンセル" } };

for (const look of looks) {
  test(`a question has no barrier and does nothing unless it is answered by its verb: ${look.colorScheme}, ${look.locale}`, () =>
    open(fill, async (page, gateway) => {
      const { stop, cancel } = words[look.locale];
      let stopped = 0;
      gateway.routes.set(`DELETE /api/v1/monitors/${id}`, () => [200, (stopped++, {})]);
      await page.goto(`${gateway.url}/monitors/${id}`);
      const button = page.getByRole("button", { name: stop });
      const question = page.getByRole("alertdialog");
      const focused = () => page.evaluate(() => document.activeElement.textContent);
      const gone = () => question.waitFor({ state: "detached" });
      await button.click();
      assert.equal(await focused(), cancel);
      assert.deepEqual(await barriers(page), []);
      assert.ok((await question.evaluate((e) => Math.max(e.scrollWidth - e.clientWidth, e.getBoundingClientRect().right - innerWidth))) <= 0, "it is wider than the window");
      for (const [leave, back] of [
        [() => page.keyboard.press("Escape"), stop],
        [() => page.keyboard.press("Enter"), stop], // the safe answer
        [() => visit(page, "/settings")],
      ]) {
        await leave();
        await gone();
        if (back) assert.equal((await focused()).trim(), back);
        if (back) await button.click();
      }
      assert.equal(stopped, 0);
      await page.goto(`${gateway.url}/monitors/${id}`);
      await button.dblclick(); // one question
      const answered = page.waitForResponse((r) => r.request().method() === "DELETE");
      await question.getByRole("button", { name: stop }).click();
      await gone();
      await page.waitForFunction(() => !document.querySelector("dialog[open]"));
      await answered;
      assert.equal(stopped, 1);
    }, { path: null, ...look }));
}

test("a question over a form leaves the form as it is, unless the answer is yes", () =>
  open((gateway) => fillNotifications(gateway), async (page) => {
    await page.getByRole("row", { name: "Slack #live-ops" }).getByRole("button", { name: "Change" }).click();
    const form = page.getByRole("dialog", { name: "Slack #live-ops" });
    const question = page.getByRole("alertdialog", { name: /^Delete .Slack #live-ops.\?$/ });
    await form.getByLabel("Name").fill("Another name");
    for (const answer of ["Cancel", "Delete"]) {
      await form.getByRole("button", { name: "Delete" }).click();
      await question.getByText("nothing is sent there any more").waitFor();
      assert.deepEqual(await barriers(page), []);
      await question.getByRole("button", { name: answer }).click();
      await question.waitFor({ state: "detached" });
      if (answer === "Cancel") assert.equal(await form.getByLabel("Name").inputValue(), "Another name");
    }
    await form.waitFor({ state: "detached" });
  }, { path: "/destinations" }));
