// The sentences that say why there is an incident, from the numbers of its condition.
import { detectorOf, detectorWords, filled } from "./detectors";
import { text } from "./i18n";
import { isOwn } from "./names";
import { reasonWord } from "./refusals";
import { isLate } from "./store";
import { clockDay, decimal, duration, secondsBetween, wholeDuration } from "./time";
import type { Condition, Monitor } from "./types";

// whyOf says what is wrong and for how long: until now while it lasts, else until it ended.
export function whyOf(condition: Condition, monitor: Monitor | null, now: number): string {
  const words = text.value.why;
  const lasted = duration(secondsBetween(condition.last_started_at, condition.ended_at ?? now));
  switch (condition.name) {
    case "no_media":
    case "blind":
      return words[condition.name](lasted);
    case "late":
      return words.late(clockDay(condition.started_at, now));
    case "error":
      return words.error(reasonWord(condition.alert?.reason ?? monitor?.reason ?? "?"));
    default: {
      const sentence = detectorWords(detectorOf(condition.name))?.lasts;
      return sentence ? filled(sentence, { lasted }) : words.other(condition.name, lasted);
    }
  }
}

// alertOf says in numbers what raised the alert. It is empty if there was none yet, or none with numbers.
export function alertOf(condition: Condition, monitor: Monitor | null): string {
  const words = text.value.why;
  if (condition.name === "late") return monitor ? words.tolerance(wholeDuration(monitor.config.start_delay_tolerance_sec)) : "";
  const { alert } = condition;
  if (!alert || alert.duration_sec === null) return "";
  const raised = words.alert(wholeDuration(alert.duration_sec), alert.threshold_sec === null ? "" : wholeDuration(alert.threshold_sec));
  const means = detectorWords(detectorOf(condition.name))?.means;
  if (!alert.criteria || !means) return raised;
  const values = Object.entries(alert.criteria).map(([name, value]) => [name, decimal(value, 2)]);
  return words.andMeans(raised, filled(means, Object.fromEntries(values)));
}

// stillWorking says what still works by now: where to look first. It is empty if there is nothing else.
export function stillWorking(condition: Condition, monitor: Monitor): string {
  const words = text.value.why;
  const parts: string[] = [];
  const { health } = monitor;
  const say = (state: string, track: { ok: string; unknown: string; bad: string }) => {
    if (state === "unknown" || isLate(monitor.monitor_id)) return track.unknown;
    return state === "ok" ? track.ok : (detectorWords(detectorOf(state))?.state ?? track.bad);
  };
  const judged = detectorOf(condition.name)?.track;
  if (judged !== "video" && health.video !== "none") parts.push(say(health.video, words.picture));
  if (judged !== "audio") parts.push(say(health.audio, words.sound));
  if (!isOwn(monitor.stream_url)) parts.push(words.stream[monitor.stream_status]);
  const joined = parts.join(text.value.common.listComma);
  return joined && words.now(joined) + text.value.common.stop;
}
