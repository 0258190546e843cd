import { Refusal, type Said } from "../actions";
import { text } from "../i18n";
import { standing, stepsOf, type Check, type Step } from "../registration";
import { now } from "../store";
import { clockMinute, dayKey, decimal, duration, secondsBetween, shortDay, wholeDuration, zone } from "../time";
import type { Config, Preview, Problem } from "../types";
import { Glyph } from "./Glyph";
import type { GlyphName } from "./glyphs";

export interface PreviewState {
  preview: Preview | null;
  tookMs: number;
  looking: boolean;
  checked: Check | null; // what the problems of the preview are about
  failed: Said; // why nothing is seen, or not checked again
}

const stateLooks: Record<Preview["state"], [GlyphName, string]> = {
  live: ["ok", "on_air"],
  upcoming: ["waiting", "waiting"],
  ended: ["off", "off"],
  unavailable: ["blind", "warning"],
  unknown: ["blind", "warning"],
};

// StreamPreview is what the system sees of a stream before it is registered, and what would be refused.
export function StreamPreview({ seen, current }: { seen: PreviewState; current: Check }) {
  const words = text.value.register;
  const { preview, looking, checked, failed, tookMs } = seen;
  return (
    <section class="card" aria-labelledby="sees-title">
      <div class="card-head">
        <h2 id="sees-title">{words.sees}</h2>
        <span class="end dim num">{looking ? words.looking : preview ? words.looked(decimal(tookMs / 1000)) : ""}</span>
      </div>
      <div class="card-body sees" aria-live="polite" aria-busy={looking}>
        {failed && (
          <p class="notice is-warning">
            <Glyph name="warning" />
            {failed}
          </p>
        )}
        {!preview && !failed && <p class="muted">{looking ? words.looking : words.nothingYet}</p>}
        {preview && <Found preview={preview} />}
        {preview && checked && <Verdict problems={standing(preview.problems, checked, current)} upToDate={!looking && JSON.stringify(checked) === JSON.stringify(current)} />}
      </div>
    </section>
  );
}

function Found({ preview }: { preview: Preview }) {
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
            <dd>{preview.source}</dd>
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

// Verdict says whether the registration would be refused. Nothing is said of values that are not checked yet.
function Verdict({ problems, upToDate }: { problems: Problem[]; upToDate: boolean }) {
  const words = text.value.register;
  if (problems.length > 0) {
    return (
      <div class="notice is-trouble">
        <Glyph name="fail" />
        <div>
          <b>{words.problems}</b>
          <ul class="problems">
            {problems.map((p) => (
              <li key={p.message} class="wrap">
                <Refusal of={p} />
              </li>
            ))}
          </ul>
        </div>
      </div>
    );
  }
  if (!upToDate) return <p class="dim">{words.checking}</p>;
  return (
    <p class="word is-on_air">
      <Glyph name="check" />
      {words.noProblem}
    </p>
  );
}

// sayStart says how far away a planned start is, with its day and time.
function sayStart(at: string): string {
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
  return (
    <section class="card" aria-labelledby="plan-title">
      <div class="card-head">
        <h2 id="plan-title">{words.willHappen}</h2>
      </div>
      <ol class="plan">
        {stepsOf(config, preview, now.peek(), leadSec).map((step) => (
          <li key={step.what}>
            <time class="num">{when(step)}</time>
            <Glyph name={stepGlyphs[step.what]} />
            <span>{say(step)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
