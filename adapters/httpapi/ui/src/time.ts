// Times and durations for people. The API speaks UTC; pages show the viewer's zone and name it.
import { computed } from "@preact/signals";
import { locale, text } from "./i18n";

export type Instant = string | number | Date;

function format(options: Intl.DateTimeFormatOptions) {
  return computed(() => new Intl.DateTimeFormat(locale.value, options));
}

const clockFormat = format({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const minuteFormat = format({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const utcFormat = format({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZone: "UTC" });
const dayFormat = format({ weekday: "long", day: "numeric", month: "long" });
const shortDayFormat = format({ weekday: "short", day: "numeric", month: "short" });
const dayNumberFormat = format({ weekday: "short", day: "numeric" });
const dateFormat = format({ day: "numeric", month: "short", year: "numeric" });

const date = (at: Instant) => new Date(at);

export const clock = (at: Instant) => clockFormat.value.format(date(at)); // 21:02:38
export const clockMinute = (at: Instant) => minuteFormat.value.format(date(at)); // 21:02
export const clockUTC = (at: Instant) => utcFormat.value.format(date(at));
export const day = (at: Instant) => dayFormat.value.format(date(at)); // Sunday 22 November
export const shortDay = (at: Instant) => shortDayFormat.value.format(date(at)); // Sun, 22 Nov
export const dayNumber = (at: Instant) => dayNumberFormat.value.format(date(at)); // Sun 22
export const fullDate = (at: Instant) => dateFormat.value.format(date(at)); // 22 Nov 2026

// dayKey is the viewer's calendar day, for grouping.
export function dayKey(at: Instant): string {
  const d = date(at);
  return `${d.getFullYear()}-${d.getMonth() + 1}-${d.getDate()}`;
}

// clockDay is the clock, with the day unless that is today.
export function clockDay(at: Instant, today: number): string {
  return dayKey(at) === dayKey(today) ? clock(at) : `${shortDay(at)} ${clock(at)}`;
}

// minuteDay is the clock without seconds, with the day unless that is today.
export const minuteDay = (at: Instant, today: number): string => (dayKey(at) === dayKey(today) ? clockMinute(at) : `${shortDay(at)} ${clockMinute(at)}`);

// zone is the short name of the viewer's time zone, such as JST or CET. Each locale knows only the names of its region.
export const zone = computed(() => {
  const names = [locale.value, "ja-JP", "en-GB", "en-US"].map(shortZone);
  return names.find((n) => /^[A-Z]{3,5}$/.test(n)) ?? names[0]!;
});

function shortZone(of: string): string {
  const parts = new Intl.DateTimeFormat(of, { timeZoneName: "short" }).formatToParts(new Date());
  return parts.find((part) => part.type === "timeZoneName")?.value ?? "";
}

export const number = computed(() => new Intl.NumberFormat(locale.value));

// decimal writes a number with a real minus sign.
export function decimal(value: number, digits = 1): string {
  return new Intl.NumberFormat(locale.value, { maximumFractionDigits: digits }).format(value).replace("-", "−");
}

// duration writes seconds with their two largest units: "2 min 34 s", "1 h 24 min", "3 d 2 h".
export function duration(seconds: number): string {
  const total = Math.max(0, Math.floor(seconds));
  const { second, minute, hour, day: days } = text.value.common;
  const parts: [number, string][] =
    total < 60
      ? [[total, second]]
      : total < 3600
        ? [[Math.floor(total / 60), minute], [total % 60, second]]
        : total < 86_400
          ? [[Math.floor(total / 3600), hour], [Math.floor((total % 3600) / 60), minute]]
          : [[Math.floor(total / 86_400), days], [Math.floor((total % 86_400) / 3600), hour]];
  return parts.map(([n, unit]) => `${n}${gap()}${unit}`).join(gap());
}

// fractional writes seconds with a fraction: "0.01 s".
export const fractional = (seconds: number, digits = 1): string => `${decimal(seconds, digits)}${gap()}${text.value.common.second}`;

const gap = () => (locale.value === "ja-JP" ? "" : " "); // between a number and its unit

// wholeDuration is a duration without a second unit that is zero: "5 min" instead of "5 min 0 s".
export const wholeDuration = (seconds: number): string => duration(seconds).replace(/(\D)0\s?\D+$/, "$1").trim();

export const secondsBetween = (from: Instant, to: Instant) => (date(to).getTime() - date(from).getTime()) / 1000;

// toLocalInput and fromLocalInput are the value of <input type="datetime-local">, which is in the viewer's zone.
export function toLocalInput(at: string | null): string {
  if (!at) return "";
  const d = date(at);
  return new Date(d.getTime() - d.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

export function fromLocalInput(value: string): string | null {
  const d = date(value);
  return value && !Number.isNaN(d.getTime()) ? d.toISOString().replace(/\.\d+Z$/, "Z") : null;
}
