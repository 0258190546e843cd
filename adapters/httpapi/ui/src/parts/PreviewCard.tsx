import type { ComponentChildren } from "preact";
import { Refusal } from "../actions";
import { text } from "../i18n";
import type { Seen } from "../look";
import { refusalOfField } from "../problems";
import { standing, type Check } from "../registration";
import { decimal } from "../time";
import type { Problem } from "../types";
import { Glyph } from "./Glyph";

interface Props {
  seen: Seen<{ problems: Problem[] }>;
  current: Check;
  nothingYet: string;
  children: ComponentChildren; // what was found
}

// PreviewCard shows what the system sees of an address before it is registered, and what would be refused.
export function PreviewCard({ seen, current, nothingYet, children }: Props) {
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
        {!preview && !failed && <p class="muted">{looking ? words.looking : nothingYet}</p>}
        {children}
        {preview && checked && <Verdict problems={standing(preview.problems, checked, current)} upToDate={!looking && JSON.stringify(checked) === JSON.stringify(current)} />}
      </div>
    </section>
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
                <Refusal of={refusalOfField(p)} />
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
