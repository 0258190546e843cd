import { episodeOf, fileOf, type Found } from "../evidence";
import { text } from "../i18n";
import { now } from "../store";
import { clockDay, fractional, secondsBetween } from "../time";
import type { Condition, Evidence, Incident, Monitor } from "../types";
import { Now } from "./Now";
import { File, NoPicture } from "./Picture";
import { factsOf } from "./Tile";

interface Props {
  incident: Incident;
  condition: Condition;
  all: readonly Evidence[] | null;
  name: string;
  monitor: Monitor | null;
}

const lateSec = 10; // another quality is looked at a minute or more after it turned bad

// ConditionPictures has the pictures of one condition: before, at the onset, and after it or as it is now.
export function ConditionPictures({ incident, condition, all, name, monitor }: Props) {
  const words = text.value.incident;
  const { alert, recovery } = episodeOf(all, condition.name);
  const before = fileOf(alert, "before");
  const onset = fileOf(alert, "onset");
  const after = condition.ended_at === null ? null : fileOf(recovery, "recovery");
  const size = onset ?? before ?? after;
  const newest = alert?.event_id === condition.alert?.event_id;
  const lead = before && newest ? secondsBetween(before.file.taken_at, condition.last_started_at) : 0;
  const late = onset && newest ? secondsBetween(condition.last_started_at, onset.file.taken_at) > lateSec : false;
  const own = (all ?? []).filter((e) => e.condition === condition.name);
  const notes = [...new Set(own.map((e) => e.note).filter((n): n is string => n !== null))];
  return (
    <section class="card" aria-labelledby="seen-title">
      <div class="card-head">
        <h2 id="seen-title">{words.seen}</h2>
        {size?.file.width && (
          <span class="dim end num">
            {size.file.width} × {size.file.height}
          </span>
        )}
      </div>
      <div class="shots">
        <Shot found={before} word={words.before} what={lead > 0 ? words.beforeOnset(fractional(lead)) : ""} name={name} />
        <Shot found={onset} word={words.onset} what={late ? "" : words.onsetText} name={name} bad />
        {after || monitor?.status !== "monitoring" || incident.state === "resolved" ? (
          <Shot found={after} word={words.after} what={words.afterText} name={name} />
        ) : (
          <Now monitor={monitor} name={name} />
        )}
      </div>
      {notes.length > 0 && (
        <details class="missing">
          <summary>{words.evidenceMissing}</summary>
          {notes.map((n) => (
            <p key={n} class="wrap muted" dir="auto">
              {n}
            </p>
          ))}
        </details>
      )}
    </section>
  );
}

function Shot({ found, word, what, name, bad = false }: { found: Found | null; word: string; what: string; name: string; bad?: boolean }) {
  const words = text.value.incident;
  return (
    <figure class={`shot${bad && found ? " bad" : ""}`}>
      {found ? (
        <File evidenceID={found.evidence.evidence_id} variant={found.file.variant} alt={words.pictureAt(`${word}: ${name}`, clockDay(found.file.taken_at, now.peek()))} />
      ) : (
        <NoPicture label={`${word}: ${words.noPicture}`} />
      )}
      <figcaption>
        <b>{word}</b>
        <span class="num right">{found && clockDay(found.file.taken_at, now.peek())}</span>
        <span class={found ? "not-phone" : ""}>{found ? what : words.noPicture}</span>
        <span class="num right">{found && factsOf(found.file)}</span>
      </figcaption>
    </figure>
  );
}
