import { useComputed } from "@preact/signals";
import { text } from "../i18n";
import { troubleSec } from "../incidentlist";
import { lineOf, nameOf } from "../names";
import { withQuery } from "../router";
import { now } from "../store";
import { clockDay, clockMinute, dayKey, duration, shortDay, wholeDuration } from "../time";
import { numberText, type Item } from "../wall";
import { Glyph } from "./Glyph";
import { Stranger } from "./Name";
import { Live } from "./Picture";
import { selectBox } from "./SelectButton";
import { conditionWord } from "./State";

const most = 11; // the rest is a link

// Rail is one line of cards: what recovered within 10 minutes, and what waits for its start.
export function Rail({ recovered, waiting, all }: { recovered: readonly Item[]; waiting: readonly Item[]; all: boolean }) {
  const words = text.value.wall;
  if (recovered.length + waiting.length === 0) return null;
  const SelectBox = selectBox.value;
  const shown = all ? Infinity : most;
  const left = recovered.length + waiting.length - shown;
  return (
    <section class="section" aria-labelledby="rail-title">
      <h2 class="hidden-text" id="rail-title">
        {words.rail}
      </h2>
      <ul class="rail">
        {recovered.slice(0, shown).map((item) => (
          <li key={item.id}>
            {SelectBox && <SelectBox id={item.id} />}
            <Recovered item={item} />
          </li>
        ))}
        {waiting.slice(0, Math.max(0, shown - recovered.length)).map((item) => (
          <li key={item.id}>
            {SelectBox && <SelectBox id={item.id} />}
            <Waiting item={item} />
          </li>
        ))}
        {left > 0 && (
          <li>
            <a class="mini more-waiting" href={withQuery({ show: "waiting" })}>
              {words.moreWaiting(left)}
            </a>
          </li>
        )}
      </ul>
    </section>
  );
}

function Recovered({ item }: { item: Item }) {
  const words = text.value.wall;
  const incident = item.incident!;
  const name = nameOf(item.monitor ?? incident);
  const lasted = duration(troubleSec(incident.conditions, item.since));
  return (
    <a class="mini is-recovered" href={`/incidents/${incident.incident_id}`}>
      <Live id={item.id} intervalSec={item.monitor?.config.check_interval_sec ?? 10} label={name} />
      <span class="line">
        <span class="word">
          <Glyph name="recovered" />
          {words.recovered}
        </span>
        <b class="one-line">
          <span class="place">{numberText(item.number)}</span> <Stranger>{name}</Stranger>
        </b>
      </span>
      <span class="second">{words.goodSince(words.conditionFor(incident.conditions.map((c) => conditionWord(c.name)).join(text.value.common.listComma), lasted), item.since ? clockDay(item.since, now.peek()) : "")}</span>
    </a>
  );
}

// inMinutes leaves out the seconds of what is longer than a minute.
const inMinutes = (seconds: number) => (seconds < 60 ? duration(seconds) : wholeDuration(Math.floor(seconds / 60) * 60));

function Waiting({ item }: { item: Item }) {
  const words = text.value.wall;
  const monitor = item.monitor!;
  const left = useComputed(() => (item.since ? (item.since - now.value) / 1000 : null));
  const day = item.since && dayKey(item.since) !== dayKey(now.peek()) ? `${shortDay(item.since)} ` : "";
  return (
    <a class="mini wait is-waiting" href={`/monitors/${item.id}`}>
      <span class="line">
        <Glyph name="waiting" />
        <b class="one-line">
          <span class="place">{numberText(item.number)}</span> <Stranger>{nameOf(monitor)}</Stranger>
        </b>
      </span>
      <span class="countdown num">
        {left.value !== null && (
          <>
            <small>{left.value >= 0 ? words.startsIn : words.overdue}</small> {inMinutes(Math.abs(left.value))}
          </>
        )}
      </span>
      <span class="second one-line">
        <Stranger>{lineOf(monitor)}</Stranger>
      </span>
      <span class="second num">{item.since ? words.planned(day + clockMinute(item.since)) : words.noSchedule}</span>
    </a>
  );
}
