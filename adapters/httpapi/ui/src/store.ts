// What the pages show of the feed, as signals: a page that shows one monitor is drawn anew only when that one changes.
import { batch, computed, effect, signal, type Signal } from "@preact/signals";
import type { Link } from "./connection";
import { FeedState } from "./feedstate";
import { needsSomebody } from "./incident";
import type { Checker, DeliveryUpdate, Incident, Message, Monitor } from "./types";

// Table is a set of objects by id. keys changes only when an object comes or goes.
export class Table<T> {
  readonly rows = new Map<string, Signal<T>>();
  readonly keys = signal<readonly string[]>([]);

  // get of an object that is not there yet depends on keys, so that its reader hears when it comes.
  get(id: string): T | undefined {
    const row = this.rows.get(id);
    if (!row) this.keys.value;
    return row?.value;
  }

  values(): T[] {
    return this.keys.value.map((id) => this.rows.get(id)!.value);
  }

  set(id: string, value: T): void {
    const row = this.rows.get(id);
    if (row) row.value = value;
    else {
      this.rows.set(id, signal(value));
      this.keys.value = [...this.keys.peek(), id];
    }
  }

  delete(ids: readonly string[]): void {
    if (ids.length === 0) return;
    for (const id of ids) this.rows.delete(id);
    this.keys.value = [...this.rows.keys()];
  }

  // keep forgets what all does not have.
  keep(all: ReadonlyMap<string, unknown>): void {
    this.delete([...this.rows.keys()].filter((id) => !all.has(id)));
  }

  replace(all: ReadonlyMap<string, T>): void {
    for (const id of this.rows.keys()) if (!all.has(id)) this.rows.delete(id);
    for (const [id, value] of all) {
      const row = this.rows.get(id);
      if (row) row.value = value;
      else this.rows.set(id, signal(value));
    }
    this.keys.value = [...this.rows.keys()];
  }
}

const mostBeats = 24;

const state = new FeedState();
export const monitors = new Table<Monitor>();
export const incidents = new Table<Incident>();
export const thumbnails = new Table<string>(); // when the newest picture of a monitor was taken
export const deliveries = signal<ReadonlyMap<string, DeliveryUpdate>>(new Map());
export const evidenceAdded = new Table<number>(); // how many files were announced, of each monitor
export const loaded = signal(false);
export const replaced = signal(0); // counts state.replace
export const revision = signal(0); // counts batches that changed monitors or incidents

// unowned is how many incidents need somebody.
export const unowned = computed(() => incidents.values().filter(needsSomebody).length);

export const link = signal<Link>({ state: "connecting", heardAt: 0, retryAt: 0, attempts: 0 });
export const checker = signal<Checker | null | undefined>(undefined); // null: the gateway's database does not answer
export const heardAt = signal(0); // server's time of the newest heartbeat
export interface Beat {
  late: boolean; // the heartbeat came more than 7 s after the one before
  checker: "good" | "late" | "unknown";
}
export const beats = signal<readonly Beat[]>([]);

// skew is how much the server's clock is ahead of this browser's, in ms.
export const skew = signal(0);
// now is the server's time as of the last second. It stands still while the link is lost.
export const now = signal(Date.now());

// tick is this browser's time, also without a link.
export const tick = signal(Date.now());

const longestGapMs = 16_000;

// isLive is false without a heartbeat for longer than the watchdog allows, whatever the feed's connection says.
export const isLive = computed(() => link.value.state === "live" && tick.value - link.value.heardAt < longestGapMs);

export function receive(messages: Message[]): void {
  batch(() => {
    let changed = false;
    for (const message of messages) changed = take(message) || changed;
    if (changed) revision.value++;
  });
}

function take(message: Message): boolean {
  if (!state.apply(message)) return false;
  switch (message.type) {
    case "state.replace":
      monitors.replace(state.monitors);
      incidents.replace(state.incidents);
      thumbnails.keep(state.monitors);
      evidenceAdded.keep(state.monitors);
      deliveries.value = new Map(state.deliveries);
      loaded.value = true;
      replaced.value++;
      return true;
    case "monitor.updated":
      monitors.set(message.data.monitor_id, message.data);
      return true;
    case "incident.updated":
      incidents.set(message.data.incident_id, message.data);
      return true;
    case "delivery.updated":
      deliveries.value = new Map(state.deliveries);
      return false;
    case "evidence.added":
      evidenceAdded.set(message.data.monitor_id, (evidenceAdded.rows.get(message.data.monitor_id)?.peek() ?? 0) + 1);
      return false;
    case "thumbnail.updated":
      thumbnails.set(message.data.monitor_id, message.data.taken_at);
      return false;
    case "heartbeat":
      beat(message.at, message.heardAt ?? Date.now(), message.data.checker);
      return false;
    default:
      return false;
  }
}

function beat(at: string, heard: number, newest: Checker | null): void {
  const server = Date.parse(at);
  const gap = heardAt.peek() ? server - heardAt.peek() : 5000;
  heardAt.value = server;
  skew.value = server - heard;
  checker.value = newest;
  const seen: Beat = { late: gap > 7000, checker: newest === null ? "unknown" : newest.late > 0 ? "late" : "good" };
  beats.value = [...beats.peek(), seen].slice(-mostBeats);
}

// keep adds incidents that were resolved before the page was opened, for the list of recovered streams.
export function keep(resolved: Incident[]): void {
  batch(() => {
    for (const incident of resolved) {
      if (state.incidents.has(incident.incident_id)) continue;
      state.incidents.set(incident.incident_id, incident);
      incidents.set(incident.incident_id, incident);
    }
    revision.value++;
  });
}

// startClock moves now once a second while the page is visible and the link is live.
export function startClock(): void {
  const move = () => {
    if (document.hidden) return;
    batch(() => {
      tick.value = Date.now();
      if (!isLive.value) return;
      now.value = Date.now() + skew.peek();
      const gone = state.forget(now.peek());
      monitors.delete(gone.monitors);
      thumbnails.delete(gone.monitors);
      evidenceAdded.delete(gone.monitors);
      incidents.delete(gone.incidents);
      if (gone.monitors.length + gone.incidents.length > 0) revision.value++;
    });
  };
  setInterval(move, 1000);
  document.addEventListener("visibilitychange", move);
  effect(() => {
    heardAt.value; // each heartbeat tells the server's time
    if (link.value.state === "live") move();
  });
}

const lateIDs = computed(() => new Set(checker.value?.late_monitors));

// isLate reports whether nobody has looked at a stream in time, as far as is known: the checker names only the first of many
// late ones, and without a database nothing is confirmed.
export function isLate(monitorID: string): boolean {
  const newest = checker.value;
  if (newest === undefined) return false; // not heard yet
  return newest === null || newest.late > newest.late_monitors.length || lateIDs.value.has(monitorID);
}

// isChecked reports whether every stream was looked at in time, as of now.
export const isChecked = computed(() => isLive.value && checker.value?.late === 0);

// asOf is the server's time until which everything shown was true.
export const asOf = computed(() => heardAt.value || now.value);
