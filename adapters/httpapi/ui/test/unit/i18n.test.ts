import assert from "node:assert/strict";
import { test } from "node:test";
import { en as enWall } from "../../src/i18n/en";
import { pages as enPages } from "../../src/i18n/en/pages";
import { ja as jaWall } from "../../src/i18n/ja";
import { pages as jaPages } from "../../src/i18n/ja/pages";

const en = { ...enWall, ...enPages };
const ja = { ...jaWall, ...jaPages };

type Tree = { [key: string]: unknown };

function keys(tree: Tree, path = ""): string[] {
  return Object.entries(tree).flatMap(([key, value]) => (value !== null && typeof value === "object" ? keys(value as Tree, `${path}${key}.`) : [`${path}${key}`]));
}

function at(tree: Tree, path: string): unknown {
  return path.split(".").length === 1 ? tree[path] : walk(tree, path);
}

// Names of events contain a dot, so a path is followed by the longest key that fits.
function walk(tree: Tree, path: string): unknown {
  for (const [key, value] of Object.entries(tree)) {
    if (path === key) return value;
    if (path.startsWith(`${key}.`) && typeof value === "object") return walk(value as Tree, path.slice(key.length + 1));
  }
  return undefined;
}

test("English and Japanese have the same keys", () => {
  assert.deepEqual(keys(ja).sort(), keys(en).sort());
});

test("no text is empty", () => {
  for (const tree of [en, ja]) for (const key of keys(tree)) if (typeof at(tree, key) === "string") assert.notEqual(at(tree, key), "", key);
});

const sameInBoth = /^(shell\.otherLanguage|.*\.symbol\..*)$/;

test("every Japanese sentence is Japanese", () => {
  for (const key of keys(en)) {
    const [e, j] = [at(en, key), at(ja, key)];
    if (typeof e === "string" && /[a-z]{4,} [a-z]{2,}/.test(e) && !sameInBoth.test(key)) assert.match(String(j), /[\u3040-\u30ff\u4e00-\u9fff]/, key);
  }
});

test("functions take the same number of parameters at most", () => {
  for (const key of keys(en)) {
    const [e, j] = [at(en, key), at(ja, key)];
    assert.equal(typeof j, typeof e, key);
    if (typeof e === "function") assert.ok((j as () => string).length <= e.length, key);
  }
});

test("the words of pages are loaded with the first page, and follow the language from then on", async () => {
  const { loadPageWords, loadWords, text } = await import("../../src/i18n");
  const { language } = await import("../../src/settings");
  const shown = (title: string | undefined) => new Promise<void>((done) => text.subscribe((words) => words.settings?.title === title && done()));
  language.value = "en";
  await loadWords();
  assert.equal(text.value.settings, undefined);
  const opened = loadPageWords();
  language.value = "ja"; // while they are being loaded
  await opened;
  assert.equal(text.value.settings.title, "設定");
  language.value = "en";
  await shown("Settings");
  assert.equal(text.value.common.loading, en.common.loading);
});
