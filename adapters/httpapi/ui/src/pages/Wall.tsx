import "../styles/wall.css";
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { acknowledge, silence } from "../actions";
import { text } from "../i18n";
import { onKey } from "../keyboard";
import { Calm } from "../parts/Calm";
import { Glyph } from "../parts/Glyph";
import { WallHints } from "../parts/Hints";
import { AllSilenced } from "../parts/OnDuty";
import { lazy } from "../parts/lazy";
import { OnAir } from "../parts/OnAir";
import { Rail } from "../parts/Rail";
import { select, selectBox, SelectButton } from "../parts/SelectButton";
import { Status } from "../parts/Status";
import { Strip } from "../parts/Strip";
import { Tile } from "../parts/Tile";
import { Untold } from "../parts/Untold";
import { ViewBar } from "../parts/ViewBar";
import { enterRoom, inRoom, leaveRoom } from "../room";
import { navigate, query, setQuery, withQuery } from "../router";
import { sound, togglePinned } from "../settings";
import { useSilenced } from "../silenced";
import { toggleSound } from "../sound";
import { isChecked, isLive, loaded } from "../store";
import { useTitle } from "../title";
import { resort, type Item, type State } from "../wall";
import { isTaken } from "../incident";
import { byID, items, labels, selected, startWall, wanted } from "../wallmodel";

const Room = lazy(() => import("../parts/Room").then((m) => m.Room));

const largest = 2; // tiles with both pictures; the others are compact
const most = 30; // tiles at all; a storm has its own page

export function Wall() {
  useEffect(() => startWall(), []);
  useKeys();
  useSilenced();
  const words = text.value;
  useTitle(words.wall.title);
  const show = query.value.get("show");
  const only = (...states: (State | "attention")[]) => !show || states.includes(show as State);
  if (!loaded.value) {
    return (
      <main class="main" id="main" aria-busy="true">
        <h1 class="hidden-text">{words.wall.title}</h1>
        {words.common.loading}
      </main>
    );
  }
  if (items.value.length === 0) return <Empty />;
  if (inRoom.value) return <Room />;
  const { attention, recovered, waiting, on_air } = wanted.value;
  const nothing = attention.length + recovered.length + waiting.length + on_air.length === 0;
  return (
    <>
      <AllSilenced />
      <Status />
      <Strip />
      <main class="main" id="main">
        <h1 class="hidden-text">{words.wall.title}</h1>
        <SelectButton />
        <ViewBar known={labels.value} />
        <Filtered />
        <Untold />
        {only("attention", "trouble", "warning") && <Attention items={attention} />}
        <WallHints />
        {only("recovered", "waiting") && <Rail recovered={recovered} waiting={waiting} all={show !== null} />}
        {on_air.length > 0 && <OnAir items={on_air} heading={show === "off" ? words.wall.off : words.wall.onAir} selected={selected.value} />}
        {nothing && isFiltered() && <p class="muted">{words.wall.nothingFits}</p>}
        {show === "off" && <EndedStreams />}
      </main>
    </>
  );
}

const isFiltered = () => ["show", "label", "q"].some((name) => query.value.get(name));

// Filtered says what is left out, and ends that.
function Filtered() {
  const words = text.value;
  const show = query.value.get("show");
  const typed = query.value.get("q");
  const state = show && (show === "attention" ? words.wall.attention : words.common.states[show as State]);
  if (!show && !typed) return null; // labels are named above
  const what = [state, typed && `“${typed}”`].filter(Boolean).join(words.common.listComma);
  return (
    <p class="filtered">
      <span dir="auto">{words.wall.filter(what)}</span>
      <a class="btn quiet" href={withQuery({ show: null, q: null })}>
        {words.wall.clearFilter}
      </a>
    </p>
  );
}

const EndedStreams = () => (
  <a class="btn" href="/ended">
    {text.value.wall.endedStreams}
  </a>
);

// Attention keeps its order while the pointer or the focus is on it: nothing moves away under a hand.
function Attention({ items: all }: { items: readonly Item[] }) {
  const pointed = useSignal(false);
  const focused = useSignal(false);
  const held = pointed.value || focused.value;
  const shown = useRef<readonly string[]>([]);
  const taken = useRef<ReadonlySet<string>>(new Set()); // of those shown, what somebody has
  const again = useSignal(0);
  again.value;
  const result = resort(shown.current.filter((id) => byID.value.has(id)), all.map((i) => i.id), held);
  if (!held || shown.current.length === 0) taken.current = new Set(all.filter(hasOwner).map((i) => i.id));
  shown.current = result.shown;
  const refresh = () => ((shown.current = []), again.value++);
  useEffect(() => onKey("r", refresh), []);
  const drawn = result.shown.slice(0, most).map((id) => byID.value.get(id)!);
  if (drawn.length === 0) return query.value.get("show") || query.value.get("q") ? null : <Calm />;
  const [free, owned] = [drawn.filter((i) => !taken.current.has(i.id)), drawn.filter((i) => taken.current.has(i.id))];
  const words = text.value.wall;
  return (
    <section
      class="section"
      onMouseEnter={() => (pointed.value = true)}
      onMouseLeave={() => (pointed.value = false)}
      onFocusCapture={() => (focused.value = true)}
      onBlurCapture={(e) => !e.currentTarget.contains(e.relatedTarget as Node | null) && (focused.value = false)}
    >
      {(free.length > 0 || result.waiting > 0) && (
        <Tiles id="attention-title" heading={words.attention} count={all.filter((i) => !hasOwner(i)).length} items={free} large={largest}>
          {!sound.value && <SoundIsOff />}
          <span class="end" aria-live="polite">
            {result.waiting > 0 && (
              <button class="new-pill" type="button" onClick={refresh}>
                <Glyph name="up" />
                {words.newOnes(result.waiting)}
              </button>
            )}
          </span>
        </Tiles>
      )}
      {owned.length > 0 && <Tiles id="taken-title" heading={words.taken} count={all.filter(hasOwner).length} items={owned} large={0} />}
      {all.length > most && (
        <a class="btn" href="/incidents?state=open">
          {words.more(all.length - most)}
        </a>
      )}
    </section>
  );
}

const hasOwner = (item: Item) => Boolean(item.incident && isTaken(item.incident));

interface TilesProps {
  id: string;
  heading: string;
  count: number;
  items: readonly Item[];
  large: number; // so many of the first have all pictures
  children?: ComponentChildren;
}

function Tiles({ id, heading, count, items: drawn, large, children }: TilesProps) {
  return (
    <section class="section" aria-labelledby={id}>
      <div class="section-head">
        <h2 id={id}>
          {heading} <span>{count}</span>
        </h2>
        {children}
      </div>
      <div class="tiles">
        {drawn.map((item, i) => (
          <Tile key={item.id} item={item} large={i < large} selected={item.id === selected.value} selectBox={selectBox.value} />
        ))}
      </div>
    </section>
  );
}

// SoundIsOff is said only while something needs somebody.
function SoundIsOff() {
  return (
    <button class="btn word is-warning" type="button" onClick={toggleSound}>
      <Glyph name="bellOff" />
      {text.value.shell.soundOff}
    </button>
  );
}

// useKeys moves through all streams of the wall: what needs somebody first.
function useKeys(): void {
  useEffect(() => {
    const tiles = () => [...document.querySelectorAll("article[id^='tile-']")].map((tile) => tile.id.slice("tile-".length));
    const all = () => [...tiles(), ...wanted.value.on_air.map((i) => i.id)];
    const move = (by: number) => {
      const list = all();
      const next = list[Math.min(list.length - 1, Math.max(0, list.indexOf(selected.value) + by))];
      if (!next) return;
      selected.value = next;
      document.getElementById(`tile-${next}`)?.scrollIntoView({ block: "nearest" });
    };
    const current = () => (all().includes(selected.value) ? byID.value.get(selected.value) : undefined);
    const ends = [
      onKey("j", () => move(1)),
      onKey("k", () => move(-1)),
      onKey("Enter", () => {
        const item = current();
        if (item) navigate(item.incident?.state === "open" ? `/incidents/${item.incident.incident_id}` : `/monitors/${item.id}`);
      }),
      onKey("a", () => {
        const incident = current()?.incident;
        if (incident?.state === "open" && !isTaken(incident)) acknowledge(incident.incident_id);
      }),
      onKey("s", () => current()?.incident?.state === "open" && silence(selected.value)),
      onKey("x", () => !inRoom.peek() && current() && select(selected.value)),
      onKey("p", () => current() && togglePinned(selected.value)),
      onKey("f", () => (inRoom.value ? leaveRoom() : enterRoom())),
      onKey("v", () => setQuery({ view: query.value.get("view") === "rows" ? null : "rows" }, "replace")),
    ];
    return () => ends.forEach((end) => end());
  }, []);
}

function Running({ what, how }: { what: string; how: string }) {
  return (
    <li class="is-on_air">
      <Glyph name="check" />
      <p>
        <b>{what}</b>
        <small>{how}</small>
      </p>
    </li>
  );
}

function Empty() {
  const words = text.value.wall;
  return (
    <main class="main" id="main">
      <div class="first-run">
        <div>
          <h1>{words.empty}</h1>
          <p class="lead">{words.emptyText}</p>
          <p class="actions">
            <a class="btn primary" href="/register">
              <Glyph name="plus" />
              {words.register}
            </a>
            <EndedStreams />
          </p>
          <ul class="running">
            {isLive.value && <Running what={words.gateway} how={words.gatewayText} />}
            {isChecked.value && <Running what={words.workers} how={words.workersText} />}
          </ul>
        </div>
        <div class="ghosts" aria-hidden="true">
          {[1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => (
            <div key={n}>
              <span>{String(n).padStart(3, "0")}</span>
            </div>
          ))}
        </div>
      </div>
    </main>
  );
}
