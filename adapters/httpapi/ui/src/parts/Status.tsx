import type { ComponentChildren } from "preact";
import { text } from "../i18n";
import { inRoom } from "../room";
import { query, withQuery } from "../router";
import { beats, checker, isLive, link, now, type Beat } from "../store";
import { duration, number } from "../time";
import { states } from "../wall";
import { counts } from "../wallmodel";
import { Glyph } from "./Glyph";
import { OnDuty } from "./OnDuty";
import { stateGlyphs } from "./State";

// Status is the line of counts, how the link and the checker are, and what stands at its end.
export function Status({ children }: { children?: ComponentChildren }) {
  const words = text.value;
  const show = query.value.get("show");
  return (
    <section class="status" aria-label={words.wall.statusLabel}>
      <div class="counts" role="group" aria-label={words.wall.countsLabel}>
        {states.map((state) => {
          const count = counts.value[state];
          if (state === "paused" && count === 0 && show !== state) return null; // it is rare
          const hot = state === "trouble" && count > 0;
          return (
            <a key={state} class={`is-${state}${hot ? " hot" : ""}${count === 0 ? " zero" : ""}`} href={withQuery({ show: show === state ? null : state, ...(inRoom.value && { view: null }) })} aria-current={show === state ? "true" : undefined}>
              <Glyph name={stateGlyphs[state]} />
              <b>{number.value.format(count)}</b>
              <span>{words.common.states[state]}</span>
            </a>
          );
        })}
      </div>
      <Health />
      {children}
    </section>
  );
}

function Health() {
  const words = text.value.wall;
  const live = isLive.value;
  const health = checker.value;
  const heard = link.value.heardAt;
  now.value; // the age of the newest heartbeat grows
  const age = Math.max(0, Math.round((Date.now() - heard) / 1000));
  return (
    <dl class="health">
      <dt>{words.link}</dt>
      <dd>
        <Beats bars={beats.value.map((b) => (b.late ? "late" : "good"))} live={live} />
        <span>{live ? words.linkLive(text.value.common.ago(duration(age))) : heard ? words.linkLost : words.linkConnecting}</span>
      </dd>
      <dt>{words.checker}</dt>
      <dd>
        <Beats bars={beats.value.map((b) => b.checker)} live={live} />
        <span>{live && health ? words.checkerState(number.value.format(health.watched), number.value.format(health.late)) : words.checkerUnknown}</span>
      </dd>
      <OnDuty />
    </dl>
  );
}

// Beats shows the heartbeats of the last two minutes: low is good, high is late, hollow is unknown.
function Beats({ bars, live }: { bars: Beat["checker"][]; live: boolean }) {
  const most = 24;
  const shown = bars.slice(-most);
  return (
    <svg class="beats" viewBox="0 0 124 14" preserveAspectRatio="xMaxYMid slice" aria-hidden="true">
      {shown.map((kind, i) => {
        const newest = i === shown.length - 1;
        const high = kind === "late" ? 13 : newest ? 11 : 7;
        return <rect key={i} class={live || kind === "unknown" ? `${kind}${newest && kind === "good" ? " newest" : ""}` : "unknown"} x={(most - shown.length + i) * 5.2 + 0.5} y={13.5 - high} width={3} height={high} rx={1} />;
      })}
    </svg>
  );
}
