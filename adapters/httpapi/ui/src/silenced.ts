// Which open incidents a silence holds back, and whether one holds back everything. The feed does not tell it, so it is asked for while somebody looks.
import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get } from "./api";
import { incidents, isLive } from "./store";

const readEveryMs = 30_000;

// Held is the silence that holds an incident back.
export interface Held {
  by: string;
  until: string | null; // null: that is not known
}

export const silenced = signal<ReadonlyMap<string, Held>>(new Map()); // by the ID of the incident

// everything is the silence of every incident of every stream that holds back the longest; null: none does.
export const everything = signal<Held | null>(null);

interface Silence {
  everything?: boolean;
  by: string;
  next_at: string | null;
  incidents?: string[];
}

// heldBy returns the silence that holds each incident back for the longest.
export function heldBy(silences: Silence[]): Map<string, Held> {
  const held = new Map<string, Held>();
  for (const { by, next_at: until, incidents: ids } of silences) {
    for (const id of ids ?? []) {
      const other = held.get(id);
      if (!other || endOf(until) > endOf(other.until)) held.set(id, { by, until });
    }
  }
  return held;
}

// endOf orders the ends of silences: one that is not known comes last.
const endOf = (until: string | null) => (until === null ? Infinity : Date.parse(until));

// readSilenced asks for the silences. A failure leaves what was known.
export async function readSilenced(): Promise<void> {
  try {
    const { silences } = await get<{ silences: Silence[] }>("/api/v1/silences", { state: "active" });
    silenced.value = heldBy(silences);
    const [longest] = silences.filter((s) => s.everything).sort((a, b) => endOf(b.next_at) - endOf(a.next_at));
    everything.value = longest ? { by: longest.by, until: longest.next_at } : null;
  } catch {
    // It is asked again.
  }
}

let watchers = 0;
let stop = () => {};

// useSilenced keeps both as they are at the gateway.
export function useSilenced(): void {
  useEffect(() => {
    if (watchers++ === 0) stop = watch();
    return () => void (--watchers === 0 && stop());
  }, []);
}

function watch(): () => void {
  const wanted = () => isLive.peek() && !document.hidden;
  const read = () => void (wanted() && readSilenced());
  const timer = setInterval(read, readEveryMs);
  const end = effect(() => {
    incidents.keys.value;
    setTimeout(read);
  });
  return () => {
    clearInterval(timer);
    end();
  };
}
