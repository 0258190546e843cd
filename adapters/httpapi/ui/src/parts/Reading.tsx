import { readingOf, type ReadingState } from "../channels";
import { text } from "../i18n";
import { now } from "../store";
import { clockDay, duration, secondsBetween } from "../time";
import type { Channel } from "../types";
import { Glyph } from "./Glyph";
import type { GlyphName } from "./glyphs";

const looks: Record<ReadingState, [GlyphName, string]> = {
  stopped: ["off", "off"],
  unreadable: ["blind", "warning"],
  failing: ["retry", "warning"],
  unread: ["waiting", "waiting"],
  readable: ["check", "on_air"],
};

// ReadingWord says whether the page of a channel can be read, and since when.
export function ReadingWord({ of }: { of: Channel }) {
  const words = text.value.channels;
  const state = readingOf(of);
  const [glyph, look] = looks[state];
  const { failures, failing_since, unreadable_since } = of.reading;
  const since = { stopped: of.stopped_at, unreadable: unreadable_since, failing: failing_since, unread: null, readable: null }[state];
  return (
    <span class={`word reading is-${look}`}>
      <Glyph name={glyph} />
      <span>
        {state === "failing" ? words.readings.failing(failures) : words.readings[state]}
        {since && `${text.value.common.listComma}${words.since(clockDay(since, now.peek()))}`}
      </span>
    </span>
  );
}

// nextReading says when the page is read again.
export function nextReading({ reading: { next_at: at } }: Channel): string {
  if (!at) return text.value.monitor.none;
  const seconds = secondsBetween(now.value, at);
  return seconds > 0 ? text.value.register.inTime(duration(seconds)) : text.value.channels.nextNow;
}
