import assert from "node:assert/strict";
import { test } from "node:test";
import { detectorChange } from "../../src/change";
import { checkOf, emptyDraft, merged, presetDetectors, presetNumbers, registrationOf, running, standing, stepsOf, filled, nothingFound } from "../../src/registration";
import type { Preview } from "../../src/types";

const service = {
  settings: ["check_interval_sec", "blackout_threshold_sec", "later_field"].map((field, i) => ({ field, min: 0, max: 100, default: 10 + i, whole: true, help: "" })),
  presets: [{ name: "music", config: { blackout_threshold_sec: 45 } }],
};

test("a preset is its own values and the defaults, and a single value wins over both", () => {
  const music = presetNumbers(service, "music");
  assert.deepEqual(music, { check_interval_sec: 10, blackout_threshold_sec: 45 });
  const draft = { ...emptyDraft(" https://www.youtube.com/watch?v=a ", "https://example.com/"), changed: { blackout_threshold_sec: 60 } };
  assert.deepEqual(registrationOf(draft, music), {
    stream_url: "https://www.youtube.com/watch?v=a",
    callback_url: "https://example.com/",
    config: { check_interval_sec: 10, blackout_threshold_sec: 60, on_callback_failure: "continue" },
    metadata: {},
  });
  assert.equal(registrationOf({ ...draft, goesOn: false }, music).config.on_callback_failure, undefined);
  assert.deepEqual(registrationOf({ ...draft, labels: "team=a\n" }, music).labels, { team: "a" });
  assert.equal(registrationOf({ ...draft, labels: " \n" }, music).labels, undefined);
  assert.equal(registrationOf({ ...draft, cookieJar: "members" }, music).config.cookie_jar, "members");
});

test("a bare ID is the address of its page, and everything else stays as it was typed", () => {
  const sent = (typed: string) => registrationOf(emptyDraft(typed, ""), {}).stream_url;
  assert.equal(sent(" dQw4w9WgX-_ "), "https://www.youtube.com/watch?v=dQw4w9WgX-_");
  for (const typed of ["https://youtu.be/dQw4w9WgX-_", "dQw4w9WgX-", "dQw4w9WgX-_Q", "dQw4w9WgX.Q"]) assert.equal(sent(typed), typed);
});

test("with a preset, its name is registered, and only the detectors that differ from it", () => {
  const of = { presets: [{ name: "music", config: { detectors: { freeze: { threshold_sec: 120 }, clipping: { threshold_sec: 60 } } } }] };
  assert.deepEqual(presetDetectors(of, "music"), of.presets[0]!.config.detectors);
  const draft = { ...emptyDraft("u", "c"), detectors: { freeze: null, one_sided: { threshold_sec: 9 } }, goesOn: false };
  assert.deepEqual(registrationOf(draft, {}, "music").config, { preset: "music", detectors: draft.detectors, on_callback_failure: "error" });
  assert.deepEqual(running({ ...presetDetectors(of, "music"), ...draft.detectors }), { clipping: { threshold_sec: 60 }, one_sided: { threshold_sec: 9 } });
});

test("a change has the detectors that differ, and null for those that were switched off", () => {
  const before = { freeze: { threshold_sec: 30 }, clipping: { threshold_sec: 30, share: 0.2 } };
  assert.deepEqual(detectorChange(before, { clipping: { share: 0.2, threshold_sec: 30 }, one_sided: { threshold_sec: 9 } }), { freeze: null, one_sided: { threshold_sec: 9 } });
  assert.equal(detectorChange(before, before), undefined);
});

test("without an answer of the service, the gateway's defaults stand", () => {
  assert.deepEqual(registrationOf(emptyDraft("u", "c"), presetNumbers(null, "music")).config, { on_callback_failure: "continue" });
});

test("the plan of a stream that starts later has its worker and its alert in the order of time", () => {
  const now = Date.parse("2026-11-22T20:00:00Z");
  const config = { scheduled_start_time: "2026-11-22T22:00:00Z", start_delay_tolerance_sec: 300 };
  assert.deepEqual(
    stepsOf(config, null, now, 600).map((s) => s.what),
    ["wall", "workerBefore", "late", "alerts", "over"],
  );
  assert.equal(stepsOf(config, null, now, 600)[1]!.at, Date.parse("2026-11-22T21:50:00Z"));
  const live = { state: "live" } as Preview;
  assert.deepEqual(
    stepsOf({}, live, now, 600).map((s) => s.what),
    ["wall", "worker", "alerts", "over"],
  );
});

const problem = (field: string | null) => ({ field, code: "INVALID_CONFIG", message: `${field}` });

test("a problem goes with the value that it is about, and others stay", () => {
  const draft = { ...emptyDraft("u", "https://bad.example.com/"), changed: { check_interval_sec: 0 } };
  const problems = ["stream_url", "callback_url", "config.check_interval_sec", null].map(problem);
  const left = (edited: object) => standing(problems, checkOf(draft, {}), checkOf({ ...draft, ...edited }, {})).map((p) => p.field);
  assert.deepEqual(left({}), ["stream_url", "callback_url", "config.check_interval_sec", null]);
  assert.deepEqual(left({ callbackURL: "" }), ["stream_url", "config.check_interval_sec", null]);
  assert.deepEqual(left({ changed: { check_interval_sec: 5 } }), ["stream_url", "callback_url", null]);
  assert.deepEqual(left({ streamURL: "v", channel: "c" }), ["callback_url", "config.check_interval_sec", null]);
});

test("a check without the stream keeps what was found out about it", () => {
  const before = ["stream_url", "callback_url", null].map(problem);
  const after = [{ ...problem("stream_url"), message: "stream_url is missing" }, problem("config.check_interval_sec")];
  assert.deepEqual(merged(before, after, "stream_url"), ["stream_url", null, "config.check_interval_sec"].map(problem));
});

test("what was looked up goes with its address, and what was typed stays", () => {
  const upcoming = { channel: "Found", title: "Morning", start: "2026-01-15T20:00:00" };
  const looked = filled({ ...emptyDraft("u", "c"), title: "Typed" }, nothingFound, upcoming);
  assert.deepEqual([looked.channel, looked.title, looked.start], ["Found", "Typed", upcoming.start]);
  const replaced = filled(looked, upcoming, nothingFound);
  assert.deepEqual([replaced.channel, replaced.title, replaced.start], ["", "Typed", ""]);
  const live = filled(replaced, nothingFound, { channel: "Other", title: "Live", start: "" });
  assert.deepEqual([live.channel, live.title, live.start], ["Other", "Typed", ""]);
});
