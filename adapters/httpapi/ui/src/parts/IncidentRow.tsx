import { useComputed } from "@preact/signals";
import { acknowledge } from "../actions";
import { firstCondition, lastedSec, ownersOf, sinceOf, troubleTimes } from "../incidentlist";
import { endOf, isTaken, needsSomebody, worst } from "../incident";
import { text } from "../i18n";
import { lineOf, nameOf, type Named } from "../names";
import { now } from "../store";
import { clock, clockDay, duration } from "../time";
import type { Incident } from "../types";
import { Allowed } from "./Allowed";
import { BestPicture } from "./BestPicture";
import { Glyph } from "./Glyph";
import { LabelLine } from "./LabelLine";
import { Stranger } from "./Name";
import { NoPicture } from "./Picture";
import { alsoOf, conditionWord, InAll, isWarning, Lamp, severityOf, stillWord } from "./State";
import { useInView } from "./useInView";

export function IncidentRow({ incident, stream }: { incident: Incident; stream: Named }) {
  const words = text.value.incidents;
  const [ref, seen] = useInView<HTMLLIElement>();
  const lasting = worst(incident);
  const open = incident.state === "open";
  const worse = open && incident.acknowledged_by !== null && !isTaken(incident);
  const name = nameOf(stream);
  const condition = lasting?.name ?? firstCondition(incident);
  const also = alsoOf(incident, condition);
  const owners = ownersOf(incident);
  return (
    <li ref={ref} class={`incident-row is-${!lasting ? "off" : isWarning(condition) ? "warning" : "trouble"}${open ? "" : " done"}`}>
      <span class="edge" />
      <Shot incident={incident} seen={seen} name={name} />
      <span class="what">
        {lasting ? <Lamp name={condition} /> : <Over incident={incident} condition={condition} />}
        <small class="dim">{severityOf(incident)}</small>
        {also && <small class="dim">{also}</small>}
      </span>
      <span class="stream">
        <a href={`/incidents/${incident.incident_id}`}>
          <b>
            <Stranger>{name}</Stranger>
          </b>
        </a>
        <span class="one-line muted">
          <Stranger>{lineOf(stream)}</Stranger> <LabelLine of={stream.labels ? stream : incident} />
        </span>
      </span>
      <When incident={incident} />
      <span class="who">
        {incident.resolved_by || incident.resolved_by_pause ? (
          <span class="muted">
            <Stranger>{stillWord(incident, lasting)}</Stranger>
          </span>
        ) : incident.acknowledged_by && !worse ? (
          <span class="word is-on_air">
            <Glyph name="person" />
            <Stranger className="one-line">{incident.acknowledged_by}</Stranger>
          </span>
        ) : needsSomebody(incident) ? (
          <>
            <span class="word is-warning">
              <Glyph name="person" />
              {worse ? (
                <span>
                  <Stranger>{incident.acknowledged_by!}</Stranger>
                  {`${text.value.common.listComma}${text.value.common.worseSince}`}
                </span>
              ) : (
                words.nobody
              )}
            </span>
            <Allowed to="operate">
              <button class="btn" type="button" aria-label={`${text.value.wall.acknowledge}: ${name}`} onClick={() => acknowledge(incident.incident_id)}>
                {text.value.wall.acknowledge}
              </button>
            </Allowed>
          </>
        ) : owners.length > 0 ? (
          <span class="muted">
            <Stranger>{owners.join(text.value.common.listComma)}</Stranger>
          </span>
        ) : (
          <span class="muted">{words.nobodyWas}</span>
        )}
      </span>
    </li>
  );
}

function Over({ incident, condition }: { incident: Incident; condition: string }) {
  const words = text.value.incidents;
  const wrong = incident.false_positive === true;
  return (
    <span class="word is-recovered">
      <Glyph name={wrong ? "flag" : "recovered"} />
      {wrong ? words.falsePositive : words.recovered(conditionWord(condition))}
    </span>
  );
}

function Shot({ incident, seen, name }: { incident: Incident; seen: boolean; name: string }) {
  const picture = incident.picture;
  if (!picture) return <NoPicture label={text.value.incident.noPicture} />;
  if (!seen) return <span class="pic" />;
  return <BestPicture picture={picture} name={name} />;
}

function When({ incident }: { incident: Incident }) {
  const words = text.value.incidents;
  const end = endOf(incident);
  const since = sinceOf(incident);
  const lasted = useComputed(() => duration(lastedSec(incident, now.value)));
  const today = now.peek();
  const times = troubleTimes(incident.conditions, today);
  return (
    <span class="when">
      <b class="num">{lasted}</b>
      <span>
        {end ? words.fromTo(clockDay(incident.started_at, today), clock(end)) : words.since(clockDay(since, today))}
        {end && times > 1 && `${text.value.common.listComma}${words.times(times)}`}
        {incident.reopened > 0 && `${text.value.common.listComma}${words.reopened(incident.reopened)}`}
        {!end && <InAll conditions={incident.conditions} />}
      </span>
    </span>
  );
}
