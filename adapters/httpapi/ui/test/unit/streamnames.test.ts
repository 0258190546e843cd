import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { nameOf } from "../../src/names";
import { namedOf, readNames } from "../../src/streamnames";

const known = new Map<string, string>();
const requests: string[] = [];
let status = 200;
const answer = (code: number, value: unknown) => new Response(JSON.stringify(value), { status: code });
const stream = (id: string) => ({ monitor_id: id, stream_url: `https://www.youtube.com/watch?v=${id}`, metadata: { channel_name: known.get(id) } });
globalThis.fetch = (async (path: string) => {
  requests.push(path);
  if (status !== 200) return answer(status, { error: { code: "UNAVAILABLE", message: "" } });
  if (path.startsWith("/api/v1/monitors?")) return answer(200, { monitors: [...known.keys()].map(stream) });
  const id = path.split("/").at(-1)!;
  return known.has(id) ? answer(200, stream(id)) : answer(404, { error: { code: "MONITOR_NOT_FOUND", message: "" } });
}) as typeof fetch;

const name = (id: string) => nameOf(namedOf(id, `https://www.youtube.com/watch?v=${id}`));
const settle = async () => {
  for (let i = 0; i < 2000; i++) await Promise.resolve();
  await new Promise((done) => setImmediate(done));
};
const read = async (...ids: string[]) => {
  requests.length = 0;
  readNames(ids, ids);
  await settle();
};

test("the streams of a first page are named by one request", async () => {
  for (let n = 0; n < 50; n++) known.set(`first-${n}`, `Channel ${n}`);
  await read(...known.keys());
  assert.deepEqual(requests, ["/api/v1/monitors?limit=200"]);
  assert.equal(name("first-49"), "Channel 49");
});

test("a stream that ends later, or is older than the newest monitors, is read by itself", async () => {
  known.set("later", "Late Show");
  await read("later");
  assert.deepEqual(requests, ["/api/v1/monitors/later"]);
  assert.equal(name("later"), "Late Show");
});

test("a stream that the gateway does not know is asked for once", async () => {
  await read("gone");
  assert.deepEqual(requests, ["/api/v1/monitors/gone"]);
  await read("gone");
  assert.deepEqual(requests, []);
  assert.equal(name("gone"), "gone");
});

test("a failure that may pass is tried again after a while, not at once", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  known.set("hidden", "Hidden Channel");
  status = 503;
  await read("hidden");
  assert.equal(requests.length, 1);
  status = 200;
  mock.timers.tick(5000);
  await settle();
  mock.timers.reset();
  assert.equal(name("hidden"), "Hidden Channel");
});

test("names that no page shows are forgotten once there are too many", async () => {
  const many = Array.from({ length: 1001 }, (_, n) => `many-${n}`);
  for (const id of many) known.set(id, "Many");
  await read(...many);
  assert.equal(name("later"), "Late Show");
  known.set("one-more", "One More");
  await read("one-more");
  assert.equal(name("one-more"), "One More");
  assert.equal(name("later"), "later");
});
