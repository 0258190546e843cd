// The address is the state of the view: path and query are signals, and every view can be shared as a link.
import { computed, signal } from "@preact/signals";

const address = signal(typeof location === "undefined" ? new URL("http://localhost/") : new URL(location.href));

export const path = computed(() => address.value.pathname);
export const query = computed(() => address.value.searchParams);

export function navigate(to: string, how: "push" | "replace" = "push"): void {
  const next = new URL(to, location.href);
  if (next.href === location.href) return;
  history[how === "push" ? "pushState" : "replaceState"](null, "", next);
  const elsewhere = next.pathname !== address.peek().pathname;
  address.value = next;
  if (elsewhere) scrollTo(0, 0);
}

// setQuery changes parameters of the query; null or "" removes one.
export function setQuery(changes: Record<string, string | null>, how: "push" | "replace" = "push"): void {
  navigate(withQuery(changes), how);
}

// withQuery is the present address with other parameters, for links.
export function withQuery(changes: Record<string, string | null>): string {
  const next = new URLSearchParams(query.value);
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  const text = next.toString();
  return path.value + (text ? `?${text}` : "");
}

// startRouter takes over clicks on links within the dashboard, and the browser's Back.
export function startRouter(): void {
  addEventListener("popstate", () => (address.value = new URL(location.href)));
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest?.("a");
    if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (!isPage(link.pathname) || (link.hash && link.pathname === location.pathname)) return;
    event.preventDefault();
    navigate(link.href);
  });
}

const pages = /^\/((incidents|channels)(\/[^/]+)?|monitors\/[^/]+|deliveries|destinations|ended|register|settings|signin)?$/;

function isPage(pathname: string): boolean {
  return pages.test(pathname);
}
