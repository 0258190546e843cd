import { text } from "../i18n";
import { now } from "../store";
import { clockDay, decimal } from "../time";
import type { RenditionState } from "../types";
import { Glyph } from "./Glyph";
import type { GlyphName } from "./glyphs";

const looks: Record<string, [look: string, glyph: GlyphName]> = { ok: ["is-on_air", "ok"], unknown: ["is-off", "blind"], black: ["is-warning", "black"] };

// Renditions lists the qualities of a stream beside the watched one, and what the newest look at each has found.
export function Renditions({ renditions }: { renditions: readonly RenditionState[] }) {
  const words = text.value.monitor;
  return (
    <>
      <div class="card-head">
        <h3>{words.renditions}</h3>
      </div>
      <ul class="detector-states card-body">
        {renditions.map(({ height, bandwidth, state, looked_at: lookedAt }) => {
          const [look, glyph] = looks[state] ?? ["is-warning", "video"];
          const size = [height > 0 && `${height}p`, bandwidth > 0 && `${decimal(bandwidth / 1e6, 1)} Mb/s`].filter(Boolean).join(" · ");
          return (
            <li key={`${height} ${bandwidth}`}>
              <span class={`word ${look}`}>
                <Glyph name={glyph} />
                <span class="num">{size || words.renditionUnnamed}</span>
              </span>
              <span>{words.renditionStates[state] ?? state}</span>
              <small class="dim num">{lookedAt ? words.lookedAt(clockDay(lookedAt, now.peek())) : words.notLookedAt}</small>
            </li>
          );
        })}
      </ul>
    </>
  );
}
