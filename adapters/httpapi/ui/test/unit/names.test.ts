import assert from "node:assert/strict";
import { test } from "node:test";
import { lineOf, nameOf, pageOf } from "../../src/names";

const stream_url = "https://www.youtube.com/watch?v=dQw4w9WgXcQ";

test("a stream without channel and title is called by its video, with its address below", () => {
  for (const metadata of [undefined, {}, { channel_name: null, stream_title: null }, { channel_name: " ", stream_title: "" }]) {
    assert.equal(nameOf({ stream_url, metadata }), "dQw4w9WgXcQ");
    assert.equal(lineOf({ stream_url, metadata }), "youtube.com/watch?v=dQw4w9WgXcQ");
  }
  assert.equal(nameOf({ stream_url: "https://example.com/live/1" }), "example.com/live/1");
  assert.equal(nameOf({ stream_url: "icy+http://radio.example:8000/live" }), "radio.example:8000/live");
  assert.equal(pageOf("icy+http://radio.example:8000/live"), "http://radio.example:8000/live");
  assert.equal(pageOf("hls+https://cdn.example/live.m3u8"), "https://cdn.example/live.m3u8");
  assert.equal(nameOf({ stream_url: "dash+https://cdn.example/live.mpd" }), "cdn.example/live.mpd");
  assert.equal(nameOf({ stream_url: "https://example.com/live/1?v=" }), "example.com/live/1?v=");
});

test("a title stands below its channel, or for it, but never twice", () => {
  const [channel_name, stream_title] = ["Channel", "Title"];
  assert.deepEqual([nameOf({ stream_url, metadata: { channel_name, stream_title } }), lineOf({ stream_url, metadata: { channel_name, stream_title } })], ["Channel", "Title"]);
  assert.deepEqual([nameOf({ stream_url, metadata: { stream_title } }), lineOf({ stream_url, metadata: { stream_title } })], ["Title", "youtube.com/watch?v=dQw4w9WgXcQ"]);
});
