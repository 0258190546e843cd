import { run } from "../actions";
import type { NotificationWords } from "../i18n";
import { silences as api, type Silence } from "../notifications";
import { now } from "../store";
import { clockDay, zone } from "../time";
import { changed, editing, type Routing } from "../routing";
import { Glyph } from "./Glyph";
import { Stranger } from "./Name";
import { MatchTags } from "./Routes";

export function Silences({ words, routing }: { words: NotificationWords; routing: Routing }) {
  const standing = routing.silences.filter((s) => s.state !== "ended");
  return (
    <section class="card" aria-labelledby="silences-title">
      <div class="card-head">
        <h2 id="silences-title">{words.silences}</h2>
        <span class="dim">{words.silencesHint}</span>
        <button class="btn quiet end" type="button" onClick={() => (editing.value = "silence")}>
          <Glyph name="plus" />
          {words.addSilence}
        </button>
      </div>
      {standing.length === 0 ? (
        <p class="card-body muted">{words.noSilence}</p>
      ) : (
        <div class="scroll-x">
          <table class="table stacked">
            <thead>
              <tr>
                <th>{words.what}</th>
                <th>{words.until}</th>
                <th>{words.by}</th>
                <th>
                  <span class="hidden-text">{words.columns.actions}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {standing.map((s) => (
                <Row key={s.silence_id} words={words} of={s} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Row({ words, of }: { words: NotificationWords; of: Silence }) {
  const end = () =>
    void run(async () => {
      await api.end(of.silence_id);
      changed();
    });
  return (
    <tr>
      <td>
        <span class="tags">
          <MatchTags words={words} of={of.match} everything={words.anything} />
        </span>
        {of.comment && (
          <span class="sub">
            <Stranger>{of.comment}</Stranger>
          </span>
        )}
      </td>
      <td class="wide">
        {untilOf(words, of)}
        {of.state === "active" && (
          <span class="sub">
            <span class="word is-waiting">
              <Glyph name="mute" />
              {words.active}
            </span>
          </span>
        )}
        {of.state === "scheduled" && of.next_at && <span class="sub num">{words.next(`${clockDay(of.next_at, now.peek())} ${zone.value}`)}</span>}
      </td>
      <td dir="auto" data-label={words.by}>
        {of.by}
      </td>
      <td class="right">
        <button class="btn quiet" type="button" onClick={end}>
          {words.endNow}
        </button>
      </td>
    </tr>
  );
}

export function untilOf(words: NotificationWords, of: Silence): string {
  if (of.until_recovered) return words.untilRecovered;
  if (of.window) {
    const { weekdays, start, end, timezone } = of.window;
    return words.window(weekdays.length > 0 ? weekdays.map((day) => words.weekdays[day]).join(" ") : words.everyDay, start, end, timezone);
  }
  return of.to ? `${clockDay(of.to, now.peek())} ${zone.value}` : words.noEnd;
}
