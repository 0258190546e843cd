// What one browser remembers: language, theme, name, sound, keys, pinned streams.
import { effect, signal, type Signal } from "@preact/signals";

// remembered is a signal kept in the browser's storage. Without storage it lives as long as the page.
export function remembered<T>(name: string, initial: T): Signal<T> {
  const key = `stream-monitor.${name}`;
  const s = signal<T>(stored(key) ?? initial);
  effect(() => {
    try {
      localStorage.setItem(key, JSON.stringify(s.value));
    } catch {
      // Storage may be off or full.
    }
  });
  return s;
}

function stored<T>(key: string): T | null {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null") as T | null;
  } catch {
    return null;
  }
}

export type Language = "en" | "ja";
export type Theme = "auto" | "light" | "dark";

export const language = remembered<Language>("language", typeof navigator !== "undefined" && navigator.language.startsWith("ja") ? "ja" : "en");
export const theme = remembered<Theme>("theme", "auto");
export const name = remembered<string>("name", ""); // who acknowledges and writes notes; only the person here changes it
export const sound = remembered<boolean>("sound", false);
export const soundBlocked = signal(false); // sound is on, but the browser lets no page sound before somebody has clicked in it; not remembered
export const keysOn = remembered<boolean>("keys", true);
export const pinned = remembered<string[]>("pinned", []);

export function togglePinned(monitorID: string): void {
  pinned.value = pinned.value.includes(monitorID) ? pinned.value.filter((id) => id !== monitorID) : [...pinned.value, monitorID];
}

// applySettings writes language and theme to the document.
export function applySettings(): void {
  effect(() => {
    document.documentElement.lang = language.value;
  });
  effect(() => {
    if (theme.value === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme.value;
  });
}
