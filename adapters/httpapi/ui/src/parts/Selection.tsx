import "../styles/selection.css";
import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Action } from "../bulk";
import { text } from "../i18n";
import { onKey } from "../keyboard";
import { grouped } from "../labels";
import { inRoom } from "../room";
import { path, query } from "../router";
import { chosen } from "../selection";
import { groupOfItem, wanted } from "../wallmodel";
import { BulkForm } from "./BulkForm";
import { BulkRun, newestRun } from "./BulkRun";
import { Glyph } from "./Glyph";
import type { GlyphName } from "./glyphs";
import { nameOfID } from "./Streams";

let last = ""; // the stream at which a range begins

// shown are the ids of all streams that fit the filters, in the order in which they stand on the wall.
function shown(): string[] {
  const { attention, recovered, waiting, on_air } = wanted.value;
  const onAir = query.value.has("group") ? grouped(on_air, groupOfItem).flatMap(([, of]) => of) : on_air;
  const tiles = [...document.querySelectorAll("article[id^='tile-']")].map((tile) => tile.id.slice("tile-".length));
  return [...new Set([...tiles, ...[...attention, ...recovered, ...waiting, ...onAir].map((i) => i.id)])];
}

function set(ids: readonly string[], on: boolean): void {
  const next = new Set(chosen.peek());
  for (const id of ids) next[on ? "add" : "delete"](id);
  chosen.value = next;
}

// toggle selects a stream, or no longer does. Without one it begins.
export function toggle(id?: string): void {
  if (id) last = id;
  set(id ? [id] : [], !chosen.peek()?.has(id!));
}

// SelectBox is the checkbox of a stream. With Shift it takes all from the one before.
export function SelectBox({ id }: { id: string }) {
  const on = useComputed(() => chosen.value?.has(id) ?? false);
  const click = (event: MouseEvent) => {
    const all = shown();
    const ends = [all.indexOf(last), all.indexOf(id)].sort((a, b) => a - b);
    const range = event.shiftKey && ends[0]! >= 0 ? all.slice(ends[0], ends[1]! + 1) : [id];
    set(range, (event.currentTarget as HTMLInputElement).checked);
    last = id;
  };
  return (
    <label class="select-box" onMouseDown={(e) => e.shiftKey && e.preventDefault()}>
      <input type="checkbox" aria-label={text.value.selection.one(nameOfID(id))} checked={on.value} onClick={click} />
    </label>
  );
}

const actions: [Action["kind"], GlyphName][] = [
  ["pause", "pause"],
  ["resume", "ok"],
  ["move", "waiting"],
  ["change", "list"],
  ["label", "flag"],
  ["silence", "mute"],
  ["stop", "stop"],
];

// Bar says how many are selected and offers what can be done with them; then it shows how that goes, on every page.
export function Bar() {
  if (newestRun.value) return <BulkRun />;
  if (!chosen.value || path.value !== "/" || inRoom.value) return null;
  return <Offer ids={[...chosen.value]} />;
}

function end(): void {
  chosen.value = null;
  document.querySelector<HTMLElement>(".select button")?.focus();
}

function Offer({ ids }: { ids: readonly string[] }) {
  const words = text.value.selection;
  const action = useSignal<Action["kind"] | null>(null);
  useEffect(() => onKey("Escape", end), []);
  const all = shown();
  const hidden = ids.filter((id) => !all.includes(id)).length;
  const whole = all.length > 0 && all.every((id) => chosen.value!.has(id));
  return (
    <section class="selected-bar" aria-label={words.label}>
      <p role="status">
        <b class="num">{words.count(ids.length)}</b>
        {hidden > 0 && <small>{words.hidden(hidden)}</small>}
      </p>
      <button class="btn" type="button" onClick={() => (whole ? (chosen.value = new Set()) : set(all, true))}>
        {whole ? words.none : words.all(all.length)}
      </button>
      <div class="selected-actions" role="group" aria-label={words.what}>
        {actions.map(([kind, glyph]) => (
          <button key={kind} class="btn" type="button" disabled={ids.length === 0} onClick={() => (action.value = kind)}>
            <Glyph name={glyph} />
            {words.actions[kind]}
          </button>
        ))}
      </div>
      <button class="btn quiet end" type="button" onClick={end}>
        {words.end} <kbd class="not-phone">Esc</kbd>
      </button>
      {action.value && <BulkForm kind={action.value} ids={ids} close={() => (action.value = null)} />}
    </section>
  );
}
