// Pictures: live thumbnails, which workers make only while somebody looks, and evidence, which needs a signed link.
import { signal, type Signal } from "@preact/signals";
import { evidence as api, post } from "./api";
import { retryIn } from "./read";
import { isLive, thumbnails } from "./store";
import type { Variant } from "./types";

// The lease of a watch is 30 s; it is renewed early enough to survive one lost request.
const renewMs = 12_000;
const settleMs = 250; // scrolling shows many streams for a moment
const leastApartMs = 3_000; // the requests count against the client's rate limit
const mostWatched = 200;

const shown = new Map<string, number>(); // how many pictures of a monitor the page shows
let timer: ReturnType<typeof setTimeout> | null = null;
let askedAt = -Infinity;

// showThumbnail keeps a monitor's thumbnails coming until the function that it returns is called.
export function showThumbnail(monitorID: string): () => void {
  const count = shown.get(monitorID) ?? 0;
  shown.set(monitorID, count + 1);
  if (count === 0) plan(settleMs);
  return () => {
    const left = shown.get(monitorID)! - 1;
    if (left > 0) shown.set(monitorID, left);
    else shown.delete(monitorID);
  };
}

function plan(ms: number): void {
  if (timer !== null) clearTimeout(timer);
  timer = setTimeout(() => void watch(), Math.max(ms, askedAt + leastApartMs - performance.now()));
}

async function watch(): Promise<void> {
  timer = null;
  if (shown.size === 0) return;
  askedAt = performance.now();
  if (!document.hidden && isLive.peek()) {
    try {
      await post("/api/v1/thumbnails/watch", { monitor_ids: [...shown.keys()].slice(0, mostWatched) });
    } catch {
      // Pictures then grow old visibly; the next renewal tries again.
    }
  }
  if (timer === null) plan(renewMs);
}

if (typeof document !== "undefined") document.addEventListener("visibilitychange", () => !document.hidden && shown.size > 0 && plan(0));

export interface Thumbnail {
  url: string;
  takenAt: string;
}

// readThumbnail returns the newest thumbnail as a blob URL that the caller revokes; null: there is none.
export async function readThumbnail(monitorID: string, abort: AbortSignal): Promise<Thumbnail | null> {
  const response = await fetch(`/api/v1/monitors/${encodeURIComponent(monitorID)}/thumbnail`, { signal: abort });
  if (!response.ok) return null;
  const takenAt = response.headers.get("X-Taken-At") ?? thumbnails.get(monitorID) ?? "";
  return { url: URL.createObjectURL(await response.blob()), takenAt };
}

const linkTTLSec = 3600;
const mostLinks = 1000; // more than a page shows; a wall that is open for weeks has many incidents in an hour
const links = new Map<string, { url: Signal<string | null>; until: number }>(); // what expires first is first

// evidenceURL is a link to a file of evidence on this host; null until it is signed.
export function evidenceURL(evidenceID: string, variant: Variant): Signal<string | null> {
  const key = `${evidenceID}/${variant}`;
  const known = links.get(key);
  if (known && known.until > Date.now()) return known.url;
  for (const [old, { until }] of links) {
    if (until > Date.now() && links.size < mostLinks) break;
    links.delete(old);
  }
  const url = signal<string | null>(null);
  links.set(key, { url, until: Date.now() + (linkTTLSec - 300) * 1000 });
  const sign = () =>
    api.link(evidenceID, variant, linkTTLSec).then(
      (signed) => (url.value = onThisHost(signed.url)),
      (error) => {
        const wait = retryIn(error);
        if (wait === null) links.delete(key);
        else setTimeout(sign, wait);
      },
    );
  void sign();
  return url;
}

export const linksKept = () => links.size;

// onThisHost leaves out the host of PUBLIC_URL: the gateway that served the page has the file, too.
function onThisHost(url: string): string {
  const { pathname, search } = new URL(url, location.href);
  return pathname.slice(pathname.indexOf("/evidence/")) + search;
}
