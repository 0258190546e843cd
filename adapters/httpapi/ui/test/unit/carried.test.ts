import assert from "node:assert/strict";
import { test } from "node:test";
import { carriedChange, carriedOf, isTwice, nothingCarried, only, takenBy } from "../../src/carried";
import { emptyDraft, registrationOf } from "../../src/registration";

const sources = [
  { name: "youtube", title: "YouTube", prefix: "https://www.youtube.com/watch?v=", takes: ["cookie_jar"] },
  { name: "icy", title: "Icecast", prefix: "icy+", takes: ["http_headers"] },
];

test("what a stream takes follows from its address, or from what a look at it has said", () => {
  assert.deepEqual(takenBy({ sources }, "icy+https://radio.example/live"), ["http_headers"]);
  assert.deepEqual(takenBy({ sources }, "https://youtu.be/dQw4w9WgX-_"), undefined);
  assert.deepEqual(takenBy({ sources }, "https://youtu.be/dQw4w9WgX-_", "youtube"), ["cookie_jar"]);
  assert.deepEqual(takenBy(null, "icy+https://radio.example/live"), undefined);
});

test("a change keeps what is stored, replaces and removes single values, and is empty where nothing differs", () => {
  const before = carriedOf({ http_headers: { authorization: null, "x-key": null }, token_url: "set", copy_query: true });
  assert.deepEqual(before, { headers: [{ name: "authorization", value: null }, { name: "x-key", value: null }], tokenURL: null, copyQuery: true });
  assert.deepEqual(carriedChange(before, before), {});
  const replaced = [{ name: "authorization", value: "Bearer b" }, { name: "x-key", value: null }, { name: " x-new ", value: "n" }, { name: "", value: "" }];
  assert.deepEqual(carriedChange(before, { ...before, headers: replaced }), { http_headers: { authorization: "Bearer b", "x-key": null, "x-new": "n" } });
  assert.deepEqual(carriedChange(before, { headers: [], tokenURL: "", copyQuery: false }), { http_headers: {}, token_url: "", copy_query: false });
  assert.deepEqual(carriedChange(nothingCarried, { ...nothingCarried, tokenURL: " https://auth.example/ " }), { token_url: "https://auth.example/" });
});

test("a registration has them only where the source takes them", () => {
  const carried = { headers: [{ name: "x-key", value: "k" }], tokenURL: "https://auth.example/", copyQuery: true };
  const sent = (takes: string[]) => registrationOf({ ...emptyDraft("u", "c"), carried: only(carried, takes) }, {}).config;
  assert.deepEqual(sent(["http_headers"]), { on_callback_failure: "continue", http_headers: { "x-key": "k" } });
  assert.deepEqual(sent(["token_url", "copy_query"]), { on_callback_failure: "continue", token_url: "https://auth.example/", copy_query: true });
  assert.deepEqual(sent([]), { on_callback_failure: "continue" });
});

test("a second field of one name is refused, because the value of one would be lost", () => {
  const fields = ["X-Key", "", "x-key ", ""].map((name) => ({ name, value: "v" }));
  assert.deepEqual(fields.map((_, at) => isTwice(fields, at)), [false, false, true, false]);
});
