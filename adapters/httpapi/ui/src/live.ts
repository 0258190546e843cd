// Joins the feed to the store, and tells the document and its title how things stand.
import { effect, untracked } from "@preact/signals";
import { incidents as api } from "./api";
import { readDetectors } from "./detectors";
import { startFeed, type Feed } from "./feed";
import { recoveredMs } from "./feedstate";
import { text } from "./i18n";
import { navigate } from "./router";
import { asOf, heardAt, isLive, keep, link, loaded, now, receive, replaced, startClock, unowned } from "./store";
import { clock } from "./time";
import { startSound } from "./sound";
import { pageTitle } from "./title";

let feed: Feed | null = null;

export function retry(): void {
  feed?.retry();
}

// startLive may be called again, after somebody has signed in.
export function startLive(): void {
  if (feed) {
    if (link.peek().state === "signed-out") feed.retry();
    return;
  }
  feed = startFeed(receive, (newest) => (link.value = newest));
  startClock();
  startSound();
  effect(() => {
    document.documentElement.dataset.link = isLive.value ? "live" : heardAt.value > 0 ? "lost" : "connecting";
  });
  effect(() => {
    // Whoever has seen nothing yet has nothing to lose by leaving for the sign-in page.
    if (link.value.state === "signed-out" && !loaded.peek()) untracked(goToSignIn);
  });
  effect(() => {
    if (replaced.value > 0) void readRecovered();
    void readDetectors();
  });
}

// startTitle keeps title and icon of the document: what nobody has acknowledged, the page, and that the link is lost.
export function startTitle(): void {
  effect(() => {
    const lost = heardAt.value > 0 && !isLive.value ? ` (${text.value.shell.asOf} ${clock(asOf.value)})` : "";
    document.title = `${unowned.value > 0 ? `(${unowned.value}) ` : ""}${pageTitle.value && `${pageTitle.value} · `}stream-monitor${lost}`;
  });
  let drawn = false;
  effect(() => {
    const [count, lost] = [unowned.value, heardAt.value > 0 && !isLive.value];
    if (count === 0 && !lost && !drawn) return; // the icon is as it came
    drawn = true;
    import("./favicon").then((m) => m.drawFavicon(count, lost)).catch(() => {}); // a gateway that is away gives none; the next change asks again
  });
}

function goToSignIn(): void {
  if (location.pathname !== "/signin") navigate(`/signin?next=${encodeURIComponent(location.pathname + location.search)}`, "replace");
}

// readRecovered asks for what was resolved shortly before: state.replace has only what is unresolved.
async function readRecovered(): Promise<void> {
  try {
    const from = new Date(now.peek() - recoveredMs).toISOString();
    keep((await api.list({ state: "resolved", from, limit: 200 })).incidents);
  } catch {
    // The list of recovered streams then begins now.
  }
}
