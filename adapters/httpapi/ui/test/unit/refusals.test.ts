import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";
import { loadPageWords, loadWords } from "../../src/i18n";
import { en as enWall } from "../../src/i18n/en";
import { pages as enPages } from "../../src/i18n/en/pages";
import { refusals as en } from "../../src/i18n/en/refusals";
import { ja as jaWall } from "../../src/i18n/ja";
import { pages as jaPages } from "../../src/i18n/ja/pages";
import { refusals as ja } from "../../src/i18n/ja/refusals";
import { refusalOfField } from "../../src/problems";
import { reasonWord, refusalOf } from "../../src/refusals";

before(async () => {
  await loadWords();
  await loadPageWords();
});

const read = (path: string) => readFileSync(`${process.env.UI_ROOT}/${path}`, "utf8");
const found = (text: string, what: RegExp) => [...text.matchAll(what)].map((m) => m[1]!);
const languages = { en, ja };
const api = read("../openapi.yaml");

test("each code that openapi.yaml names has words in both languages", () => {
  const single = found(api, /code: \{ enum: \[([^\]]+)\]/g).flatMap((list) => list.split(", "));
  const codes = new Set([...found(api, /^ +- ([A-Z_]{6,})$/gm), ...found(api, /code: ([A-Z_]{6,})/g), ...single]);
  assert.ok(codes.size >= 24, [...codes].join(" "));
  for (const [language, { codes: words }] of Object.entries(languages)) assert.deepEqual([...codes].filter((code) => !(code in words)), [], language);
});

test("each reason that the specification names has words in both languages", () => {
  const [list] = read("../../../docs/specification.md").match(/`reason` of `monitor\.error` is one of [^.]+\./)!;
  const reasons = found(list, /`([a-z]+_?[a-z_]*)`/g).filter((name) => name !== "reason");
  assert.ok(reasons.length >= 12, reasons.join(" "));
  for (const [language, { reasons: words }] of Object.entries(languages)) assert.deepEqual([...reasons, "callback_failed"].filter((reason) => !(reason in words)), [], language);
});

// listed is what openapi.yaml lists as the values of one thing: all of a list that begins so.
const listed = (first: string): string[] => {
  const [, list] = api.match(new RegExp(`enum: \\[(${first}[^\\]]*)\\]`)) ?? [];
  assert.ok(list, `openapi.yaml has no list that begins with ${first}`);
  return list.split(", ").filter((value) => value !== "null");
};

test("each kind of failure, state and reason that the API lists has words in both languages", () => {
  const specification = read("../../../docs/specification.md");
  const [, ended] = specification.match(/\| `stream\.ended` \| `ended_at`, `reason` \(([^)]+)\)/)!;
  const [, failures] = specification.match(/`failure` \((`manifest`[^)]+)\)/)!;
  const codes = (list: string) => found(list, /`([a-z_]+)`/g);
  const states = found(read("../../../domain/watch/observation.go"), /StreamState = "([a-z_]+)"/g);
  assert.ok(codes(ended!).length >= 2 && codes(failures!).length >= 6 && states.length >= 20, "they are found");
  const known = ["live", "upcoming", "ended"]; // are no reasons: a preview has words for its state
  for (const words of [{ ...enWall, ...enPages }, { ...jaWall, ...jaPages }]) {
    const { channels, common, deliveries, incident, monitor, notifications, register, refusals, settings, shell, wall } = words;
    for (const [values, said] of [
      [[...codes(ended!), ...codes(failures!), ...states.filter((state) => !known.includes(state))], refusals.reasons],
      [listed("refused, dns"), shell.unseen],
      [listed("quota_exceeded, key_refused, login_rejected"), settings.officialAPI.kinds],
      [listed("quota_exceeded, key_refused, rate_limited"), settings.officialAPI.kinds],
      [listed("not_found, no_streams"), channels.failures],
      [listed("beyond_horizon"), channels.whys],
      [listed("pending, wanted"), channels.standings],
      [listed("channel.stream_found"), channels.events],
      [listed("asked, keep"), incident.verdicts],
      [listed("pending, delivered"), incident.deliveryStates],
      [listed("pending, delivered"), deliveries.states],
      [listed("pending, sent"), monitor.state],
      [listed("ok, failed"), monitor.renditionStates],
      [listed("info, warning"), monitor.ingest.severities],
      [listed("unused, working"), notifications.states],
      [listed("gone, failed_for_days"), notifications.disabledReasons],
      [listed("webhook, slack"), notifications.kinds],
      [listed("unused, accepted"), settings.jars.states],
      [listed("quieter"), common.hints.kinds],
      [listed("view, operate"), common.roles],
      [listed("live, upcoming, ended"), register.states],
      [listed("live, upcoming, ended"), register.stateHints],
      [listed("unknown, upcoming, live, ended"), wall.words],
    ] as [string[], object][])
      assert.deepEqual(values.filter((value) => !(value in said)), [], values.join(" "));
  }
});

test("a refusal names the field in words and says what is accepted, or keeps a text of the API that tells more", () => {
  const message = "config.check_interval_sec is 0; accepted is 1 to 300";
  assert.deepEqual(refusalOfField({ field: "config.check_interval_sec", code: "INVALID_CONFIG", message }), { sentence: "Look every, s: Give a number from 1 to 300.", detail: "" });
  assert.deepEqual(refusalOfField({ field: "color", code: "INVALID_CONFIG", message: "color is not known" }), { sentence: en.codes.INVALID_CONFIG, detail: "color is not known" });
  assert.deepEqual(refusalOfField({ field: "people[0].windows[1].timezone", code: "INVALID_CONFIG", message }), { sentence: en.accepted["window.timezone"], detail: "" });
  assert.deepEqual(refusalOfField({ field: "callback_url", code: "INVALID_URL", message: "callback_url: it leads to 10.0.0.1" }), { sentence: `Webhook: ${en.accepted.callback_url}`, detail: "it leads to 10.0.0.1" });
  assert.deepEqual(refusalOfField({ field: "url_of_a_newer_gateway", code: "INVALID_URL", message: "it has no host" }), { sentence: en.codes.INVALID_URL, detail: "it has no host" });
  assert.deepEqual(refusalOf({ code: "INTERNAL_ERROR", message: "its log has the details" }), { sentence: en.codes.INTERNAL_ERROR, detail: "" });
  assert.deepEqual(refusalOf({ code: "OF_A_NEWER_GATEWAY", message: "no" }), { sentence: "That did not work.", detail: "no" });
});

test("a reason that is not known stays as it is", () => {
  assert.equal(reasonWord("worker_lost"), "its worker was lost");
  assert.equal(reasonWord("of_a_newer_gateway"), "of_a_newer_gateway");
});
