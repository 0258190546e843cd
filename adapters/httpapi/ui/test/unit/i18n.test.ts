import assert from "node:assert/strict";
import { test } from "node:test";
import { en } from "../../src/i18n/en";

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
