import "../styles/wall.css";
import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { acknowledge } from "../actions";
import { text } from "../i18n";
import { onKey } from "../keyboard";
import { Glyph } from "../parts/Glyph";
import { OnAir } from "../parts/OnAir";
import { Rail } from "../parts/Rail";
import { Status } from "../parts/Status";
import { Strip } from "../parts/Strip";
import { Tile } from "../parts/Tile";
import { navigate, query, setQuery, withQuery } from "../router";
import { togglePinned } from "../settings";
import { checker, loaded } from "../store";
import { useTitle } from "../title";
import { resort, type Item, type State } from "../wall";
import { byID, items, startWall, wanted } from "../wallmodel";

const selected = signal("");
const largest = 2; // tiles with both pictures; the others are compact
const most = 30; // tiles at all; a storm has its own page

export function Wall() {
  useEffect(() => startWall(), []);
  useKeys();
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
  const { attention, recovered, waiting, on_air } = wanted.value;
  const nothing = attention.length + recovered.length + waiting.length + on_air.length === 0;
  return (
    <>
      <Status />
      <Strip />
      <main class="main" id="main">
        <h1 class="hidden-text">{words.wall.title}</h1>
        <Filtered />
        {only("attention", "trouble", "warning") && <Attention items={attention} />}
        {only("recovered", "waiting") && <Rail recovered={recovered} waiting={waiting} all={show !== null} />}
        {on_air.length > 0 && <OnAir items={on_air} heading={show === "off" ? words.wall.off : words.wall.onAir} selected={selected.value} />}
        {nothing && isFiltered() && <p class="muted">{words.wall.nothingFits}</p>}
      </main>
    </>
  );
}

const isFiltered = () => ["show", "group", "q"].some((name) => query.value.get(name));

// Filtered says what is left out, and ends that.
function Filtered() {
  const words = text.value;
  if (!isFiltered()) return null;
  const show = query.value.get("show");
  const typed = query.value.get("q");
  const state = show && (show === "attention" ? words.wall.attention : words.common.states[show as State]);
  const what = [state, query.value.get("group"), typed && `“${typed}”`].filter(Boolean).join(words.common.listComma);
  return (
    <p class="filtered">
      <span dir="auto">{words.wall.filter(what)}</span>
      <a class="btn quiet" href={withQuery({ show: null, group: null, q: null })}>
        {words.wall.clearFilter}
      </a>
    </p>
  );
}

// Attention keeps its order while the pointer or the focus is on it: nothing moves away under a hand.
function Attention({ items: all }: { items: readonly Item[] }) {
  const words = text.value.wall;
  const held = useSignal(false);
  const shown = useRef<readonly string[]>([]);
  const again = useSignal(0);
  again.value;
  const order = all.map((i) => i.id);
  const result = resort(shown.current.filter((id) => byID.value.has(id)), order, held.value);
  shown.current = result.shown;
  useEffect(() => onKey("r", () => ((shown.current = []), again.value++)), []);
  const drawn = result.shown.map((id) => byID.value.get(id)!).filter(Boolean);
  if (drawn.length === 0) {
    if (isFiltered()) return null;
    return (
      <section class="section calm">
        <Glyph name="check" />
        <p>
          <b>{words.nobody}</b> <span class="muted">{checker.value && words.nobodyText(checker.value.watched)}</span>
        </p>
      </section>
    );
  }
  return (
    <section
      class="section"
      aria-labelledby="attention-title"
      onMouseEnter={() => (held.value = true)}
      onMouseLeave={() => (held.value = false)}
      onFocusCapture={() => (held.value = true)}
      onBlurCapture={(e) => !e.currentTarget.contains(e.relatedTarget as Node | null) && (held.value = false)}
    >
      <div class="section-head">
        <h2 id="attention-title">
          {words.attention} <span>{all.length}</span>
        </h2>
        <span class="end" aria-live="polite">
          {result.waiting > 0 && (
            <button class="new-pill" type="button" onClick={() => ((shown.current = []), again.value++)}>
              <Glyph name="up" />
              {words.newOnes(result.waiting)}
            </button>
          )}
        </span>
      </div>
      <div class="tiles">
        {drawn.slice(0, most).map((item, i) => (
          <Tile key={item.id} item={item} large={i < largest} selected={item.id === selected.value} />
        ))}
      </div>
      {drawn.length > most && (
        <a class="btn" href="/incidents?state=open">
          {words.more(drawn.length - most)}
        </a>
      )}
    </section>
  );
}

// useKeys moves through all streams of the wall: what needs somebody first.
function useKeys(): void {
  useEffect(() => {
    const all = () => [...wanted.value.attention, ...wanted.value.on_air];
    const move = (by: number) => {
      const list = all();
      const at = list.findIndex((i) => i.id === selected.value);
      const next = list[Math.min(list.length - 1, Math.max(0, at + by))];
      if (!next) return;
      selected.value = next.id;
      document.getElementById(`tile-${next.id}`)?.scrollIntoView({ block: "nearest" });
    };
    const current = () => byID.value.get(selected.value);
    const ends = [
      onKey("j", () => move(1)),
      onKey("k", () => move(-1)),
      onKey("Enter", () => {
        const item = current();
        if (item) navigate(item.incident?.state === "open" ? `/incidents/${item.incident.incident_id}` : `/monitors/${item.id}`);
      }),
      onKey("a", () => {
        const incident = current()?.incident;
        if (incident?.state === "open" && !incident.acknowledged_at) acknowledge(incident.incident_id);
      }),
      onKey("p", () => selected.value && togglePinned(selected.value)),
      onKey("v", () => setQuery({ view: query.value.get("view") === "rows" ? null : "rows" }, "replace")),
    ];
    return () => ends.forEach((end) => end());
  }, []);
}

function Empty() {
  const words = text.value.wall;
  return (
    <main class="main" id="main">
      <div class="first-run">
        <div>
          <h1>{words.empty}</h1>
          <p class="lead">{words.emptyText}</p>
          <a class="btn primary" href="/register">
            <Glyph name="plus" />
            {words.register}
          </a>
          <ul class="running">
            <li class="is-on_air">
              <Glyph name="check" />
              <p>
                <b>{words.gateway}</b>
                <small>{words.gatewayText}</small>
              </p>
            </li>
            <li class="is-on_air">
              <Glyph name="check" />
              <p>
                <b>{words.workers}</b>
                <small>{words.workersText}</small>
              </p>
            </li>
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
