import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";

const src = join(process.env.UI_ROOT!, "src");
const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name)).map((name) => join(src, name));

// importsOf is the files of src that a file imports, types and what is loaded later included.
function importsOf(file: string): string[] {
  const written = [...readFileSync(file, "utf8").matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]*)"/g)].map((found) => resolve(dirname(file), found[1]!));
  return written.flatMap((path) => files.filter((f) => [path, `${path}.ts`, `${path}.tsx`, `${path}/index.ts`].includes(f)));
}

test("no file imports itself by way of others", () => {
  const imports = new Map(files.map((file) => [file, importsOf(file)]));
  assert.ok([...imports.values()].flat().length > files.length, "imports are found");
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, way: string[]) => {
    const begin = way.indexOf(file);
    if (begin >= 0) circles.push([...way.slice(begin), file].map((f) => f.slice(src.length + 1)).join(" > "));
    if (begin >= 0 || done.has(file)) return;
    for (const next of imports.get(file)!) visit(next, [...way, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  assert.deepEqual(circles, []);
});

test("no file asks or tells by the dialogs of the browser; parts/Ask.tsx asks", () => {
  const native = /(?<![.\w])(?:confirm|alert|prompt)\(|\b(?:window|globalThis|self)\.(?:confirm|alert|prompt)\b/;
  assert.deepEqual(["if (confirm(words)) go()", "window.prompt", "words.alert(1)", "confirmed(x)"].map((line) => native.test(line)), [true, true, false, false]);
  assert.deepEqual(files.filter((file) => native.test(readFileSync(file, "utf8"))), []);
});
