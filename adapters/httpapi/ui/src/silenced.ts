// Which open incidents a silence holds back. The feed does not tell it, so it is asked for while somebody looks.
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

// readSilenced asks for the silences. A failure leaves what was known.
export async function readSilenced(): Promise<void> {
  try {
    const { silences } = await get<{ silences: { by: string; next_at: string | null; incidents?: string[] }[] }>("/api/v1/silences", { state: "active" });
    silenced.value = new Map(silences.flatMap((s) => (s.incidents ?? []).map((id) => [id, { by: s.by, until: s.next_at }] as const)));
  } catch {
    // It is asked again.
  }
}

let watchers = 0;
let stop = () => {};

// useSilenced keeps silenced as it is at the gateway while there is an open incident to show.
export function useSilenced(): void {
  useEffect(() => {
    if (watchers++ === 0) stop = watch();
    return () => void (--watchers === 0 && stop());
  }, []);
}

function watch(): () => void {
  const wanted = () => isLive.peek() && !document.hidden && incidents.values().some((i) => i.state === "open");
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
