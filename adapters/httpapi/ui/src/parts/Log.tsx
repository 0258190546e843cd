import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { note } from "../actions";
import { firstTold } from "../evidence";
import { text } from "../i18n";
import { now } from "../store";
import { clock, clockDay, dayKey } from "../time";
import type { Delivery, Evidence, Incident, LogEntry } from "../types";
import { Allowed } from "./Allowed";
import { Glyph } from "./Glyph";
import type { GlyphName } from "./glyphs";
import { eventWord } from "./MonitorEvents";
import { conditionGlyph, conditionWord } from "./State";

interface Line {
  at: string;
  glyph: GlyphName;
  look: string;
  what: ComponentChildren;
  note?: string;
}

// Log tells what happened, newest first: the stream, the gateway, the deliveries, and what people did.
export function Log({ incident, evidence, deliveries }: { incident: Incident; evidence: readonly Evidence[] | null; deliveries: readonly Delivery[] | null }) {
  const words = text.value.incident;
  const lines = [...(incident.log ?? []).map(entryLine), ...conditionLines(incident), ...evidenceLines(evidence), ...deliveryLines(deliveries)];
  lines.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  const today = now.peek();
  const sameDay = lines.every((line) => dayKey(line.at) === dayKey(today));
  return (
    <section class="card" aria-labelledby="log-title">
      <div class="card-head">
        <h2 id="log-title">{words.log}</h2>
      </div>
      <NoteForm incidentID={incident.incident_id} />
      <ol class={sameDay ? "log" : "log days"}>
        {lines.map((line, i) => (
          <li key={i} class={line.look}>
            <time dateTime={line.at}>{sameDay ? clock(line.at) : clockDay(line.at, today)}</time>
            <Glyph name={line.glyph} />
            <div>
              {line.what}
              {line.note && (
                <p class="note wrap" dir="auto">
                  {line.note}
                </p>
              )}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

function entryLine(entry: LogEntry): Line {
  const kinds = text.value.incident.logKinds;
  const by = <b dir="auto">{entry.by ?? text.value.incident.gateway}</b>;
  switch (entry.kind) {
    case "opened":
    case "reopened":
      return { at: entry.at, glyph: "trouble", look: "is-trouble", what: <b>{kinds[entry.kind]}</b> };
    case "severity_raised":
      return { at: entry.at, glyph: "trouble", look: "is-trouble", what: kinds.severity(text.value.common.severity(entry.severity!)) };
    case "resolved":
      return { at: entry.at, glyph: "recovered", look: "is-recovered", what: entry.by ? <>{by} {kinds.resolvedBy}</> : <b>{kinds.resolved}</b> };
    case "paused":
      return { at: entry.at, glyph: "pause", look: "is-paused", what: entry.by ? <>{by} {kinds.pausedBy}</> : <b>{kinds.paused}</b> };
    case "acknowledged":
      return { at: entry.at, glyph: "hand", look: "", what: <>{by} {kinds.acknowledged}</> };
    case "note":
      return { at: entry.at, glyph: "note", look: "", what: <>{by} {kinds.note}</>, note: entry.text ?? "" };
    case "opinion":
      return { at: entry.at, glyph: "chat", look: "", what: `${text.value.incident.opinion}${text.value.incident.verdicts[entry.verdict!]}`, note: entry.text ?? "" };
    case "label": {
      const said = entry.false_positive === null ? kinds.labelNone : entry.false_positive ? kinds.labelFalse : kinds.labelTrue;
      return { at: entry.at, glyph: "flag", look: "", what: <>{by} {said}</> };
    }
  }
}

function conditionLines(incident: Incident): Line[] {
  const words = text.value.incident;
  return incident.conditions.flatMap((c) => {
    return c.spans.flatMap((span): Line[] => {
      const began: Line = { at: span.started_at, glyph: conditionGlyph(c.name), look: "is-trouble", what: words.logOnset(conditionWord(c.name)) };
      return span.ended_at ? [began, { at: span.ended_at, glyph: "check", look: "is-recovered", what: words.logEnded(conditionWord(c.name)) }] : [began];
    });
  });
}

function evidenceLines(all: readonly Evidence[] | null): Line[] {
  return (all ?? []).filter((e) => e.variants.length > 0).map((e) => ({ at: e.created_at, glyph: "clip", look: "", what: text.value.incident.logEvidence(e.variants.length) }));
}

function deliveryLines(all: readonly Delivery[] | null): Line[] {
  const words = text.value.incident;
  return (all ?? []).flatMap((d) => {
    const told = firstTold(d);
    if (!told) return [];
    const what = d.event_type ? eventWord(d.event_type) : (d.destination?.name ?? "");
    const first: Line = { at: told, glyph: "send", look: "", what: words.logTold(what) };
    const again = d.delivered_at && d.attempts.filter((a) => a.error === null).length > 1;
    return again ? [first, { ...first, at: d.delivered_at!, what: words.logToldLast(what) }] : [first];
  });
}

function NoteForm({ incidentID }: { incidentID: string }) {
  const words = text.value;
  const typed = useSignal("");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (typed.value.trim()) note(incidentID, typed.value.trim(), () => (typed.value = ""));
  };
  return (
    <form class="note-form" onSubmit={submit}>
      <label class="hidden-text" for="note-field">
        {words.incident.addNote}
      </label>
      <Allowed to="operate">
        <textarea id="note-field" class="input" rows={2} maxLength={2000} placeholder={words.incident.addNote} value={typed.value} onInput={(e) => (typed.value = e.currentTarget.value)} />
        <button class="btn" type="submit" disabled={!typed.value.trim()}>
          {words.common.save}
        </button>
      </Allowed>
    </form>
  );
}
