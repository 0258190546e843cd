import { useComputed } from "@preact/signals";
import { text } from "../i18n";
import { grouped } from "../labels";
import { lineOf, nameOf } from "../names";
import { query, setQuery } from "../router";
import { monitors, now } from "../store";
import { number } from "../time";
import { numberText, type Item } from "../wall";
import { groupOfItem } from "../wallmodel";
import { Glyph } from "./Glyph";
import { HourLane, useLastHour } from "./LastHour";
import { Stranger } from "./Name";
import { LabelLine } from "./LabelLine";
import { memo } from "./memo";
import { Live } from "./Picture";
import { selectBox } from "./SelectButton";
import { conditionGlyph, conditionWord, healthWord, Parked, pausedWord, stateGlyphs, StateWord } from "./State";
import { groupName } from "./ViewBar";
import { Windowed } from "./Windowed";

const phone = typeof matchMedia === "undefined" ? null : matchMedia("(max-width: 640px)");

// OnAir shows what needs nobody, as pictures or as rows. Only what is in view is drawn.
export function OnAir({ items, heading, selected }: { items: readonly Item[]; heading: string; selected: string }) {
  const words = text.value.wall;
  const SelectBox = selectBox.value;
  const rows = query.value.get("view") === "rows";
  const small = phone?.matches ?? false;
  const late = items.filter((item) => item.late && !item.condition).length;
  const wrong = items.filter((item) => item.condition);
  const paused = items.filter((item) => item.state === "paused").length;
  const parked = items.filter((item) => item.monitor?.record_parked_since).length;
  const size = rows ? { rowHeight: 46, minWidth: Infinity, gap: 0 } : small ? { rowHeight: 55, minWidth: Infinity, gap: 1 } : { rowHeight: 168, minWidth: 174, gap: 12 };
  const isGrouped = query.value.has("group");
  const groups: [string, readonly Item[]][] = isGrouped ? grouped(items, groupOfItem) : [["", items]];
  return (
    <section class="section" aria-labelledby="on-air-title">
      <div class="section-head">
        <h2 id="on-air-title">
          {heading} <span>{items.length - late - wrong.length - paused}</span>
        </h2>
        {late > 0 && (
          <span class="word is-warning">
            <Glyph name="late" />
            <b>{number.value.format(late)}</b> {words.late}
          </span>
        )}
        {[...new Set(wrong.map((item) => item.condition!.name))].map((name) => (
          <span key={name} class="word is-warning">
            <Glyph name={conditionGlyph(name)} />
            <b>{number.value.format(wrong.filter((item) => item.condition!.name === name).length)}</b> {conditionWord(name)}
          </span>
        ))}
        {paused > 0 && (
          <span class="word is-paused">
            <Glyph name="pause" />
            <b>{number.value.format(paused)}</b> {text.value.common.states.paused}
          </span>
        )}
        {parked > 0 && (
          <span class="word is-warning">
            <Glyph name="note" />
            <b>{number.value.format(parked)}</b> {words.parked}
          </span>
        )}
        {!rows && <span class="hint">{words.onAirHint}</span>}
        <span class="end">
          <label class="pick not-phone">
            {words.order}
            <select value={query.value.get("order") ?? "place"} onChange={(e) => setQuery({ order: e.currentTarget.value === "name" ? "name" : null })}>
              <option value="place">{words.orders.place}</option>
              <option value="name">{words.orders.name}</option>
            </select>
          </label>
          <span class="segmented" role="group" aria-label={words.showAs}>
            <button type="button" aria-pressed={!rows} onClick={() => setQuery({ view: null })}>
              <Glyph name="grid" />
              {words.grid}
            </button>
            <button type="button" aria-pressed={rows} onClick={() => setQuery({ view: "rows" })}>
              <Glyph name="rows" />
              {words.rows}
            </button>
          </span>
        </span>
      </div>
      {rows && <RowHead />}
      {groups.map(([name, items]) => {
        const chosen = items.findIndex((item) => item.id === selected);
        const list = (
          <Windowed key={rows ? "rows" : "grid"} items={items} {...size} class={rows ? "rows card" : "screens"} label={name || words.onAir} keyOf={(item) => item.id} chosen={chosen} follow={`${selected} ${items[chosen]?.pinned}`}>
            {(item) => (
              <>
                {SelectBox && <SelectBox id={item.id} />}
                {rows ? <Row id={item.id} item={item} selected={item.id === selected} /> : <Screen id={item.id} item={item} selected={item.id === selected} />}
              </>
            )}
          </Windowed>
        );
        if (!isGrouped) return list;
        return (
          <section key={name} class="group">
            <h3 dir="auto">
              {groupName(name)} <span>{number.value.format(items.length)}</span>
            </h3>
            {list}
          </section>
        );
      })}
    </section>
  );
}

// reasonOf says why a stream cannot be seen, or is not looked at.
const reasonOf = (item: Item): string | null => (item.state === "paused" ? pausedWord(item.monitor!) : item.condition?.name === "blind" ? item.monitor!.last_error : null);

interface Props {
  id: string;
  item: Item;
  selected: boolean;
}

// Screen is one live picture on its name plate.
const Screen = memo(({ id, item, selected }: Props) => {
  const monitor = monitors.get(id);
  if (!monitor) return null;
  const name = nameOf(monitor);
  return (
    <a class={`screen is-${item.state}${item.late ? " late" : ""}${selected ? " selected" : ""}`} href={`/monitors/${id}`}>
      <Live id={id} intervalSec={monitor.config.check_interval_sec} label={name} />
      <span class="nameplate">
        <span class="state">
          <Glyph name={item.condition ? conditionGlyph(item.condition.name) : item.late ? "late" : stateGlyphs[item.state]} />
          <span class="hidden-text">{item.condition ? conditionWord(item.condition.name) : item.late ? text.value.wall.late : text.value.common.states[item.state]}</span>
        </span>
        <span class="place">{numberText(item.number)}</span>
        <span class="name one-line">
          <Stranger>{name}</Stranger>
        </span>
        {item.pinned && (
          <span class="end dim">
            <Glyph name="pin" />
          </span>
        )}
      </span>
      <span class="title one-line">
        <Parked monitor={monitor} /> <Stranger>{reasonOf(item) ?? lineOf(monitor)}</Stranger>
      </span>
    </a>
  );
});

function RowHead() {
  const words = text.value.wall.columns;
  return (
    <div class="row row-head" aria-hidden="true">
      <span>{words.place}</span>
      <span>{words.state}</span>
      <span>{words.picture}</span>
      <span>{words.channel}</span>
      <span>{words.title}</span>
      <span>{words.hour}</span>
      <span>{words.video}</span>
      <span>{words.audio}</span>
      <span>{words.status}</span>
    </div>
  );
}

const Row = memo(({ id, item, selected }: Props) => {
  const monitor = monitors.get(id);
  if (!monitor) return null;
  const grade = (state: string) => healthWord(item.late ? "unknown" : state);
  const name = nameOf(monitor);
  return (
    <a class={`row${selected ? " selected" : ""}`} href={`/monitors/${id}`}>
      <span class="place">{numberText(item.number)}</span>
      {monitor.record_parked_since && !item.condition && !item.late ? <Parked monitor={monitor} /> : <StateWord state={item.state} condition={item.condition} late={item.late} of={monitor} />}
      <Live id={id} intervalSec={monitor.config.check_interval_sec} label={name} />
      <b class="one-line">
        <Stranger>{name}</Stranger>
      </b>
      <span class="one-line muted">
        <Stranger>{(item.state !== "paused" && reasonOf(item)) || lineOf(monitor)}</Stranger> <LabelLine of={monitor} />
      </span>
      <RowHour id={id} name={name} />
      <span class="muted">{grade(monitor.health.video)}</span>
      <span class="muted">{grade(monitor.health.audio)}</span>
      <span class="dim">{healthWord(monitor.stream_status)}</span>
    </a>
  );
});

const settleMs = 300; // scrolling shows many rows for a moment

// RowHour is read anew each minute: what nobody looked at since is hatched then.
function RowHour({ id, name }: { id: string; name: string }) {
  const minute = useComputed(() => Math.floor(now.value / 60_000));
  return <HourLane hour={useLastHour(id, String(minute.value), settleMs)} name={name} />;
}
