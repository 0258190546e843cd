// Measures the wall with 1,000 monitors and 50 changes a second, while others come, fail and end: node test/measure.mjs [SECONDS]
// Prints the first row, the main thread's time, and the memory after a forced collection, minute by minute.
// ADDRESS is that of another form of the wall, such as /?view=room.
// With STREAMS=stay no stream, incident, evidence or thumbnail comes and goes beside the changes.
import { launch } from "./chromium.mjs";
import { evidence, FakeGateway, incident, monitor } from "./fakegateway.mjs";
import { payload } from "./payload.mjs";

const seconds = Number(process.argv[2] ?? 60);
const count = Number(process.env.MONITORS ?? 1000);
const perSecond = Number(process.env.CHANGES ?? 50);

const gateway = await FakeGateway.start();
for (let n = 1; n <= count; n++) {
  const m = monitor(n, n % 20 === 0 ? { status: "waiting", stream_status: "upcoming" } : {});
  gateway.monitors.set(m.monitor_id, m);
}
for (let n = 1; n <= 5; n++) gateway.incidents.set(incident(n).incident_id, incident(n));
gateway.version = 1;

const browser = await launch("--js-flags=--expose-gc");
const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
const errors = [];
page.on("pageerror", (e) => errors.push(e.message));
await page.addInitScript(() => {
  new MutationObserver((_, observer) => {
    if (!document.querySelector(".screen, .row:not(.row-head), .room-tile")) return;
    window.firstRow = performance.now();
    observer.disconnect();
  }).observe(document, { childList: true, subtree: true });
});
const client = await page.context().newCDPSession(page);
await client.send("Performance.enable", { timeDomain: "threadTicks" }); // CPU time, so that a busy machine does not count
const metrics = async () => Object.fromEntries((await client.send("Performance.getMetrics")).metrics.map((m) => [m.name, m.value]));
await page.goto(gateway.url + (process.env.ADDRESS ?? ""));
await page.waitForFunction(() => window.firstRow !== undefined);
const toFirstRow = (await metrics()).TaskDuration * 1000;
console.log(`first row ${Math.round(await page.evaluate(() => window.firstRow))} ms after navigation, ${Math.round(toFirstRow)} ms of CPU time`);
console.log(`elements of the list ${await page.locator(".screens > li").count()} of ${count}`);

const heap = async () => {
  await client.send("HeapProfiler.collectGarbage");
  return (await metrics()).JSHeapUsedSize / 1e6;
};

let turn = 0;
const timer = setInterval(() => {
  for (let i = 0; i < perSecond / 10; i++) {
    const n = (turn++ % count) + 1;
    const m = gateway.monitors.get(monitor(n).monitor_id);
    gateway.updateMonitor({ ...m, health: { ...m.health, video: turn % 3 ? "ok" : "unknown", last_check_at: new Date().toISOString() } });
  }
}, 100);

// comeAndGo makes thumbnails, and a stream a second with an incident, evidence and a delivery, which all end after 5 s. They are
// said to have ended long before, so that the page forgets them after half a minute and a short run shows what it keeps.
const endedAgoMs = 570_000;
let come = 0;
function comeAndGo() {
  for (let i = 0; i < 20; i++) gateway.addThumbnail(monitor(((come * 20 + i) % count) + 1));
  const n = count + ++come;
  gateway.updateMonitor(monitor(n));
  gateway.updateIncident(incident(n));
  gateway.addThumbnail(monitor(n));
  gateway.evidence = [evidence(n)];
  gateway.append("evidence.added", evidence(n));
  const { event_id, monitor_id, created_at } = evidence(n);
  gateway.append("delivery.updated", { event_id, monitor_id, created_at, event_type: "alert.blackout", webhook_status: "sent", webhook_attempts: 1, webhook_last_error: null, next_attempt_at: null, sent_at: created_at });
  if (come <= 5) return;
  const [gone, over] = [monitor(n - 5), incident(n - 5)];
  const ended = new Date(Date.now() - endedAgoMs).toISOString();
  gateway.updateIncident({ ...over, state: "resolved", resolved_at: ended, conditions: over.conditions.map((c) => ({ ...c, ended_at: ended })) });
  gateway.updateMonitor({ ...gone, status: "completed", ended_at: ended });
  gateway.incidents.delete(over.incident_id);
  gateway.monitors.delete(gone.monitor_id);
  gateway.thumbnails.delete(gone.monitor_id);
}
const coming = process.env.STREAMS === "stay" ? undefined : setInterval(comeAndGo, 1000);
await page.waitForTimeout(5000);
const begin = await metrics();
const began = performance.now();
const samples = [];
while (performance.now() - began < seconds * 1000) {
  await page.waitForTimeout(Math.min(60_000, seconds * 1000 - (performance.now() - began)) + 1);
  samples.push([(performance.now() - began) / 60_000, await heap()]);
  if (samples.length > 1) console.log(`after ${samples.at(-1)[0].toFixed(1)} min ${samples.at(-1)[1].toFixed(2)} MB`);
}
const end = await metrics();
clearInterval(timer);
clearInterval(coming);
const elapsed = (performance.now() - began) / 1000;
const perSec = (name) => (((end[name] - begin[name]) / elapsed) * 1000).toFixed(1);
console.log(`main thread ${perSec("TaskDuration")} ms/s (script ${perSec("ScriptDuration")}, layout ${perSec("LayoutDuration")}, style ${perSec("RecalcStyleDuration")}) at ${perSecond} changes/s`);
console.log(`memory ${samples[0][1].toFixed(2)} MB at first, ${samples.at(-1)[1].toFixed(2)} MB at the end, slope ${slope(samples.slice(1)).toFixed(4)} MB/min`);
const asked = (what) => gateway.requests.filter((r) => r.endsWith(what)).length;
console.log(`${come} streams came, ${asked("/link")} links were signed, ${asked("/thumbnail")} thumbnails and ${asked("/deliveries")} lists of deliveries read`);
console.log(`nodes ${end.Nodes}, listeners ${end.JSEventListeners}`);
console.log(`payload ${payload()} bytes gzipped; errors: ${errors.length ? errors.join("; ") : "none"}`);
await browser.close();
await gateway.stop();

function slope(points) {
  const n = points.length;
  if (n < 2) return 0;
  const [mx, my] = [0, 1].map((k) => points.reduce((s, p) => s + p[k], 0) / n);
  return points.reduce((s, [x, y]) => s + (x - mx) * (y - my), 0) / points.reduce((s, [x]) => s + (x - mx) ** 2, 0);
}
