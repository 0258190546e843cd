import { useEffect } from "preact/hooks";
import { acknowledge, label, resolve, silence } from "../actions";
import { text } from "../i18n";
import { onKey } from "../keyboard";
import { name } from "../settings";
import type { Incident } from "../types";
import { isTaken, worst } from "../incident";
import { Allowed } from "./Allowed";
import { ask } from "./Ask";
import { Glyph } from "./Glyph";
import { sharing } from "./Share";
import { Watch } from "./Watch";

interface Props {
  incident: Incident;
  evidenceCount: number;
}

// ActionBar has what people do about an incident. A phone shows what is needed first; a menu has the rest.
export function ActionBar({ incident, evidenceCount }: Props) {
  const words = text.value.incident;
  const canAcknowledge = incident.state === "open" && !isTaken(incident);
  const failedMonitor = incident.conditions.some((c) => c.name === "error" && c.ended_at === null);
  const act = () => acknowledge(incident.incident_id);
  useEffect(() => (incident.state === "open" ? onKey("s", () => silence(incident.monitor_id)) : undefined), [incident.state, incident.monitor_id]);
  useEffect(() => (canAcknowledge ? onKey("a", act) : undefined), [canAcknowledge, incident.incident_id]);
  return (
    <div class="action-bar">
      {canAcknowledge && (
        <Allowed to="operate">
          <button class="btn primary" type="button" onClick={act}>
            <Glyph name="hand" />
            {failedMonitor ? words.acknowledgeFailed : words.acknowledge}
            <kbd class="not-phone">a</kbd>
          </button>
        </Allowed>
      )}
      <Watch url={incident.stream_url} />
      <Allowed to="operate">
        <button class="btn" type="button" onClick={() => document.getElementById("note-field")?.focus()}>
          <Glyph name="note" />
          {words.note}
        </button>
      </Allowed>
      <span class="rest not-phone">
        <Rest incident={incident} evidenceCount={evidenceCount} />
      </span>
      <details class="more only-phone">
        <summary class="btn" aria-label={words.more}>
          <Glyph name="dots" />
        </summary>
        <div onClickCapture={(e) => closeMenu(e.currentTarget.closest("details")!)}>
          <Rest incident={incident} evidenceCount={evidenceCount} />
        </div>
      </details>
    </div>
  );
}

// closeMenu leaves the focus at its button: there it returns to from a dialog.
function closeMenu(menu: HTMLDetailsElement): void {
  menu.querySelector("summary")!.focus();
  menu.open = false;
}

function Rest({ incident, evidenceCount }: Props) {
  const words = text.value.incident;
  const wrong = incident.false_positive === true;
  const judge = async () => (wrong || (await ask({ title: words.falsePositiveTitle, text: words.falsePositiveText, yes: words.falsePositive }))) && label(incident.incident_id, wrong ? null : true);
  return (
    <>
      <Allowed to="operate">
        {name.value && (
          <a class="dim" dir="auto" href="/settings">
            {words.as(name.value)}
          </a>
        )}
        {incident.state === "open" && (
          <button class="btn" type="button" onClick={() => silence(incident.monitor_id)}>
            <Glyph name="mute" />
            {words.silence}
            <kbd class="not-phone">s</kbd>
          </button>
        )}
        {incident.state === "open" && (
          <button class="btn" type="button" onClick={async () => (await ask({ title: words.resolveTitle, text: worst(incident) ? words.resolveText : words.resolveGoodText, yes: words.resolve })) && resolve(incident.incident_id)}>
            <Glyph name="check" />
            {words.resolve}
          </button>
        )}
        <button class="btn" type="button" aria-pressed={wrong} onClick={judge}>
          <Glyph name="flag" />
          {wrong ? words.notFalsePositive : words.falsePositive}
        </button>
      </Allowed>
      {evidenceCount > 0 && (
        <button class="btn" type="button" onClick={() => (sharing.value = true)}>
          <Glyph name="link" />
          {words.share}
        </button>
      )}
    </>
  );
}
