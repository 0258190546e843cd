// What a key may not do, the pages do not offer: every control of every page and form is pressed with each role.
import assert from "node:assert/strict";
import { test } from "node:test";
import { open, shown, visit } from "../browser.mjs";
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

// press uses the first control of a page that is visible, enabled and not used yet, once what was pressed before has been sent. It returns
// its name and whether every page has it; or that another page is shown; null: there is none. It finds and uses it in one step, since
// the page may replace it in between. Forms are sent as they are: the gateway is to refuse them, not the browser.
const press = (page, path, used) =>
  page.evaluate(
    async ({ all, path, used }) => {
      await fetch("/api/v1/session").then((r) => r.text());
      if (location.pathname !== new URL(path, location).pathname) return { elsewhere: true };
      const nameOf = (e) => (e.getAttribute("aria-label") ?? e.textContent.trim()) || e.name || e.id;
      const isVisible = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getBoundingClientRect().width > 0;
      const control = document.querySelector("[role=alertdialog] .primary") ?? [...document.querySelectorAll(all)].find((e) => e.matches(":enabled") && isVisible(e) && !used.includes(nameOf(e)));
      if (!control) return null;
      const pressed = { name: nameOf(control), everywhere: control.closest("header.top") !== null };
      document.querySelectorAll("form").forEach((form) => (form.noValidate = true));
      if (control.localName === "select") {
        control.selectedIndex = control.length - 1;
        control.dispatchEvent(new Event("change", { bubbles: true }));
      } else control.click();
      return pressed;
    },
    { all: `:is(body:not(:has(dialog[open])), dialog[open]) :is(${controls})`, path, used: [...used] },
  );

// pressAll uses each enabled control of a page, and each of the dialogs that it opens, but for those that every page has and that were
// used before. It returns how many it used.
async function pressAll(page, gateway, path, everywhere) {
  const used = new Set(everywhere);
  for (let last; ; ) {
    const pressed = await press(page, path, used);
    assert.deepEqual(gateway.forbidden, [], `${path}: “${last}” does what the key may not`);
    if (pressed === null) return used.size - everywhere.size;
    if (pressed.elsewhere) await visit(page, path);
    else used.add((last = pressed.name));
    if (pressed.everywhere) everywhere.add(last);
  }
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
      await page.evaluate(() => localStorage.setItem("stream-monitor.name", '"ann"'));
      await Promise.all([page.waitForResponse("**/api/v1/session"), page.reload()]); // says the role
      await shown(page);
      const everywhere = new Set(["Sign out"]);
      let used = 0;
      for (const path of Object.values(all)) {
        await visit(page, path);
        await assertHonest(page, path);
        used += await pressAll(page, gateway, path, everywhere);
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
      await visit(page, path);
      await page.locator("fieldset.allowed:disabled").first().waitFor({ state: "attached" });
      await page.keyboard.press("?");
      const list = page.getByRole("dialog");
      await list.getByText("to the wall").waitFor();
      for (const key of ["a", "s"]) assert.equal(await list.locator("kbd", { hasText: new RegExp(`^${key}$`) }).count(), 0, `${path}: ${key}`);
      await page.keyboard.press("Escape");
    }
  }));
