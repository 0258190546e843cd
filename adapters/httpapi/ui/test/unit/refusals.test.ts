import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";
import { loadPageWords, loadWords } from "../../src/i18n";
import { refusals as en } from "../../src/i18n/en/refusals";
import { refusals as ja } from "../../src/i18n/ja/refusals";
import { reasonWord, refusalOf } from "../../src/refusals";

before(async () => {
  await loadWords();
  await loadPageWords();
});

const read = (path: string) => readFileSync(`${process.env.UI_ROOT}/${path}`, "utf8");
const found = (text: string, what: RegExp) => [...text.matchAll(what)].map((m) => m[1]!);
const languages = { en, ja };

test("each code that openapi.yaml names has words in both languages", () => {
  const api = read("../openapi.yaml");
  const listed = found(api, /code: \{ enum: \[([^\]]+)\]/g).flatMap((list) => list.split(", "));
  const codes = new Set([...found(api, /^ +- ([A-Z_]{6,})$/gm), ...found(api, /code: ([A-Z_]{6,})/g), ...listed]);
  assert.ok(codes.size >= 24, [...codes].join(" "));
  for (const [language, { codes: words }] of Object.entries(languages)) assert.deepEqual([...codes].filter((code) => !(code in words)), [], language);
});

test("each reason that the specification names has words in both languages", () => {
  const [list] = read("../../../docs/specification.md").match(/`reason` of `monitor\.error` is one of [^.]+\./)!;
  const reasons = found(list, /`([a-z]+_?[a-z_]*)`/g).filter((name) => name !== "reason");
  assert.ok(reasons.length >= 12, reasons.join(" "));
  for (const [language, { reasons: words }] of Object.entries(languages)) assert.deepEqual([...reasons, "callback_failed"].filter((reason) => !(reason in words)), [], language);
});

test("a refusal names the field in words, and keeps a text of the API that tells more", () => {
  const message = "config.check_interval_sec is 0; accepted is 1 to 300";
  assert.deepEqual(refusalOf({ field: "config.check_interval_sec", code: "INVALID_CONFIG", message }), { sentence: "Look every, s: A value is not accepted.", detail: message });
  assert.deepEqual(refusalOf({ field: "color", code: "INVALID_CONFIG", message: "color is not known" }), { sentence: "color: A value is not accepted.", detail: "color is not known" });
  assert.deepEqual(refusalOf({ code: "INTERNAL_ERROR", message: "its log has the details" }), { sentence: en.codes.INTERNAL_ERROR, detail: "" });
  assert.deepEqual(refusalOf({ code: "OF_A_NEWER_GATEWAY", message: "no" }), { sentence: "That did not work.", detail: "no" });
});

test("a reason that is not known stays as it is", () => {
  assert.equal(reasonWord("worker_lost"), "its worker was lost");
  assert.equal(reasonWord("of_a_newer_gateway"), "of_a_newer_gateway");
});
