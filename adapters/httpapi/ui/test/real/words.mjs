// The dictionaries of src/i18n, and the words of blackout that the API lists, so that tests expect what the pages say.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL("../..", import.meta.url));
const outDir = mkdtempSync(join(tmpdir(), "dashboard-words-"));
const blackout = JSON.parse(readFileSync(new URL("../detectors.json", import.meta.url), "utf8")).detectors.find((d) => d.name === "blackout").words;
let dictionaries;
try {
  const names = ["en", "ja", "en/pages", "ja/pages"];
  const input = Object.fromEntries(names.map((name) => [name, join(root, `src/i18n/${name}.ts`)]));
  await build({ root, logLevel: "error", build: { ssr: true, outDir, emptyOutDir: false, rollupOptions: { input, output: { entryFileNames: "[name].mjs" } } } });
  const load = (name) => import(pathToFileURL(join(outDir, `${name}.mjs`)));
  const both = async (language) => ({ ...(await load(language))[language], ...(await load(`${language}/pages`)).pages, blackout: blackout[language] });
  dictionaries = { en: await both("en"), ja: await both("ja") };
} finally {
  rmSync(outDir, { recursive: true });
}
export const { en, ja } = dictionaries;

// any stands for a text or number of which a test knows nothing: sentence(words.ago(any)) fits each duration.
export const any = "\u{e000}";
export const sentence = (text) => new RegExp(text.split(any).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".+?"));
