import "../styles/channels.css";
import { standings } from "../channels";
import { text } from "../i18n";
import { shortURL } from "../names";
import { reasonWord } from "../refusals";
import { monitors } from "../store";
import type { FoundStanding, FoundStream } from "../types";
import { Glyph } from "./Glyph";
import type { GlyphName } from "./glyphs";
import { ErrorText, Stranger } from "./Name";
import { sayStart } from "./StreamPreview";

const looks: Record<FoundStanding, [GlyphName, string]> = {
  watched: ["ok", "on_air"],
  wanted: ["plus", "waiting"],
  pending: ["waiting", "waiting"],
  skipped: ["off", "off"],
  over: ["off", "off"],
};

// FoundStreams are the streams of a channel by what becomes of them, and why.
export function FoundStreams({ streams, registered }: { streams: readonly FoundStream[]; registered: boolean }) {
  const words = text.value.channels;
  if (streams.length === 0) return <p class="muted">{words.nothingFound}</p>;
  return (
    <div class="found">
      {standings.map((standing) => {
        const those = streams.filter((s) => s.standing === standing);
        const [glyph, look] = looks[standing];
        return (
          those.length > 0 && (
            <section key={standing} aria-label={words.standings[standing]}>
              <h3 class={`word is-${look}`}>
                <Glyph name={glyph} />
                {words.standings[standing]} <span class="num">{those.length}</span>
              </h3>
              <ul>
                {those.map((s) => (
                  <Row key={`${s.stream_url} ${s.broadcast_id}`} of={s} registered={registered} />
                ))}
              </ul>
            </section>
          )
        );
      })}
    </div>
  );
}

function Row({ of, registered }: { of: FoundStream; registered: boolean }) {
  const words = text.value.channels;
  const { states, noPlan } = text.value.register;
  const why = whyOf(of, registered);
  // A person may have reserved the place of a stream that is refused.
  const monitor = of.monitor_id ?? (of.why === "refused" ? monitors.values().find((m) => m.stream_url === of.stream_url && !m.ended_at)?.monitor_id : null);
  return (
    <li>
      <span class="found-name">
        <a class="link" href={of.stream_url} target="_blank" rel="noreferrer noopener">
          <Stranger>{of.title || shortURL(of.stream_url)}</Stranger>
        </a>
        {of.members_only && <span class="tag">{words.membersOnly}</span>}
      </span>
      {of.standing !== "over" && <span class="found-when num">{of.state === "live" ? states.live : of.scheduled_start_at ? sayStart(of.scheduled_start_at) : noPlan}</span>}
      <span class="found-why dim">
        {why}
        {of.detail && of.why === "refused" && (
          <>
            {" "}
            <ErrorText>{of.detail}</ErrorText>
          </>
        )}
      </span>
      {monitor && (
        <a class="btn quiet" href={`/monitors/${monitor}`}>
          {words.monitor}
          <Glyph name="right" />
        </a>
      )}
    </li>
  );
}

// whyOf says why a stream stands as it does, as far as its standing leaves that open.
function whyOf(of: FoundStream, registered: boolean): string {
  const words = text.value.channels;
  const status = (words.statuses as Record<string, string>)[of.monitor_status ?? ""];
  if (of.standing === "watched") return [status, of.adopted && words.adopted].filter(Boolean).join(text.value.common.listComma);
  if (!of.why) return registered && of.standing === "wanted" ? words.soon : "";
  if (of.why === "monitor_failed" && of.detail) return words.failedBecause(reasonWord(of.detail));
  if (of.standing === "over" && of.why === "gone" && of.broadcast_id) return words.left;
  const doubt = of.standing === "pending" ? (words.doubts as Record<string, string>)[of.why] : undefined;
  return doubt ?? (words.whys as Record<string, string>)[of.why] ?? of.why;
}
