import { detectorOf, detectorWords } from "../detectors";
import { firstTold } from "../evidence";
import { text } from "../i18n";
import { endOf } from "../incident";
import { nextSeverity } from "../severity";
import { reasonWord } from "../refusals";
import { now } from "../store";
import { clock, clockDay, clockUTC, decimal, wholeDuration, zone } from "../time";
import type { Condition, Delivery, Incident, Monitor } from "../types";
import { alertOf, whyOf } from "../why";
import { IssueWords } from "./Ingest";
import { LatestFinding } from "./LatestFinding";
import { ErrorText } from "./Name";
import { conditionWord, InAll, isWarning, severityOf } from "./State";

// WhyCard has the numbers of each condition, and where to look first for the chosen one.
export function WhyCard({ incident, chosen, monitor }: { incident: Incident; chosen: Condition; monitor: Monitor | null }) {
  const words = text.value.incident;
  const lasts = incident.state === "open" && chosen.ended_at === null;
  const grows = nextSeverity(incident, chosen, now.peek());
  return (
    <section class="card" aria-labelledby="why-title">
      <div class="card-head">
        <h2 id="why-title">{words.why}</h2>
        <span class="tag end">{severityOf(incident)}</span>
      </div>
      <div class="card-body why-box">
        {incident.conditions.map((condition) => (
          <div key={condition.name}>
            {incident.conditions.length > 1 && <h3 class="dim">{conditionWord(condition.name)}</h3>}
            <p class="say wrap">{whyOf(condition, monitor, condition.ended_at === null ? now.value : now.peek())}</p>
            <InAll conditions={[condition]} />
            <Cause of={condition} />
            {lasts && condition === chosen && <LookFirst condition={condition} />}
            <p class="muted wrap">{alertOf(condition, monitor)}</p>
            <Gauge condition={condition} />
            <SecondOpinion of={condition} />
            {condition.alert?.detail && (
              <p class="muted">
                {text.value.why.atAlert}
                {condition.name === "no_media" && condition.alert.reason && `${reasonWord(condition.alert.reason)}${text.value.common.stop} `}
                <ErrorText>{condition.alert.detail}</ErrorText>
              </p>
            )}
          </div>
        ))}
        {monitor && lasts && (
          <p class="muted besides">
            <LatestFinding condition={chosen} monitor={monitor} />
          </p>
        )}
        {grows && <p class="muted">{text.value.why.grows(text.value.common.severity(grows.severity), clock(grows.at))}</p>}
      </div>
    </section>
  );
}

function LookFirst({ condition }: { condition: Condition }) {
  const words = text.value.incident;
  const hint = (words.hints as Record<string, string>)[condition.name] ?? detectorWords(detectorOf(condition.name))?.check;
  if (!hint) return null;
  return (
    <p class="first">
      <b>{words.lookFirst}</b>
      {hint}
    </p>
  );
}

// Cause says why the condition is there, by the signal of the encoder.
function Cause({ of }: { of: Condition }) {
  if (!of.alert?.cause) return null;
  return (
    <p class="first">
      <b>{text.value.incident.cause}</b>
      <IssueWords issue={of.alert.cause} />
    </p>
  );
}

// SecondOpinion says what the endpoint of second opinions has answered about an alert.
function SecondOpinion({ of }: { of: Condition }) {
  const opinion = of.alert?.opinion;
  if (!opinion) return null;
  const words = text.value.incident;
  const { verdict, label, confidence, severity, reason } = opinion;
  const said = verdict === "label" ? words.labelled(label!, decimal(confidence! * 100, 0), text.value.common.severity(severity!)) : words.verdicts[verdict];
  return (
    <p class="muted wrap">
      {words.opinion}
      <b dir="auto">{said}</b>
      {text.value.common.stop}
      {reason && <span dir="auto"> {reason}</span>}
    </p>
  );
}

// Gauge shows how far beyond its threshold a condition was when the alert was made.
function Gauge({ condition }: { condition: Condition }) {
  const alert = condition.alert;
  if (!alert?.duration_sec || !alert.threshold_sec) return null;
  const most = Math.max(alert.duration_sec, alert.threshold_sec) * 1.15;
  const percent = (value: number) => `${(value / most) * 100}%`;
  return (
    <div class={`gauge is-${isWarning(condition.name) ? "warning" : "trouble"}`}>
      <span>{text.value.incident.lastedGauge(wholeDuration(alert.threshold_sec))}</span>
      <b class="num">{wholeDuration(alert.duration_sec)}</b>
      <svg aria-hidden="true">
        <rect class="back" width="100%" height="10" />
        <rect class="value" width={percent(alert.duration_sec)} height="10" />
        <rect class="limit" x={percent(alert.threshold_sec)} width="2" height="10" />
      </svg>
    </div>
  );
}

// WhenCard has the moments in the viewer's zone and in UTC.
export function WhenCard({ incident, deliveries }: { incident: Incident; deliveries: readonly Delivery[] | null }) {
  const words = text.value.incident;
  const told = (deliveries ?? []).map(firstTold).filter((at): at is string => at !== null).sort()[0];
  const again = incident.conditions.map((c) => c.last_started_at).sort((a, b) => Date.parse(a) - Date.parse(b)).at(-1)!;
  const rows: [string, string | null | undefined][] = [
    [words.whenOnset, incident.started_at],
    [words.whenAlert, incident.opened_at],
    ...(again === incident.started_at ? [] : ([[words.whenAgain, again]] as [string, string][])),
    [words.whenTold, told],
    [words.whenRecovered, endOf(incident)],
  ];
  return (
    <section class="card" aria-labelledby="when-title">
      <div class="card-head">
        <h2 id="when-title">{words.when}</h2>
      </div>
      <div class="card-body">
        <table class="times">
          <thead>
            <tr>
              <td />
              <th scope="col">{words.yours(zone.value)}</th>
              <th scope="col">{words.utc}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([word, at]) => (
              <tr key={word}>
                <th scope="row">{word}</th>
                <td class="num">{at ? <b>{clockDay(at, now.peek())}</b> : <span class="muted">{word === words.whenRecovered ? words.notYet : "–"}</span>}</td>
                <td class="num muted">{at ? clockUTC(at) : "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
