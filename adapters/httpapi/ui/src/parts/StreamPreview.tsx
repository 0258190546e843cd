import { text } from "../i18n";
import type { Seen } from "../look";
import { stepsOf, type Check, type Step } from "../registration";
import { reasonWord } from "../refusals";
import { useService } from "../service";
import { now } from "../store";
import { clockMinute, dayKey, duration, secondsBetween, shortDay, wholeDuration, zone } from "../time";
import type { Config, Preview } from "../types";
import { Glyph } from "./Glyph";
import type { GlyphName } from "./glyphs";
import { PreviewCard } from "./PreviewCard";

const stateLooks: Record<Preview["state"], [GlyphName, string]> = {
  live: ["ok", "on_air"],
  upcoming: ["waiting", "waiting"],
  ended: ["off", "off"],
  unavailable: ["blind", "warning"],
  unknown: ["blind", "warning"],
};

// StreamPreview is what the system sees of a stream before it is registered, and what would be refused.
export const StreamPreview = ({ seen, current }: { seen: Seen<Preview>; current: Check }) => (
  <PreviewCard seen={seen} current={current} nothingYet={text.value.register.nothingYet}>
    {seen.preview && <Found preview={seen.preview} />}
  </PreviewCard>
);

function Found({ preview }: { preview: Preview }) {
  const service = useService();
  const words = text.value.register;
  const [glyph, look] = stateLooks[preview.state];
  return (
    <>
      {preview.title && (
        <h3 class="sees-title wrap" dir="auto">
          {preview.title}
        </h3>
      )}
      <dl class="facts">
        {preview.stream_url && (
          <>
            <dt>{words.facts.state}</dt>
            <dd>
              <span class={`word is-${look}`}>
                <Glyph name={glyph} />
                {words.states[preview.state]}
              </span>
              <p class="dim">{words.stateHints[preview.state]}</p>
              {preview.reason && ["unavailable", "unknown"].includes(preview.state) && <p class="dim">{text.value.monitor.reason(reasonWord(preview.reason))}</p>}
              {preview.detail && (
                <p class="dim wrap">
                  {words.platformSays} <q dir="auto">{preview.detail}</q>
                </p>
              )}
            </dd>
          </>
        )}
        {(preview.scheduled_start_at || preview.state === "upcoming") && (
          <>
            <dt>{words.facts.planned}</dt>
            <dd class="num">{preview.scheduled_start_at ? sayStart(preview.scheduled_start_at) : words.noPlan}</dd>
          </>
        )}
        {preview.channel && (
          <>
            <dt>{words.facts.channel}</dt>
            <dd dir="auto">{preview.channel}</dd>
          </>
        )}
        {preview.source && (
          <>
            <dt>{words.facts.source}</dt>
            <dd>{service?.sources.find(({ name }) => name === preview.source)?.title ?? preview.source}</dd>
          </>
        )}
        {preview.stream_url && (
          <>
            <dt>{words.facts.stored}</dt>
            <dd class="mono">{preview.stream_url}</dd>
          </>
        )}
      </dl>
    </>
  );
}

// sayStart says how far away a planned start is, with its day and time.
export function sayStart(at: string): string {
  const words = text.value;
  const today = now.peek();
  const seconds = secondsBetween(today, at);
  const day = dayKey(at) === dayKey(today) ? words.register.today : shortDay(at);
  const distance = seconds >= 0 ? words.register.inTime(duration(seconds)) : words.common.ago(duration(-seconds));
  return `${distance}${words.common.listComma}${day} ${clockMinute(at)} ${zone.value}`;
}

const stepGlyphs: Record<Step["what"], GlyphName> = { wall: "wall", worker: "eye", workerBefore: "eye", late: "late", alerts: "send", over: "off" };

// WillHappen is the plan of a registration, by time.
export function WillHappen({ config, preview, leadSec }: { config: Partial<Config>; preview: Preview | null; leadSec: number }) {
  const words = text.value.register;
  const say = ({ what }: Step): string => {
    const seconds = (n: number | undefined) => wholeDuration(n ?? 0);
    switch (what) {
      case "wall":
        return words.planStart;
      case "worker":
        return words.planWorker;
      case "workerBefore":
        return words.planWorkerAt(wholeDuration(leadSec));
      case "late":
        return words.planLate;
      case "alerts":
        return words.planLive(seconds(config.blackout_threshold_sec), seconds(config.silence_threshold_sec));
      case "over":
        return words.planEnd;
    }
  };
  const when = ({ at }: Step): string => {
    if (typeof at === "number") return dayKey(at) === dayKey(now.peek()) ? clockMinute(at) : `${shortDay(at)} ${clockMinute(at)}`;
    return { now: words.now, live: words.live, end: words.ended }[at];
  };
  return <Plan of={stepsOf(config, preview, now.peek(), leadSec).map((step) => [when(step), stepGlyphs[step.what], say(step)])} />;
}

// Plan is what will happen, by time.
export function Plan({ of }: { of: [when: string, glyph: GlyphName, what: string][] }) {
  return (
    <section class="card" aria-labelledby="plan-title">
      <div class="card-head">
        <h2 id="plan-title">{text.value.register.willHappen}</h2>
      </div>
      <ol class="plan">
        {of.map(([when, glyph, what]) => (
          <li key={what}>
            <time class="num">{when}</time>
            <Glyph name={glyph} />
            <span>{what}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
