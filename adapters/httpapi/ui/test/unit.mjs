// Runs the tests of the parts that need no browser: bundles test/unit/*.test.ts and gives them to node's test runner.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const tests = readdirSync(join(root, "test/unit")).filter((name) => name.endsWith(".test.ts"));
const outDir = mkdtempSync(join(tmpdir(), "dashboard-unit-"));
try {
  await build({
    root,
    logLevel: "warn",
    build: { ssr: true, outDir, emptyOutDir: false, rollupOptions: { input: tests.map((name) => join(root, "test/unit", name)), output: { entryFileNames: "[name].mjs" } } },
    ssr: { noExternal: true },
  });
  const files = tests.map((name) => join(outDir, name.replace(/\.ts$/, ".mjs")));
  const { status } = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit", env: { ...process.env, UI_ROOT: root } });
  process.exitCode = status ?? 1;
} finally {
  rmSync(outDir, { recursive: true });
}
