// The wall's items as signals, computed at most once a second however many changes arrive.
import { batch, effect, signal, untracked } from "@preact/signals";
import { hasLabels, known, valueOf, wantedLabels } from "./labels";
import { channelOf, nameOf, titleOf } from "./names";
import { query } from "./router";
import { pinned } from "./settings";
import { checker, incidents, isLate, monitors, now, replaced, revision } from "./store";
import { byNumber, compare, isTold, lasting, matches, newestIncidents, numberOf, since, states, stateOf, stripOf, unownedFirst, type Cells, type Item, type State } from "./wall";

const computeEveryMs = 1000;

export const items = signal<readonly Item[]>([]); // all, by number
export const strip = signal<readonly (readonly [string, Cells])[]>([]); // by name of the group
export const counts = signal<Record<State, number>>(zero());
export const wanted = signal<Record<"attention" | "recovered" | "waiting" | "on_air", readonly Item[]>>({ attention: [], recovered: [], waiting: [], on_air: [] });
export const labels = signal<ReadonlyMap<string, readonly string[]>>(new Map()); // the values of each label, by name
export const byID = signal<ReadonlyMap<string, Item>>(new Map());

export const selected = signal(""); // by the keys: the id of an item

function zero(): Record<State, number> {
  return { trouble: 0, warning: 0, recovered: 0, waiting: 0, on_air: 0, paused: 0, off: 0 };
}

function collect(): Item[] {
  const all = monitors.values();
  const newest = newestIncidents(incidents.values());
  // A monitor that failed may be forgotten before its incident is acknowledged.
  const orphans = [...newest.values()].filter((i) => i.state === "open" && !monitors.rows.has(i.monitor_id));
  const item = (id: string, monitor: Item["monitor"], incident: Item["incident"]): Item => {
    const state = stateOf(monitor, incident, now.peek());
    return asBefore({
      id,
      number: numberOf(monitor, now.peek()),
      state,
      monitor,
      incident,
      condition: lasting(monitor, incident),
      since: since(state, monitor, incident),
      pinned: pinned.value.includes(id),
      late: state !== "off" && isLate(id),
    });
  };
  return [
    ...all.map((m) => item(m.monitor_id, m, newest.get(m.monitor_id) ?? null)),
    ...orphans.map((i) => item(i.monitor_id, null, i)),
  ].sort(byNumber);
}

// asBefore is the item of the last time if nothing of it changed, so that its row is not drawn anew.
function asBefore(item: Item): Item {
  const before = byID.peek().get(item.id);
  return before && (Object.keys(item) as (keyof Item)[]).every((key) => before[key] === item[key]) ? before : item;
}

function compute(): void {
  const all = collect();
  const asked = wantedLabels();
  const part = Object.keys(asked).length > 0;
  const seen = part ? all.filter((i) => hasLabels(i.monitor, asked)) : all;
  const sums = zero();
  for (const item of seen) if (item.state !== "on_air" || !item.late) sums[item.state]++; // no trouble, but as of when?
  const show = query.value.get("show");
  const words = query.value.get("q") ?? "";
  const chosen = seen.filter((i) => (!show || i.state === show || (show === "attention" && isAttention(i))) && matches(i, words, textsOf(i)));
  const named = known(all.map((i) => i.monitor));
  const of = (...wantedStates: State[]) => chosen.filter((i) => wantedStates.includes(i.state)).sort(compare);
  const pinnedByNumber = (a: Item, b: Item) => Number(b.pinned) - Number(a.pinned) || byNumber(a, b);
  const byName = (a: Item, b: Item) => Number(b.pinned) - Number(a.pinned) || nameOfItem(a).localeCompare(nameOfItem(b));
  const onAir = chosen.filter((i) => i.state === "on_air" || i.state === "paused" || (i.condition && !isTold(i.condition)) || (show === "off" && i.state === "off"));
  batch(() => {
    items.value = all;
    strip.value = stripOf(seen, groupOfItem, part);
    counts.value = states.every((s) => sums[s] === counts.peek()[s]) ? counts.peek() : sums;
    if (JSON.stringify([...named]) !== JSON.stringify([...labels.peek()])) labels.value = named;
    byID.value = new Map(all.map((i) => [i.id, i]));
    wanted.value = {
      attention: unownedFirst(of("trouble", "warning").filter((i) => isTold(i.condition))),
      recovered: of("recovered"),
      waiting: of("waiting"),
      on_air: onAir.sort(query.value.get("order") === "name" ? byName : pinnedByNumber),
    };
  });
}

export const groupOfItem = (item: Item) => valueOf(item.monitor, query.value.get("group"));

const isAttention = (i: Item) => i.state === "trouble" || i.state === "warning";

export function nameOfItem(item: Item): string {
  return nameOf(item.monitor ?? { stream_url: item.incident?.stream_url ?? "" });
}

function textsOf(item: Item): string[] {
  if (!item.monitor) return [item.incident?.stream_url ?? ""];
  return [channelOf(item.monitor), titleOf(item.monitor), item.monitor.stream_url, item.id];
}

// startWall computes the wall when something changes: at once after a second of quiet, else at the end of the second. A whole
// state and another address never wait.
export function startWall(): () => void {
  let due: ReturnType<typeof setTimeout> | null = null;
  let computedAt = -Infinity;
  let computedFor: URLSearchParams | null = null;
  let computedWith = 0; // the state that replaced all
  const run = () => {
    if (due !== null) clearTimeout(due);
    due = null;
    computedAt = performance.now();
    computedFor = query.peek();
    computedWith = replaced.peek();
    untracked(compute);
  };
  const stop = effect(() => {
    revision.value;
    pinned.value;
    checker.value;
    if (query.value !== computedFor || replaced.value !== computedWith) run(); // a person waits for it
    else if (due === null) {
      const wait = computedAt + computeEveryMs - performance.now();
      if (wait <= 0) run();
      else due = setTimeout(run, wait);
    }
  });
  return () => {
    stop();
    if (due !== null) clearTimeout(due);
  };
}
