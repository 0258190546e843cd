// The words of the interface. text is those of the chosen language; the other language is loaded when it is chosen.
import { computed, effect, signal } from "@preact/signals";
import { language, type Language } from "../settings";
import type { PageWords, WallWords, Words } from "./words";

export type { NotificationWords, PageWords, Words } from "./words";

const loadWall: Record<Language, () => Promise<WallWords>> = {
  en: () => import("./en").then((m) => m.en),
  ja: () => import("./ja").then((m) => m.ja),
};

const loadPages: Record<Language, () => Promise<PageWords>> = {
  en: () => import("./en/pages").then((m) => m.pages),
  ja: () => import("./ja/pages").then((m) => m.pages),
};

const loaded = signal<{ language: Language; wall: WallWords; pages?: PageWords } | null>(null);
let wantPages = false;

// text may be read once loadWords has ended, and its words of pages once loadPageWords has.
export const text = computed(() => ({ ...loaded.value!.wall, ...loaded.value!.pages }) as Words);
export const locale = computed(() => (loaded.value?.language === "ja" ? "ja-JP" : "en-GB"));

async function load(): Promise<void> {
  const chosen = language.peek();
  const wall = await loadWall[chosen]();
  const pages = wantPages ? await loadPages[chosen]() : undefined;
  if (language.peek() !== chosen) return load();
  const before = loaded.peek();
  if (before?.wall !== wall || before.pages !== pages) loaded.value = { language: chosen, wall, pages };
}

// loadWords ends when the chosen language is there, and follows the choice from then on.
export async function loadWords(): Promise<void> {
  await load();
  effect(() => {
    if (language.value !== loaded.peek()!.language) void load();
  });
}

// loadPageWords adds the words that the wall does not pay for.
export async function loadPageWords(): Promise<void> {
  wantPages = true;
  if (!loaded.peek()?.pages) await load();
}

// refusalWords are loaded when they are first wanted: undefined until then.
export function refusalWords(): PageWords["refusals"] | undefined {
  const { pages } = loaded.value!;
  if (!pages) void loadPageWords().catch(() => {}); // the API's own text stands meanwhile
  return pages?.refusals;
}
