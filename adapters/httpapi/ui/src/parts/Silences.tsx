import { run } from "../actions";
import type { NotificationWords } from "../i18n";
import { silences as api, type Silence } from "../notifications";
import { now } from "../store";
import { clockDay, zone } from "../time";
import { changed, editing, type Routing } from "../routing";
import { Glyph } from "./Glyph";
import { Stranger } from "./Name";
import { MatchTags } from "./Routes";
import { windowText } from "./WindowFields";

export function Silences({ words, routing }: { words: NotificationWords; routing: Routing }) {
  const standing = routing.silences.filter((s) => s.state !== "ended");
  return (
    <section class="card" aria-labelledby="silences-title">
      <div class="card-head">
        <h2 id="silences-title">{words.silences}</h2>
        <span class="dim">{words.silencesHint}</span>
        <span class="end actions">
          <button class="btn quiet" type="button" onClick={() => (editing.value = { silence: "night" })}>
            <Glyph name="waiting" />
            {words.quietNights}
          </button>
          <button class="btn quiet" type="button" onClick={() => (editing.value = { silence: "new" })}>
            <Glyph name="plus" />
            {words.addSilence}
          </button>
        </span>
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
  const act = (request: () => Promise<unknown>) =>
    void run(async () => {
      await request();
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
        <span class="actions row-actions">
          {of.window && of.state === "active" && (
            <button class="btn quiet" type="button" onClick={() => act(() => api.change(of.silence_id, { skip_until: of.next_at }))}>
              {words.endOccurrence}
            </button>
          )}
          <button class="btn quiet" type="button" onClick={() => (editing.value = { silence: of })}>
            {words.change}
          </button>
          <button class="btn quiet" type="button" onClick={() => act(() => api.end(of.silence_id))}>
            {of.window ? words.endSeries : words.endNow}
          </button>
        </span>
      </td>
    </tr>
  );
}

export function untilOf(words: NotificationWords, of: Silence): string {
  if (of.until_recovered) return words.untilRecovered;
  if (of.window) return windowText(words, of.window);
  return of.to ? `${clockDay(of.to, now.peek())} ${zone.value}` : words.noEnd;
}
