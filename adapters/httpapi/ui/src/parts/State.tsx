import { useComputed } from "@preact/signals";
import { detectorOf, detectorWords } from "../detectors";
import { text } from "../i18n";
import { troubleSec, troubleTimes } from "../incidentlist";
import { now } from "../store";
import { duration, minuteDay } from "../time";
import type { Condition, Incident, Monitor } from "../types";
import type { State } from "../wall";
import { Glyph } from "./Glyph";
import { glyphs, type GlyphName } from "./glyphs";

export const stateGlyphs: Record<State, GlyphName> = { trouble: "trouble", warning: "warning", recovered: "recovered", waiting: "waiting", on_air: "ok", paused: "pause", off: "off" };

// conditionGlyph is the glyph of a condition that has one of its own, else that of its detector's track.
export function conditionGlyph(name: string): GlyphName {
  if (name in glyphs) return name as GlyphName;
  const detector = detectorOf(name);
  return !detector ? "trouble" : detector.track === "video" ? "video" : "sound";
}

// spoken is a name of the API that nobody has words for.
const spoken = (name: string): string => name.replaceAll("_", " ");

export const conditionWord = (name: string): string => (text.value.common.conditions as Record<string, string>)[name] ?? detectorWords(detectorOf(name))?.title ?? spoken(name);
// healthWord is the word for a state of a stream, or of its picture or sound.
export const healthWord = (state: string): string => (text.value.wall.words as Record<string, string>)[state] ?? detectorWords(detectorOf(state))?.state ?? (text.value.common.conditions as Record<string, string>)[state] ?? spoken(state);
export const isWarning = (name: string): boolean => name === "late" || name === "blind";

// stillWord says who has resolved an incident, and what goes on in it; null: nothing does.
export function stillWord(incident: Incident, condition: Condition | null): string {
  const { resolvedBy, resolvedStill, resolvedByPause } = text.value.common;
  const by = incident.resolved_by ?? "";
  if (incident.resolved_by_pause) return resolvedByPause(by);
  return condition ? resolvedStill(by, conditionWord(condition.name)) : resolvedBy(by);
}

// severityOf says the severity of what lasts, and the worst so far where it was another.
export function severityOf({ severity, severity_now: current }: Incident): string {
  const { severity: word, severityWorst } = text.value.common;
  return current === null || current === severity ? word(severity) : severityWorst(current, severity);
}

// alsoOf names the conditions of an incident beside one, those apart that are over while another lasts; empty: there are none.
export function alsoOf(incident: Incident, shown: string): string {
  const { also, earlier, listComma } = text.value.common;
  const others = incident.conditions.filter((c) => c.name !== shown);
  const isEarlier = (c: Condition) => c.ended_at !== null && incident.conditions.some((other) => other.ended_at === null);
  const say = (conditions: readonly Condition[], words: (names: string) => string) =>
    conditions.length > 0 ? [words(conditions.map((c) => conditionWord(c.name)).join(listComma))] : [];
  return [...say(others.filter((c) => !isEarlier(c)), also), ...say(others.filter(isEarlier), earlier)].join(listComma);
}

// InAll says how often there was any of the conditions, and for how long in all, if they came more than once.
export function InAll({ conditions }: { conditions: readonly Condition[] }) {
  const said = useComputed(() => {
    const times = troubleTimes(conditions, now.value);
    return times > 1 ? text.value.common.inAll(times, duration(troubleSec(conditions, now.value))) : "";
  });
  return said.value ? <small class="wrap num">{said}</small> : null;
}

// pausedWord says until when a stream is paused.
export const pausedWord = (monitor: Monitor): string => text.value.wall.pausedUntil(minuteDay(monitor.paused_until!, now.peek()));

// Lamp says a condition by colour, glyph and word.
export function Lamp({ name, large = false }: { name: string; large?: boolean }) {
  const state = isWarning(name) ? "warning" : "trouble";
  return (
    <span class={`lamp is-${state}${name === "blind" ? " hatched" : ""}${large ? " large" : ""}`}>
      <Glyph name={conditionGlyph(name)} />
      {conditionWord(name)}
    </span>
  );
}

// StateWord says what is wrong, or that nobody has looked in time, instead of that there is no trouble. of is a stream
// that may be paused: it says until when.
export function StateWord({ state, condition = null, late = false, of }: { state: State; condition?: Condition | null; late?: boolean; of?: Monitor | null }) {
  if (condition) return <Lamp name={condition.name} />;
  if (late && state === "on_air") {
    return (
      <span class="word is-warning">
        <Glyph name="late" />
        {text.value.wall.late}
      </span>
    );
  }
  return (
    <span class={`word is-${state}`}>
      <Glyph name={stateGlyphs[state]} />
      {state === "paused" && of ? pausedWord(of) : text.value.common.states[state]}
    </span>
  );
}

// Parked says that incidents and history of a stream cannot be stored.
export function Parked({ monitor }: { monitor: Monitor | null }) {
  if (!monitor?.record_parked_since) return null;
  return (
    <span class="word is-warning">
      <Glyph name="note" />
      {text.value.wall.parked}
    </span>
  );
}
