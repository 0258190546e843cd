import { useComputed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { acknowledge } from "../actions";
import { spanOfCondition } from "../draw/lanes";
import { episodeOf, fileOf, firstTold, useDeliveries, useEvidence } from "../evidence";
import { detectorOf } from "../detectors";
import { text } from "../i18n";
import { lineOf, nameOf } from "../names";
import { pinned, togglePinned } from "../settings";
import { silenced } from "../silenced";
import { now } from "../store";
import { clock, clockDay, decimal, duration, fractional, zone } from "../time";
import type { Condition, Delivery, EvidenceFile, Incident, Monitor } from "../types";
import { numberText, type Item } from "../wall";
import { isTaken } from "../incident";
import { alertOf, whyOf } from "../why";
import { Allowed } from "./Allowed";
import { LatestFinding } from "./LatestFinding";
import { BestPicture, LevelPicture } from "./BestPicture";
import { Glyph } from "./Glyph";
import { HourLane, hourMs, useLastHour } from "./LastHour";
import { LabelLine } from "./LabelLine";
import { memo } from "./memo";
import type { SelectBoxOf } from "./SelectButton";
import { Stranger } from "./Name";
import { File, hasSoundOnly, isStale, Live, NoPicture, Thumb, useThumbnail } from "./Picture";
import { alsoOf, conditionWord, InAll, Lamp, Parked, severityOf, StateWord, stillWord } from "./State";

// Tile is a stream that needs somebody: what happened, since when, who has it.
export const Tile = memo(({ item, large, selected, selectBox: SelectBox }: { item: Item; large: boolean; selected: boolean; selectBox: SelectBoxOf }) => {
  const { incident, monitor, condition } = item;
  const words = text.value.wall;
  if (!incident) return null;
  const name = nameOf(monitor ?? incident);
  const title = lineOf(monitor ?? incident);
  const href = `/incidents/${incident.incident_id}`;
  const also = condition && alsoOf(incident, condition.name);
  const why = condition && (
    <p class="why">
      <Why condition={condition} monitor={monitor} />
      {also && <small class="wrap">{also}</small>}
      <InAll conditions={incident.conditions} />
      {monitor?.record_parked_since && (
        <small>
          <Parked monitor={monitor} />
        </small>
      )}
      {large && <small class="wrap">{alertOf(condition, monitor)}</small>}
      <LabelLine of={monitor} />
      {large && monitor && (
        <small class="wrap">
          <LatestFinding condition={condition} monitor={monitor} />
        </small>
      )}
    </p>
  );
  return (
    <article class={`tile is-${item.state}${large ? "" : " compact"}${selected ? " selected" : ""}`} id={`tile-${item.id}`} aria-labelledby={`name-${item.id}`}>
      <header class="tile-bar">
        {SelectBox && <SelectBox id={item.id} />}
        {condition ? <Lamp name={condition.name} /> : <StateWord state={item.state} />}
        <span class="place">{numberText(item.number)}</span>
        <h3 class="one-line" id={`name-${item.id}`}>
          <Stranger>{name}</Stranger>
        </h3>
        <Since item={item} />
      </header>
      {large ? (
        <>
          <Frames item={item} href={href} name={name} />
          <div class="tile-body">
            <div>
              <p class="title-line">
                <Stranger className="one-line muted">{title}</Stranger>
                <span class="num">
                  {words.since} <b>{item.since ? `${clockDay(item.since, now.peek())} ${zone.value}` : "–"}</b>
                </span>
              </p>
              {why}
            </div>
            {monitor && <LastHour item={item} name={name} />}
            <p class="told">
              <Newest incidentID={incident.incident_id} monitorID={item.id} />
              <span class="end">{severityOf(incident)}</span>
            </p>
            <Foot item={item} href={href} />
          </div>
        </>
      ) : (
        <div class="tile-body">
          <div class="side">
            <a href={href} tabIndex={-1} aria-hidden="true">
              <Shown item={item} name={name} />
            </a>
            <div>
              <p class="muted two-lines" dir="auto">
                {title}
              </p>
              {why}
            </div>
          </div>
          <Foot item={item} href={href} />
        </div>
      )}
    </article>
  );
});

// Since counts from the onset. A late stream counts from its planned start.
export function Since({ item }: { item: Item }) {
  const seconds = useComputed(() => (item.since ? duration((now.value - item.since) / 1000) : ""));
  return (
    <span class="duration num">
      {item.condition?.name === "late" && "+"}
      {seconds}
    </span>
  );
}

// Why is drawn anew each second, the tile is not.
export function Why({ condition, monitor }: { condition: Condition; monitor: Monitor | null }) {
  return useComputed(() => whyOf(condition, monitor, now.value));
}

// Frames are before, the onset, and now. Their captions are below: nothing covers a picture.
function Frames({ item, href, name }: { item: Item; href: string; name: string }) {
  const all = useEvidence(item.incident!.incident_id, item.incident!.monitor_id);
  const words = text.value.wall;
  const { monitor, condition } = item;
  const { alert } = episodeOf(all.value, condition?.name ?? "");
  const [before, onset] = [fileOf(alert, "before"), fileOf(alert, "onset")];
  const levels = condition && detectorOf(condition.name)?.track === "audio" ? fileOf(alert, "levels") : null;
  return (
    <a class="frames" href={href}>
      {before ? (
        <span>
          <File evidenceID={before.evidence.evidence_id} variant="before" alt={words.pictureOf(words.before, name)} />
          <Caption word={words.before} file={before.file} />
        </span>
      ) : (
        !hasSoundOnly(item.id) && (
          <span>
            <NoPicture label={words.noPicture(name)} />
            <span class="caption">{words.noneBefore}</span>
          </span>
        )
      )}
      {levels ? (
        <span>
          <LevelPicture evidenceID={levels.evidence.evidence_id} name={name} />
          <span class="caption num reverse">
            <b>{words.conditionFrom(conditionWord(condition!.name), clock(condition!.last_started_at))}</b> <span>{clock(levels.file.taken_at)}</span>
          </span>
        </span>
      ) : (
        onset && (
          <span>
            <File evidenceID={onset.evidence.evidence_id} variant="onset" alt={words.pictureOf(words.onset, name)} />
            <Caption word={words.onset} file={onset.file} />
          </span>
        )
      )}
      {monitor && <Latest id={item.id} intervalSec={monitor.config.check_interval_sec} name={name} />}
    </a>
  );
}

// Latest calls a picture "now" only while it shows how the stream is now.
function Latest({ id, intervalSec, name }: { id: string; intervalSec: number; name: string }) {
  const picture = useThumbnail(id);
  const words = text.value;
  const stale = picture && isStale((now.value - Date.parse(picture.takenAt)) / 1000, intervalSec);
  return (
    <span>
      <Thumb picture={picture} soundOnly={hasSoundOnly(id)} intervalSec={intervalSec} label={name} />
      <span class="caption">{picture ? <b>{stale ? words.wall.lastPicture : words.wall.now}</b> : !hasSoundOnly(id) && words.wall.noneNow}</span>
    </span>
  );
}

function Caption({ word, file }: { word: string; file: EvidenceFile }) {
  return (
    <span class="caption">
      <span>
        <b>{word}</b> <span class="num">{clock(file.taken_at)}</span>
      </span>
      {factsOf(file) && <span class="num">{factsOf(file)}</span>}
    </span>
  );
}

// factsOf is the quality that a picture was taken from and its luma in percent, or the level of a sound.
export function factsOf(file: EvidenceFile): string {
  if (file.measure === null) return "";
  if (file.media_type === "application/json" || file.variant === "level") return file.measure <= -90 ? "−∞ dB" : `${decimal(file.measure)} dB`;
  const luma = text.value.wall.luma(decimal((file.measure / 255) * 100, 0));
  return file.rendition_height ? `${file.rendition_height}p · ${luma}` : luma;
}

export function Shown({ item, name }: { item: Item; name: string }) {
  const picture = item.incident!.picture;
  if (picture && item.condition?.name !== "blind") return <BestPicture picture={picture} name={name} />;
  return <Live id={item.id} intervalSec={item.monitor?.config.check_interval_sec ?? 10} label={name} />;
}

function LastHour({ item, name }: { item: Item; name: string }) {
  const { incident, condition, since } = item;
  const hour = useLastHour(item.id, incident?.updated_at ?? "");
  const words = text.value.wall;
  // What came since the reading is known from the incident: its condition lasts.
  const until = useComputed(() => Math.floor(now.value / 5000) * 5000).value;
  const drawn = useMemo(() => {
    if (!hour) return null;
    const to = Math.max(hour.to, until);
    const state = condition ? spanOfCondition(condition.name) : "good";
    return { spans: [...hour.spans, { state, from: Math.max(since, hour.to), to }, ...(condition ? [{ state, from: Math.max(since, to - hourMs), to }] : [])], from: to - hourMs, to };
  }, [hour, until, condition, since]);
  return (
    <div class="last-hour">
      <span>{words.lastHour}</span>
      <HourLane hour={drawn} name={name} />
      <span>{words.nowTick}</span>
    </div>
  );
}

// Newest is how the newest delivery of the incident went.
function Newest({ incidentID, monitorID }: { incidentID: string; monitorID: string }) {
  const all = useDeliveries(incidentID, monitorID);
  const newest = all.value?.[0];
  return newest ? <DeliveryWord delivery={newest} /> : null;
}

export function DeliveryWord({ delivery }: { delivery: Delivery }) {
  const words = text.value.wall;
  const { state } = delivery;
  const look = state === "delivered" ? "on_air" : state === "pending" ? "warning" : "trouble";
  const told = firstTold(delivery);
  const took = told ? (Date.parse(told) - Date.parse(delivery.created_at)) / 1000 : 0;
  return (
    <span class={`is-${look}`}>
      <Glyph name={state === "delivered" ? "check" : state === "pending" ? "retry" : "fail"} />
      <b>{delivery.destination?.name ?? words.callback}</b>{" "}
      {state === "delivered" && fractional(took, took < 1 ? 2 : 1)}
      {state === "pending" && (delivery.next_attempt_at ? words.retryAt(clock(delivery.next_attempt_at)) : "…")}
      {state === "failed" && `${words.deliveryFailed}, ${words.attempts(delivery.tried)}`}
    </span>
  );
}

function Foot({ item, href }: { item: Item; href: string }) {
  const words = text.value.wall;
  const incident = item.incident!;
  const isPinned = pinned.value.includes(item.id);
  const taken = isTaken(incident);
  return (
    <footer class="tile-foot">
      <Acknowledge incident={incident} />
      <a class={taken ? "btn" : "btn quiet"} href={href}>
        {words.open}
        <span class="hidden-text">: {conditionWord(item.condition?.name ?? "")}</span>
      </a>
      <button class="icon-btn" type="button" aria-pressed={isPinned} aria-label={isPinned ? words.unpin : words.pin} onClick={() => togglePinned(item.id)}>
        <Glyph name="pin" />
      </button>
      <Who item={item} />
    </footer>
  );
}

// Acknowledge is the button of whoever takes an incident that nobody has.
export function Acknowledge({ incident }: { incident: Incident }) {
  if (isTaken(incident)) return null;
  return (
    <Allowed to="operate">
      <button class="btn primary" type="button" onClick={() => acknowledge(incident.incident_id)}>
        <Glyph name="hand" />
        {text.value.wall.acknowledge}
      </button>
    </Allowed>
  );
}

// Who has it, or that nobody does.
export function Who({ item }: { item: Item }) {
  const words = text.value.wall;
  const incident = item.incident!;
  return (
    <span class="who">
      {incident.state === "resolved" ? (
        stillWord(incident, item.condition!)
      ) : incident.acknowledged_at ? (
        <>
          <Glyph name="person" /> <b dir="auto">{incident.acknowledged_by}</b> {words.acknowledgedBy}{" "}
          <br />
          {isTaken(incident) ? words.sinceTime(clockDay(incident.acknowledged_at, now.peek())) : <b>{text.value.common.worseSince}</b>}
        </>
      ) : (
        <b>{words.nobodyHasIt}</b>
      )}
      <Mute incidentID={incident.incident_id} />
    </span>
  );
}

// Mute says that a silence holds back the messages about an incident.
export function Mute({ incidentID }: { incidentID: string }) {
  const held = silenced.value.get(incidentID);
  if (!held) return null;
  return (
    <span class="word is-waiting mute">
      <Glyph name="mute" />
      {text.value.wall.silenced(held.until ? clockDay(held.until, now.peek()) : "")}
    </span>
  );
}
