import assert from "node:assert/strict";
import { test } from "node:test";
import { hasRunning, nameOfChannel, readChannels, readingOf } from "../../src/channels";
import { namesChannel } from "../../src/registration";
import type { Channel, FoundStream } from "../../src/types";

const reading = { read_at: null, by: null, next_at: null, failures: 0, failing_since: null, failure: null, last_error: null, unreadable_since: null };
const of = (more: object, stopped_at: string | null = null) => readingOf({ stopped_at, reading: { ...reading, ...more } });

test("the worst that is known of a reading is what is said", () => {
  assert.deepEqual([of({}), of({ read_at: "t" }), of({ read_at: "t", failures: 1 }), of({ failures: 9, unreadable_since: "t" }), of({ failures: 9 }, "t")], ["unread", "readable", "failing", "unreadable", "stopped"]);
});

test("a stop has to say what becomes of streams that are watched, not of reservations", () => {
  const stream = (standing: string, monitor_status: string | null) => ({ standing, monitor_status }) as FoundStream;
  assert.equal(hasRunning([stream("watched", "waiting"), stream("pending", null), stream("over", "completed")]), false);
  assert.equal(hasRunning([stream("watched", "initializing")]), true);
});

test("a channel is told from a stream by what was typed", () => {
  for (const typed of [" @handle ", "@星凪ルカ", "UCabcdefghijklmnopqrstuv", "https://www.youtube.com/@handle/streams", "m.youtube.com/channel/UCabcdefghijklmnopqrstuv", "https://youtube.com/c/name", "https://youtube.com/user/name"])
    assert.equal(namesChannel(typed), true, typed);
  for (const typed of ["", "@", "dQw4w9WgX-_", "UCabcdefghi", "https://www.youtube.com/watch?v=dQw4w9WgX-_", "https://youtu.be/dQw4w9WgX-_", "https://example.com/@handle"]) assert.equal(namesChannel(typed), false, typed);
});

test("a channel has a name before its page was read", () => {
  assert.equal(nameOfChannel({ title: null, handle: null, channel_url: "https://www.youtube.com/@handle" }), "youtube.com/@handle");
});

test("a long list is read page by page, and ends when channels are stopped meanwhile", async (t) => {
  const asked: string[] = [];
  let total = 450;
  t.mock.method(globalThis, "fetch", (path: string) => {
    asked.push(path);
    const offset = Number(new URL(path, "http://localhost").searchParams.get("offset"));
    if (offset === 200) total = 200; // 250 were stopped
    const channels = Array.from({ length: Math.max(0, Math.min(200, total - offset)) }, () => ({}) as Channel);
    return Promise.resolve(Response.json({ channels, pagination: { total } }));
  });
  const { channels, total: said } = await readChannels(false, 400, new AbortController().signal);
  assert.deepEqual([channels.length, said, asked.length], [200, 200, 2]);
});
