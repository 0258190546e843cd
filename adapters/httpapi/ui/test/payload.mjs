// How much the wall loads: index, its script and style, the worker, and the larger language.
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const dist = fileURLToPath(new URL("../dist/", import.meta.url));

export function payload() {
  const index = readFileSync(`${dist}index.html`, "utf8");
  const size = (file) => gzipSync(readFileSync(dist + file), { level: 9 }).length;
  const named = (begin) => readdirSync(`${dist}assets`).filter((f) => f.startsWith(begin)).map((f) => `assets/${f}`);
  const files = ["index.html", ...[...index.matchAll(/(?:src|href)="\/([^"]+)"/g)].map((m) => m[1]), ...named("feed.worker")];
  return files.reduce((sum, file) => sum + size(file), Math.max(...[...named("en-"), ...named("ja-")].map(size)));
}
