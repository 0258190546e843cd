// Lists by the viewer's calendar day.
import { text } from "./i18n";
import { now } from "./store";
import { day, dayKey } from "./time";

const dayMs = 86_400_000;

export interface Day<T> {
  key: string;
  at: string; // a time of the day
  all: T[];
}

// byDay groups a list by the day of each element, in the given order.
export function byDay<T>(all: readonly T[], timeOf: (of: T) => string): Day<T>[] {
  const days: Day<T>[] = [];
  for (const one of all) {
    const at = timeOf(one);
    const key = dayKey(at);
    const last = days.at(-1);
    if (last?.key === key) last.all.push(one);
    else days.push({ key, at, all: [one] });
  }
  return days;
}

// dayName is the heading of a day.
export function dayName(at: string): string {
  const words = text.value.incidents;
  const today = now.peek();
  const named = dayKey(at) === dayKey(today) ? words.today : dayKey(at) === dayKey(today - dayMs) ? words.yesterday : "";
  return named ? `${named}${text.value.common.listComma}${day(at)}` : day(at);
}
