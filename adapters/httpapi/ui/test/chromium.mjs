// Starts Chromium: the one of CHROMIUM, else what Debian installs. The headless shell draws and runs pages with the same code
// as Chromium and takes half of its CPU time.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const installed = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
const executablePath = process.env.CHROMIUM ?? installed.find((path) => existsSync(path));

export function launch(...args) {
  if (!executablePath) throw new Error(`Chromium is not installed: there is none of ${installed.join(", ")}, and CHROMIUM is not set`);
  return chromium.launch({ executablePath, args: ["--no-sandbox", ...args] });
}
