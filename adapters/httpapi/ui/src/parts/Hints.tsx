import { hintsOnWall } from "../hints";
import { text } from "../i18n";
import { nameOfItem, wanted } from "../wallmodel";
import { now } from "../store";
import { clockDay, decimal, wholeDuration } from "../time";
import type { Hint, HintKind } from "../types";
import { numberText } from "../wall";
import { Glyph } from "./Glyph";
import type { GlyphName } from "./glyphs";
import { Stranger } from "./Name";
import { conditionWord } from "./State";

const most = 10; // lines of the wall

const hintGlyphs: Record<HintKind, GlyphName> = { quieter: "lower", recurring: "retry", late_starts: "late" };

// hintWord says a hint with its numbers; a kind that only a newer gateway knows, by its name.
function hintWord({ kind, condition, numbers }: Hint): string {
  const words = text.value.common.hints;
  const number = (name: string) => numbers[name] ?? 0;
  switch (kind) {
    case "quieter":
      return words.quieter(decimal(number("db_per_minute")), number("minutes"));
    case "recurring":
      return words.recurring(conditionWord(condition ?? ""), number("times"), wholeDuration(number("within_sec")));
    case "late_starts":
      return words.lateStarts(number("streams"), Math.floor(number("min_late_sec") / 60), Math.floor(number("max_late_sec") / 60));
  }
  return kind;
}

// WallHints are the hints of all streams that the wall shows.
export function WallHints() {
  const words = text.value.common.hints;
  const { attention, recovered, waiting, on_air } = wanted.value;
  const all = hintsOnWall([...attention, ...recovered, ...waiting, ...on_air]);
  if (all.length === 0) return null;
  return (
    <section class="section" aria-labelledby="hints-title">
      <div class="section-head">
        <h2 id="hints-title">
          {words.title} <span>{all.length}</span>
        </h2>
        <span class="dim">{words.note}</span>
      </div>
      <ul class="hints card">
        {all.slice(0, most).map(({ item, hint }) => (
          <li key={`${item.id} ${hint.kind} ${hint.condition ?? ""}`}>
            <a href={item.incident?.state === "open" ? `/incidents/${item.incident.incident_id}` : `/monitors/${item.id}`}>
              <Glyph name={hintGlyphs[hint.kind]} />
              <span class="place">{numberText(item.number)}</span>
              <b class="one-line">
                <Stranger>{nameOfItem(item)}</Stranger>
              </b>
              <Line hint={hint} />
            </a>
          </li>
        ))}
        {all.length > most && <li class="dim">{words.more(all.length - most)}</li>}
      </ul>
    </section>
  );
}

// HintCard has the hints of one stream; nothing if there are none.
export function HintCard({ hints }: { hints: readonly Hint[] }) {
  const words = text.value.common.hints;
  if (hints.length === 0) return null;
  return (
    <section class="card" aria-labelledby="hints-title">
      <div class="card-head">
        <h2 id="hints-title">{words.title}</h2>
        <span class="dim">{words.note}</span>
      </div>
      <ul class="hints">
        {hints.map((hint) => (
          <li key={`${hint.kind} ${hint.condition ?? ""} ${hint.since}`}>
            <Glyph name={hintGlyphs[hint.kind]} />
            <Line hint={hint} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Line({ hint }: { hint: Hint }) {
  return (
    <>
      <span class="wrap">{hintWord(hint)}</span>
      <span class="dim num">{text.value.common.hints.since(clockDay(hint.since, now.peek()))}</span>
    </>
  );
}
