import "../styles/incident.css";
import { useComputed } from "@preact/signals";
import { describe } from "../actions";
import { APIError, incidents as api } from "../api";
import { episodeOf, useDeliveries, useEvidence } from "../evidence";
import { text } from "../i18n";
import { earlierOwners, firstCondition, lastedSec, sinceOf, troubleTimes } from "../incidentlist";
import { endOf, isTaken, worst } from "../incident";
import { channelOf, isolated, nameOf, pageOf, shortURL, titleOf } from "../names";
import { hintsOf } from "../hints";
import { ActionBar } from "../parts/ActionBar";
import { OnsetTimeline } from "../parts/OnsetTimeline";
import { Clip } from "../parts/Clip";
import { Glyph } from "../parts/Glyph";
import { HintCard } from "../parts/Hints";
import { Log } from "../parts/Log";
import { Stranger } from "../parts/Name";
import { ConditionPictures } from "../parts/ConditionPictures";
import { Share } from "../parts/Share";
import { conditionGlyph, conditionWord, InAll, Lamp, stillWord } from "../parts/State";
import { Mute } from "../parts/Tile";
import { IncidentDeliveries } from "../parts/IncidentDeliveries";
import { WhenCard, WhyCard } from "../parts/WhyCard";
import { useRead } from "../read";
import { path, query, withQuery } from "../router";
import { incidents as live, monitors, now } from "../store";
import { useNames } from "../streamnames";
import { clockDay, duration, zone } from "../time";
import { useSilenced } from "../silenced";
import { useTitle } from "../title";
import type { Condition, Incident as Data } from "../types";
import { numberText } from "../wall";

export function Incident() {
  const id = decodeURIComponent(path.value.split("/")[2] ?? "");
  const { incident, failed } = useIncident(id);
  const words = text.value;
  if (!incident) {
    return (
      <main class="main" id="main" aria-busy={!failed}>
        <h1 class={failed ? "" : "hidden-text"}>{words.incident.title}</h1>
        <p>{failed || words.common.loading}</p>
      </main>
    );
  }
  return <Loaded incident={incident} />;
}

// useIncident reads the incident with its log, and reads it again when the feed says that it changed.
function useIncident(id: string) {
  const { answer, failed } = useRead((abort) => api.read(id, abort), [id, live.get(id)]);
  const error = answer.value ? null : failed.value;
  const notFound = error instanceof APIError && error.status === 404;
  return { incident: answer.value, failed: notFound ? text.value.incident.notFound : error ? describe(error) : "" };
}

function Loaded({ incident }: { incident: Data }) {
  const evidence = useEvidence(incident.incident_id, incident.monitor_id);
  const deliveries = useDeliveries(incident.incident_id, incident.monitor_id);
  monitors.keys.value;
  const monitor = monitors.get(incident.monitor_id) ?? null;
  const stream = useNames([incident.monitor_id])(incident.monitor_id, incident.stream_url);
  useSilenced();
  useTitle(`${conditionWord((worst(incident) ?? incident.conditions[0]!).name)}${text.value.common.listComma}${isolated(nameOf(stream))}`);
  const asked = query.value.get("condition");
  const chosen = incident.conditions.find((c) => c.name === asked) ?? worst(incident) ?? incident.conditions[0]!;
  return (
    <main class="main incident" id="main">
      <Head incident={incident} stream={stream} />
      <ActionBar incident={incident} evidenceCount={evidence.value?.length ?? 0} />
      <Choice conditions={incident.conditions} chosen={chosen} />
      <div class="columns">
        <div>
          <ConditionPictures incident={incident} condition={chosen} all={evidence.value} name={nameOf(stream)} monitor={monitor} />
          <Clip alert={episodeOf(evidence.value, chosen.name).alert} />
          <OnsetTimeline incident={incident} condition={chosen} monitor={monitor} />
          <IncidentDeliveries all={deliveries.value} />
        </div>
        <div>
          <WhyCard incident={incident} chosen={chosen} monitor={monitor} />
          <HintCard hints={hintsOf(incident, monitor)} />
          <WhenCard incident={incident} deliveries={deliveries.value} />
          <Log incident={incident} evidence={evidence.value} deliveries={deliveries.value} />
        </div>
      </div>
      <Share all={evidence.value ?? []} />
    </main>
  );
}

function Head({ incident, stream }: { incident: Data; stream: Parameters<typeof nameOf>[0] }) {
  const words = text.value;
  const lasting = worst(incident);
  const end = endOf(incident);
  const since = sinceOf(incident);
  const lasted = useComputed(() => duration(lastedSec(incident, now.value)));
  const today = now.peek();
  const from = clockDay(since, today);
  const times = troubleTimes(incident.conditions, today);
  const title = channelOf(stream) && titleOf(stream);
  return (
    <>
      <nav class="crumbs" aria-label={words.incident.title}>
        <a href="/incidents">{words.incidents.title}</a>
        <Glyph name="right" />
        <span class="mono">{incident.incident_id.slice(-8)}</span>
      </nav>
      <header class={`head is-${incident.state === "resolved" ? "off" : lasting ? "trouble" : "recovered"}`}>
        <h1>
          {lasting ? (
            <Lamp name={lasting.name} large />
          ) : (
            <span class="word is-recovered">
              <Glyph name={incident.false_positive ? "flag" : "recovered"} />
              {incident.false_positive ? words.incidents.falsePositive : words.incidents.recovered(conditionWord(firstCondition(incident)))}
            </span>
          )}
          {!!stream.number && <span class="place">{numberText(stream.number)}</span>}
          <a href={`/monitors/${incident.monitor_id}`}>
            <Stranger>{nameOf(stream)}</Stranger>
          </a>
        </h1>
        <p class="lead">
          {title && <Stranger>{title}</Stranger>}{" "}
          <a class="tag" href={pageOf(incident.stream_url)} target="_blank" rel="noreferrer noopener">
            <Glyph name="link" />
            {shortURL(incident.stream_url)}
          </a>
        </p>
        <p class="big">
          <b class="num">{lasted}</b>
          <span class="num">
            {end ? words.incident.lasted(from, `${clockDay(end, today)} ${zone.value}`) : words.incident.goingOn(`${from} ${zone.value}`)}
            {end && times > 1 && `${words.common.listComma}${words.incidents.times(times)}`}
          </span>
          {!end && <InAll conditions={incident.conditions} />}
          {(incident.resolved_by || incident.resolved_by_pause) && (
            <span class={`word owner ${lasting ? "is-warning" : "is-recovered"}`}>
              <Glyph name="person" />
              <Stranger>{stillWord(incident, lasting)}</Stranger>
            </span>
          )}
          <Owner incident={incident} />
          <Mute incidentID={incident.incident_id} />
        </p>
      </header>
    </>
  );
}

// Owner says who acknowledged the incident, or that an open one has nobody, and who had it before.
function Owner({ incident }: { incident: Data }) {
  const words = text.value.incident;
  const earlier = earlierOwners(incident);
  const nobody = !incident.acknowledged_by && incident.state !== "open";
  if (nobody && earlier.length === 0) return null;
  const worse = incident.state === "open" && !isTaken(incident);
  const names = earlier.map((a) => words.ownerAt(isolated(a.by), clockDay(a.at, now.peek()))).join(text.value.common.listComma);
  return (
    <span class={`word owner ${worse ? "is-warning" : "is-on_air"}`}>
      <Glyph name="person" />
      {incident.acknowledged_by ? (
        <span>
          <b dir="auto">{incident.acknowledged_by}</b> {words.has(clockDay(incident.acknowledged_at!, now.peek()))}
          {worse && `${text.value.common.listComma}${text.value.common.worseSince}`}
        </span>
      ) : (
        !nobody && words.nobody
      )}
      {names && <span class="muted">{nobody ? words.hadItAll(names) : words.hadIt(names)}</span>}
    </span>
  );
}

// Choice says of which condition pictures, clip and lanes are: those of two conditions are never mixed.
function Choice({ conditions, chosen }: { conditions: readonly Condition[]; chosen: Condition }) {
  if (conditions.length < 2) return null;
  return (
    <nav class="segmented choice" aria-label={text.value.incident.choice}>
      {conditions.map((condition) => (
        <a key={condition.name} href={withQuery({ condition: condition.name })} aria-current={condition === chosen ? "true" : undefined}>
          <Glyph name={conditionGlyph(condition.name)} />
          {conditionWord(condition.name)} <span class="num">{clockDay(condition.last_started_at, now.peek())}</span>
        </a>
      ))}
    </nav>
  );
}
