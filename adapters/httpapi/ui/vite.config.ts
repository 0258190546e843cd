import { defineConfig } from "vite";

// The dev server passes the API on to a gateway, with its key:
// GATEWAY=http://127.0.0.1:8080 API_KEY=... npm run dev
const gateway = process.env.GATEWAY ?? "http://127.0.0.1:8080";
const headers: Record<string, string> = process.env.API_KEY ? { "X-API-Key": process.env.API_KEY } : {};
const proxy = { target: gateway, headers };

export default defineConfig({
  build: {
    assetsInlineLimit: 0, // the Content-Security-Policy allows no data: URL
    modulePreload: { polyfill: false },
    target: "es2022",
    // All that the first page needs is one file: a dozen small ones are compressed worse, and each has its own delay.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "index", test: /src\/main\.tsx$/ }] } } },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  worker: { format: "es" },
  server: { proxy: { "/api": proxy, "/evidence": proxy } },
});
