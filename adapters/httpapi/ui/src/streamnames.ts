// Names of streams that have ended: incidents have only the id of their monitor.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { APIError, get, monitors as api } from "./api";
import type { Named } from "./names";
import { retryIn } from "./read";
import { monitors } from "./store";

const mostKept = 1000;
const newest = 200; // monitors that one request names

const ended = signal<ReadonlyMap<string, Named | null>>(new Map()); // null: the gateway does not know it
const asked = new Set<string>();
let listed = false;
let reading = false;

// useNames reads the streams of ids that the feed does not name.
export function useNames(ids: readonly string[]): (id: string, streamURL: string) => Named {
  const unknown = ids.filter((id) => !monitors.rows.has(id) && !ended.value.has(id));
  useEffect(() => readNames(unknown, ids), [unknown.join()]);
  monitors.keys.value;
  return namedOf;
}

export const namedOf = (id: string, streamURL: string): Named => monitors.get(id) ?? ended.value.get(id) ?? { stream_url: streamURL };

// readNames reads what is unknown, and forgets what is not shown once too many names are kept.
export function readNames(unknown: readonly string[], shown: readonly string[]): void {
  if (ended.peek().size > mostKept) ended.value = new Map([...ended.peek()].filter(([id]) => shown.includes(id)));
  asked.clear(); // what another page asked for
  for (const id of unknown) asked.add(id);
  if (!reading) void read();
}

// read asks once for the newest monitors, and then for one after the other, so that the rate limit lasts.
async function read(): Promise<void> {
  reading = true;
  try {
    if (!listed) {
      const page = await get<{ monitors: (Named & { monitor_id: string })[] }>("/api/v1/monitors", { limit: newest });
      listed = true;
      learn(page.monitors.map((m) => [m.monitor_id, m]));
    }
    for (const id of asked) {
      if (!monitors.rows.has(id) && !ended.peek().has(id)) learn([[id, await readOne(id)]]);
      asked.delete(id);
    }
  } catch (error) {
    const wait = retryIn(error);
    if (wait !== null) setTimeout(() => void (reading || read()), wait);
  } finally {
    reading = false;
  }
}

const learn = (named: [string, Named | null][]) => (ended.value = new Map([...ended.peek(), ...named]));

async function readOne(id: string): Promise<Named | null> {
  try {
    const { stream_url, number, metadata, labels, channel_id } = await api.read(id);
    return { stream_url, number, metadata, labels, channel_id };
  } catch (error) {
    if (error instanceof APIError && error.status === 404) return null;
    throw error;
  }
}
