// The sentence that says why there is an incident, from the numbers of its condition.
import { text } from "./i18n";
import { clockDay, decimal, duration, secondsBetween } from "./time";
import type { Condition, Monitor } from "./types";

export function whyOf(condition: Condition, monitor: Monitor | null, now: number, openedAt: string): string {
  const words = text.value.why;
  const alert = condition.alert;
  const config = monitor?.config;
  const threshold = (seconds: number | null | undefined) => duration(alert?.threshold_sec ?? seconds ?? 0);
  const lasted = duration(alert?.duration_sec ?? Math.max(0, secondsBetween(condition.last_started_at, openedAt)));
  const criteria = alert?.criteria ?? {};
  switch (condition.name) {
    case "black":
      return criteria.luma_below_percent !== undefined
        ? words.black(decimal(criteria.luma_below_percent), decimal(criteria.area_percent ?? 100), lasted, threshold(config?.blackout_threshold_sec))
        : words.blackPlain(lasted, threshold(config?.blackout_threshold_sec));
    case "silent": {
      const level = criteria.level_below_db ?? config?.silence_db_threshold;
      return level !== undefined ? words.silent(decimal(level), lasted, threshold(config?.silence_threshold_sec)) : words.silentPlain(lasted, threshold(config?.silence_threshold_sec));
    }
    case "no_media":
      return words.no_media(lasted, threshold(60));
    case "late":
      return config ? words.late(clockDay(condition.started_at, now), duration(config.start_delay_tolerance_sec)) : words.latePlain(clockDay(condition.started_at, now));
    case "blind":
      return words.blind;
    case "error":
      return words.error(alert?.reason ?? monitor?.reason ?? "?");
    default:
      return words.other(lasted);
  }
}

// besides says what else is known of the stream: what still works is where to look first.
export function besides(condition: Condition, monitor: Monitor): string {
  const words = text.value.why;
  if (monitor.last_error && ["blind", "no_media", "error"].includes(condition.name)) return words.lastError(monitor.last_error);
  const parts: string[] = [];
  const grade = (state: string) => (state === "ok" ? "ok" : state === "unknown" ? "unknown" : "bad");
  if (condition.name !== "black") parts.push(words.picture[grade(monitor.health.video)]);
  if (condition.name !== "silent") parts.push(words.sound[grade(monitor.health.audio)]);
  parts.push(words.stream[monitor.stream_status]);
  const joined = parts.join(text.value.common.listComma);
  return joined.charAt(0).toUpperCase() + joined.slice(1) + text.value.common.stop;
}
