// Takes a screenshot of a page: node test/shot.mjs URL FILE [WIDTHxHEIGHT] [dark|light] [en|ja] [full]
import { launch } from "./chromium.mjs";

const [url, file, size = "1600x1000", scheme = "dark", language = "en", full] = process.argv.slice(2);
const [width, height] = size.split("x").map(Number);
const browser = await launch();
const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme, locale: language === "ja" ? "ja-JP" : "en-GB", timezoneId: "Asia/Tokyo" });
page.on("console", (m) => ["error", "warning"].includes(m.type()) && console.log(m.type(), m.text()));
page.on("pageerror", (e) => console.log("pageerror", e.stack));
page.on("requestfailed", (r) => console.log("failed", r.url(), r.failure()?.errorText));
await page.goto(url);
await page.waitForTimeout(Number(process.env.WAIT ?? 2500));
await page.screenshot({ path: file, fullPage: full === "full" });
await browser.close();
