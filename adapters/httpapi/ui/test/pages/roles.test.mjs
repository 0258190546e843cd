// What a key may not do, the pages do not offer: every control of every page and form is pressed with each role.
import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "../browser.mjs";
import { fillNotifications } from "../fakenotifications.mjs";
import { fill, pages } from "../fakepages.mjs";

const all = { ...pages, destinations: "/destinations" };
delete all.signin; // whoever is there has no key yet
const controls = "button, select, input:is([type=checkbox], [type=radio])";

function prepare(role) {
  return (gateway) => {
    fill(gateway);
    fillNotifications(gateway);
    gateway.role = role;
  };
}

async function show(page, gateway, path) {
  await Promise.all([page.waitForResponse("**/api/v1/session"), page.goto(gateway.url + path)]); // says the role
  await page.locator("main h1, main h2").first().waitFor({ state: "attached" });
  await page.waitForFunction(() => !document.querySelector("main[aria-busy=true], main [aria-busy=true]"));
}

// use presses, chooses or toggles a control. Forms are sent as they are: the gateway is to refuse them, not the browser.
async function use(control) {
  await control.evaluate((e) => {
    document.querySelectorAll("form").forEach((form) => (form.noValidate = true));
    if (e.localName === "select") {
      e.selectedIndex = e.length - 1;
      e.dispatchEvent(new Event("change", { bubbles: true }));
    } else e.click();
  });
}

const nameOf = (control) => control.evaluate((e) => (e.getAttribute("aria-label") ?? e.textContent.trim()) || e.name || e.id);

// pressAll uses each enabled control of a page, and each of the dialogs that it opens. It returns how many it used.
async function pressAll(page, gateway, path) {
  const used = new Set(["Sign out"]);
  const answered = () => page.evaluate(() => fetch("/api/v1/session").then((r) => r.text())).catch(() => {}); // by then, what was pressed has been sent
  const next = async () => {
    let gone = false; // a control has left the page meanwhile: look again
    const left = () => ((gone = true), "");
    const within = page.locator("body:not(:has(dialog[open])), dialog[open]");
    for (const control of await within.locator(controls).elementHandles()) {
      const name = await nameOf(control).catch(left);
      if (!name || used.has(name) || !(await control.isVisible()) || !(await control.isEnabled().catch(left))) continue;
      used.add(name);
      await use(control);
      await answered();
      assert.deepEqual(gateway.forbidden, [], `${path}: “${name}” does what the key may not`);
      return true;
    }
    return gone;
  };
  await show(page, gateway, path);
  const at = new URL(page.url()).pathname;
  while (await next()) {
    if (new URL(page.url()).pathname !== at) await show(page, gateway, path);
  }
  return used.size - 1;
}

// A form that cannot be sent takes nothing either, and what is disabled looks so.
async function assertHonest(page, path) {
  const { typable, plain } = await page.evaluate(() => {
    const name = (e) => e.getAttribute("aria-label") ?? (e.textContent.trim() || e.id || e.name);
    const fields = "button, input, select, textarea";
    const typable = [...document.forms]
      .filter((form) => form.querySelector("button[type=submit]") && !form.querySelector("button[type=submit]:enabled") && form.querySelector("fieldset.allowed:disabled"))
      .flatMap((form) => [...form.querySelectorAll(fields)].filter((e) => e.matches(":enabled")).map(name));
    const plain = [...document.querySelectorAll(fields)]
      .filter((e) => e.matches(":disabled") && e.checkVisibility())
      .filter((e) => [getComputedStyle(e.closest("label") ?? e)].some((look) => look.cursor !== "not-allowed" || Number(look.opacity) > 0.6))
      .map(name);
    return { typable, plain };
  });
  assert.deepEqual(typable, [], `${path}: fields of a form that this key cannot send`);
  assert.deepEqual(plain, [], `${path}: disabled, but they look enabled`);
}

for (const role of ["view", "operate"]) {
  test(`no page offers what a key with the role ${role} may not do`, () =>
    open(prepare(role), async (page, gateway) => {
      page.on("dialog", (question) => void question.accept());
      await page.evaluate(() => localStorage.setItem("stream-monitor.name", '"ann"'));
      let used = 0;
      for (const path of Object.values(all)) {
        await show(page, gateway, path);
        await assertHonest(page, path);
        used += await pressAll(page, gateway, path);
      }
      assert.ok(used > 60, `only ${used} controls were used`);
      const changes = gateway.requests.filter((r) => /^POST .*\/(acknowledge|silences|resolve|monitors)$/.test(r));
      assert.equal(changes.length > 0, role === "operate", `sent ${changes}`);
      assert.deepEqual(gateway.forbidden, []);
    }));
}

test("the list of keys has no action that the key may not take", () =>
  open(prepare("view"), async (page, gateway) => {
    for (const path of [all.wall, all.incident]) {
      await show(page, gateway, path);
      await page.locator("fieldset.allowed:disabled").first().waitFor({ state: "attached" });
      await page.keyboard.press("?");
      const list = page.getByRole("dialog");
      await list.getByText("to the wall").waitFor();
      for (const key of ["a", "s"]) assert.equal(await list.locator("kbd", { hasText: new RegExp(`^${key}$`) }).count(), 0, `${path}: ${key}`);
      await page.keyboard.press("Escape");
    }
  }));
