import assert from "node:assert/strict";
import { test } from "node:test";
import { open } from "../browser.mjs";
import { incident, monitor } from "../fakegateway.mjs";

const fill = (count, ...incidents) => (gateway) => {
  for (let n = 1; n <= count; n++) gateway.monitors.set(monitor(n).monitor_id, monitor(n));
  for (const i of incidents) gateway.incidents.set(i.incident_id, i);
  gateway.version = 1;
};
const taken = { acknowledged_by: "Ann", acknowledged_at: new Date().toISOString(), acknowledged_severity: 3 };

// listen opens the page with sound on; tones and sentences are kept in place of being heard. locked: as a browser before a click.
async function listen(page, context, { sounding = {}, locked = false, address = "" } = {}) {
  await context.addInitScript(
    ({ sounding, locked }) => {
      Object.assign(globalThis, { tones: [], said: [] });
      localStorage.setItem("stream-monitor.sound", "true");
      localStorage.setItem("stream-monitor.sounding", JSON.stringify({ least: 0, repeatSec: 1, quiet: { on: false, from: "22:00", to: "07:00", least: 3 }, spoken: false, ...sounding }));
      let clicked = false; // navigator.userActivation counts what this script asks of the page
      addEventListener("click", () => (clicked = true), true);
      const node = () => ({ frequency: {}, gain: { setValueAtTime() {}, exponentialRampToValueAtTime() {} }, connect: (to) => to, stop() {} });
      globalThis.AudioContext = class extends EventTarget {
        state = locked ? "suspended" : "running";
        currentTime = 0;
        destination = {};
        async resume() {
          if (locked && !clicked) return new Promise(() => {});
          this.state = "running";
          this.dispatchEvent(new Event("statechange"));
        }
        async suspend() {
          this.state = "suspended";
          this.dispatchEvent(new Event("statechange"));
        }
        createGain = node;
        createOscillator() {
          const tone = node();
          return Object.assign(tone, { start: () => tones.push(tone.frequency.value) });
        }
      };
      Object.defineProperty(globalThis, "speechSynthesis", { value: Object.assign(new EventTarget(), { cancel() {}, getVoices: () => [], speak: (u) => said.push([u.lang, u.text]) }) });
      globalThis.SpeechSynthesisUtterance = class {
        constructor(text) {
          this.text = text;
        }
      };
    },
    { sounding, locked },
  );
  await page.goto(new URL(address, page.url()).href);
  await page.locator("html[data-link=live]").waitFor({ state: "attached" });
}
const heard = (page, least) => page.waitForFunction((n) => tones.length >= n, least);
const count = (page) => page.evaluate(() => tones.length);

test("the chime repeats until somebody has it, and what is worse has more tones", () =>
  open(fill(2, incident(1, { severity: 0, severity_now: 0 })), async (page, gateway, context) => {
    await listen(page, context);
    await heard(page, 3); // one tone each time
    gateway.updateIncident(incident(2, { severity: 3, severity_now: 3 }));
    await page.waitForFunction(() => tones.includes(988));
    for (const n of [1, 2]) gateway.updateIncident(incident(n, { ...taken, severity: 0, severity_now: 0 }));
    await page.locator("#taken-title", { hasText: "2" }).waitFor();
    await page.waitForFunction(() => Date.now() - JSON.parse(localStorage.getItem("stream-monitor.sounded")).at > 2500); // two repetitions
  }));

test("a wall of some labels sounds for their streams alone", () =>
  open(
    (gateway) => {
      for (const n of [1, 2]) gateway.monitors.set(monitor(n).monitor_id, monitor(n, { labels: { team: n === 1 ? "a" : "b" } }));
      gateway.incidents.set(incident(2).incident_id, incident(2, { severity: 3, severity_now: 3 }));
      gateway.version = 1;
    },
    async (page, gateway, context) => {
      await listen(page, context, { address: "/?label=team:a" });
      await page.locator(".counts").waitFor();
      gateway.updateIncident(incident(1, { severity: 0, severity_now: 0 }));
      await heard(page, 2);
      assert.ok((await page.evaluate(() => tones)).every((hertz) => hertz === 660));
    },
  ));

test("while the browser blocks sound a word says so, and a click ends that", () =>
  open(fill(1, incident(1)), async (page, _, context) => {
    await listen(page, context, { locked: true });
    const word = page.getByRole("button", { name: "Sound is blocked: click" });
    await word.waitFor();
    assert.equal(await count(page), 0);
    await word.click();
    await word.waitFor({ state: "detached" });
    await heard(page, 2);
    assert.ok(await page.getByRole("button", { name: "Sound is on. Turn off" }).isVisible());
  }));

test("a voice says which stream and what is wrong", () =>
  open(fill(1, incident(1)), async (page, _, context) => {
    await listen(page, context, { sounding: { spoken: true } });
    await page.waitForFunction(() => said.length > 0);
    assert.deepEqual((await page.evaluate(() => said))[0], ["en-GB", "Channel 1: Black video"]);
  }));

test("the icon of the page has the number that nobody has", () =>
  open(fill(2), async (page, gateway) => {
    await page.locator("html[data-link=live]").waitFor({ state: "attached" });
    const icon = () => page.locator("link[rel=icon]").getAttribute("href");
    const changed = (from) => page.waitForFunction((before) => document.querySelector("link[rel=icon]").href !== new URL(before, location).href, from);
    const calm = await icon();
    gateway.updateIncident(incident(1));
    await changed(calm);
    const one = await icon();
    assert.match(one, /^blob:/);
    gateway.updateIncident(incident(2));
    await changed(one);
    // Where the number stands it has the colour of trouble.
    const red = await page.evaluate(async () => {
      const picture = new Image();
      picture.src = document.querySelector("link[rel=icon]").href;
      await picture.decode();
      const canvas = document.createElement("canvas");
      canvas.width = canvas.height = 64;
      const c = canvas.getContext("2d");
      c.drawImage(picture, 0, 0);
      const [r, g, b] = c.getImageData(60, 30, 1, 1).data;
      return r > 150 && r > 2 * g && r > 2 * b;
    });
    assert.ok(red);
  }));

test("sound is set in this browser: repetition, severity, quiet hours, voice", () =>
  open(fill(1), async (page, gateway, context) => {
    await listen(page, context, { address: "/settings" });
    await page.getByLabel("Again, until somebody has it").selectOption("every 5 min");
    await page.getByLabel("What sounds").selectOption("high severity and worse");
    await page.getByRole("group", { name: "Quiet hours" }).getByRole("button", { name: "On" }).click();
    await page.getByLabel("from", { exact: true }).fill("23:30");
    await page.getByLabel("Then sounds").selectOption("nothing");
    await page.getByRole("group", { name: "Spoken names" }).getByRole("button", { name: "On" }).click();
    await page.getByText("This browser has no voice for English.").waitFor();
    await page.getByRole("button", { name: "Hear critical severity" }).click();
    assert.equal(await count(page), 9);
    const stored = await page.evaluate(() => JSON.parse(localStorage.getItem("stream-monitor.sounding")));
    assert.deepEqual(stored, { least: 2, repeatSec: 300, quiet: { on: true, from: "23:30", to: "07:00", least: 4 }, spoken: true });
  }));
