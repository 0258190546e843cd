// The table of detectors, as the gateway tells it (specification, section 17.5). No other file knows a detector's name.
import { signal } from "@preact/signals";
import { get } from "./api";
import { language } from "./settings";
import type { ConditionName, Detector, DetectorWords } from "./types";

// detectors are in the order in which conditions are named. There are none until they are read.
export const detectors = signal<readonly Detector[]>([]);

let asked = false;

// readDetectors reads the table once. Until then conditions are called as the API calls them.
export async function readDetectors(): Promise<void> {
  if (asked) return;
  asked = true;
  try {
    detectors.value = (await get<{ detectors: Detector[] }>("/api/v1/detectors")).detectors;
  } catch {
    asked = false; // the next connection of the feed asks again
  }
}

// detectorOf finds a detector by its condition, or by the health of its track; undefined: no detector has that.
export const detectorOf = (name: string): Detector | undefined => detectors.value.find((d) => d.condition === name || d.health === name);

export const detectorWords = (detector: Detector | undefined): DetectorWords | undefined => detector?.words[language.value];

// conditionNames are all conditions that an incident can have, the worst first.
export const conditionNames = (): readonly ConditionName[] => ["error", "no_media", ...detectors.value.map((d) => d.condition), "blind", "late"];

// judgedBy is the detector that has a criterion, and the criterion's value, if every monitor has the same; null: no detector has it.
export function judgedBy(name: string): { condition: ConditionName; value?: number } | null {
  for (const { condition, criteria } of detectors.value) {
    const criterion = criteria.find((c) => c.name === name);
    if (criterion) return { condition, value: criterion.value ?? undefined };
  }
  return null;
}

// filled puts values into a sentence, in the place of their names in braces.
export const filled = (sentence: string, values: Record<string, string>): string => sentence.replace(/\{(\w+)\}/g, (all, name: string) => values[name] ?? all);
