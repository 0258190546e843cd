import "../styles/room.css";
import { computed, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { isQuiet, leastNow } from "../alarm";
import { sounding } from "../chime";
import { text } from "../i18n";
import { onKey } from "../keyboard";
import { wantedLabels } from "../labels";
import { lineOf, nameOf } from "../names";
import { leaveRoom } from "../room";
import { query, setQuery } from "../router";
import { sound, soundBlocked } from "../settings";
import { toggleSound } from "../sound";
import { now } from "../store";
import { isTaken } from "../incident";
import { numberText, resort, type Item } from "../wall";
import { byID, labels, selected, wanted } from "../wallmodel";
import { Calm } from "./Calm";
import { Glyph } from "./Glyph";
import { memo } from "./memo";
import { Stranger } from "./Name";
import { AllSilenced } from "./OnDuty";
import { Clock } from "./Shell";
import { alsoOf, Lamp, StateWord } from "./State";
import { Status } from "./Status";
import { Strip } from "./Strip";
import { Acknowledge, Shown, Since, Who, Why } from "./Tile";
import { Untold } from "./Untold";
import { useFull, useIdle, useWakeLock } from "./useScreen";
import { ViewBar } from "./ViewBar";

const screens = [24, 27, 32, 40, 43, 50, 55, 65, 75, 85]; // diagonals, in inches
const usualScreen = 55;

// The least room that a tile takes, in units of the text that can be read at 3 m.
const leastWidth = 17;
const leastHeight = 4.6;
const stripShare = 0.18; // of the screen's height

// screen is the diagonal of the screen, which says how large a letter is on it.
const screen = computed(() => {
  const inches = Number(query.value.get("size"));
  return inches >= 10 && inches <= 200 ? inches : usualScreen;
});

// Room is the wall to be read from 3 m: what needs somebody as large as there is room for, the rest as a strip.
export function Room() {
  const idle = useIdle();
  const list = useRef<HTMLElement>(null);
  const { unit, columns, rows } = useSpace(list);
  const all = useOrder(!idle);
  const drawn = all.slice(0, columns * rows);
  const across = Math.max(1, Math.ceil(drawn.length / rows));
  return (
    <>
      <AllSilenced />
      <Status>
        <Clock />
      </Status>
      <main class={idle ? "main room idle" : "main room"} id="main">
        <h1 class="hidden-text">{text.value.wall.title}</h1>
        <Notes more={all.length - drawn.length} />
        <Untold />
        <section ref={list} class="room-tiles" aria-label={text.value.wall.attention} style={{ gridTemplateColumns: `repeat(${across}, minmax(0, 1fr))` }}>
          {drawn.map((item) => (
            <RoomTile key={item.id} item={item} selected={item.id === selected.value} />
          ))}
          {all.length === 0 && <Calm />}
        </section>
      </main>
      <Strip scale={Math.max(1, (0.8 * unit) / 11)} tallest={innerHeight * stripShare} />
      <Controls idle={idle} />
    </>
  );
}

const RoomTile = memo(({ item, selected }: { item: Item; selected: boolean }) => {
  const { incident, monitor, condition } = item;
  if (!incident) return null;
  const name = nameOf(monitor ?? incident);
  const also = condition && alsoOf(incident, condition.name);
  return (
    <article class={`room-tile is-${item.state}${isTaken(incident) ? " taken" : ""}${selected ? " selected" : ""}`} id={`tile-${item.id}`} aria-labelledby={`name-${item.id}`}>
      <a class="room-picture" href={`/incidents/${incident.incident_id}`} tabIndex={-1} aria-hidden="true">
        <Shown item={item} name={name} />
      </a>
      <div class="room-text">
        <p class="room-what">
          {condition ? <Lamp name={condition.name} /> : <StateWord state={item.state} />}
          <Since item={item} />
        </p>
        <h2 class="room-name">
          <span class="place">{numberText(item.number)}</span>
          <a class="one-line" id={`name-${item.id}`} href={`/incidents/${incident.incident_id}`}>
            <Stranger>{name}</Stranger>
          </a>
        </h2>
        <p class="room-title one-line muted">
          <Stranger>{lineOf(monitor ?? incident)}</Stranger>
        </p>
        {condition && (
          <p class="room-why">
            <Why condition={condition} monitor={monitor} />
            {also && `, ${also}`}
          </p>
        )}
        <footer class="room-foot">
          <Who item={item} />
          <Acknowledge incident={incident} />
        </footer>
      </div>
    </article>
  );
});

// Notes say what else a room has to know: that there is more, that it is filtered, and why it may stay quiet or go dark.
function Notes({ more }: { more: number }) {
  const words = text.value.room;
  const labels = Object.entries(wantedLabels());
  const { quiet } = sounding.value;
  now.value; // the quiet hours begin and end
  const at = new Date();
  const least = leastNow(sounding.value, at);
  const mute = !sound.value || soundBlocked.value;
  const dark = useWakeLock();
  if (more === 0 && labels.length === 0 && !mute && !isQuiet(quiet, at) && !dark) return null;
  return (
    <p class="room-notes">
      {more > 0 && (
        <a class="word is-trouble" href="/incidents?state=open">
          <Glyph name="trouble" />
          {words.more(more)}
        </a>
      )}
      {labels.map(([name, value]) => (
        <span key={name}>
          {name}: <b dir="auto">{value}</b>
        </span>
      ))}
      {mute && (
        <button class="btn word is-warning" type="button" onClick={toggleSound}>
          <Glyph name="bellOff" />
          {soundBlocked.value ? text.value.shell.soundBlocked : text.value.shell.soundOff}
        </button>
      )}
      {!mute && isQuiet(quiet, at) && (
        <span class="word">
          <Glyph name="mute" />
          {words.quietUntil(quiet.to, least > 3 ? "" : text.value.common.severity(least))}
        </span>
      )}
      {dark && (
        <span class="word is-warning">
          <Glyph name="warning" />
          {words.mayGoDark}
        </span>
      )}
    </p>
  );
}

// Controls are for whoever is at the screen.
function Controls({ idle }: { idle: boolean }) {
  const words = text.value.room;
  const full = useFull();
  return (
    <nav class={idle ? "room-controls idle" : "room-controls"} aria-label={words.controls}>
      <label class="pick">
        {words.screen}
        <select value={screen.value} onChange={(e) => setQuery({ size: e.currentTarget.value }, "replace")}>
          {[...new Set([...screens, screen.value])].sort((a, b) => a - b).map((inches) => (
            <option key={inches} value={inches}>
              {words.inches(inches)}
            </option>
          ))}
        </select>
      </label>
      <ViewBar known={labels.value} always />
      <a class="btn quiet" href="/settings">
        <Glyph name="bell" />
        {words.sound}
      </a>
      {!full && document.fullscreenEnabled && (
        <button class="btn" type="button" onClick={() => void document.documentElement.requestFullscreen().catch(() => {})}>
          <Glyph name="full" />
          {words.full}
        </button>
      )}
      <button class="btn" type="button" onClick={leaveRoom}>
        <Glyph name="fail" />
        {words.leave} <kbd>f</kbd>
      </button>
    </nav>
  );
}

// useOrder is what needs somebody. Nothing moves while somebody is at the screen.
function useOrder(held: boolean): Item[] {
  const shown = useRef<readonly string[]>([]);
  const again = useSignal(0);
  again.value;
  useEffect(() => onKey("r", () => ((shown.current = []), void again.value++)), []);
  const is = byID.value;
  shown.current = resort(shown.current.filter((id) => is.get(id)?.incident), wanted.value.attention.map((i) => i.id), held).shown;
  return shown.current.map((id) => is.get(id)!);
}

// useSpace is how many tiles fit, and the size of the text that can be read at 3 m, in px.
function useSpace(list: RefObject<HTMLElement | null>): { unit: number; columns: number; rows: number } {
  const space = useSignal({ unit: 16, columns: 1, rows: 1 });
  const inches = screen.value;
  useEffect(() => {
    const root = document.documentElement;
    root.style.setProperty("--inches", String(inches));
    const measure = () => {
      if (!list.current) return; // the observer may be told once more
      const unit = parseFloat(getComputedStyle(list.current).fontSize);
      const { clientWidth, clientHeight } = list.current;
      const fit = (length: number, least: number) => Math.max(1, Math.floor(length / (least * unit)));
      const next = { unit, columns: fit(clientWidth, leastWidth), rows: fit(clientHeight, leastHeight) };
      if (JSON.stringify(next) !== JSON.stringify(space.peek())) space.value = next;
    };
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(list.current!);
    return () => {
      sizes.disconnect();
      root.style.removeProperty("--inches");
    };
  }, [inches]);
  return space.value;
}
