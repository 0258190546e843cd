// The words of the interface. text is those of the chosen language; the other language is loaded when it is chosen.
import { computed, effect, signal } from "@preact/signals";
import { language, type Language } from "../settings";
import type { en } from "./en";
import type { refusals as enRefusals } from "./en/refusals";

// Same is the shape of the English words: the compiler finds what another language lacks.
export type Same<T> = T extends string ? string : T extends (...args: infer A) => string ? (...args: A) => string : { [K in keyof T]: Same<T[K]> };
export type Words = Same<typeof en>;
export type RefusalWords = Same<typeof enRefusals>;

const load: Record<Language, () => Promise<Words>> = {
  en: () => import("./en").then((m) => m.en),
  ja: () => import("./ja").then((m) => m.ja),
};

const loaded = signal<{ language: Language; words: Words } | null>(null);

// text may be read once loadWords has ended.
export const text = computed<Words>(() => loaded.value!.words);
export const locale = computed(() => (loaded.value?.language === "ja" ? "ja-JP" : "en-GB"));

const loadRefusals: Record<Language, () => Promise<RefusalWords>> = {
  en: () => import("./en/refusals").then((m) => m.refusals),
  ja: () => import("./ja/refusals").then((m) => m.refusals),
};

const loadedRefusals = signal<Partial<Record<Language, RefusalWords>>>({});

// refusalWords are loaded when they are first wanted, so that the wall does not pay for them: undefined until then.
export function refusalWords(): RefusalWords | undefined {
  const wanted = loaded.value!.language;
  const words = loadedRefusals.value[wanted];
  if (!words) void loadRefusalWords(wanted).catch(() => {}); // the API's own text stands meanwhile
  return words;
}

export async function loadRefusalWords(wanted: Language): Promise<void> {
  const words = await loadRefusals[wanted]();
  if (!loadedRefusals.peek()[wanted]) loadedRefusals.value = { ...loadedRefusals.peek(), [wanted]: words };
}

// loadWords ends when the chosen language is there, and follows the choice from then on.
export async function loadWords(): Promise<void> {
  const read = async (chosen: Language) => {
    const words = await load[chosen]();
    if (language.peek() === chosen) loaded.value = { language: chosen, words };
  };
  await read(language.peek());
  effect(() => {
    if (language.value !== loaded.peek()!.language) void read(language.value);
  });
}
