// The browser behind a Connection.
import type { Environment, Source } from "./connection";
import type { Message } from "./types";

const types: Message["type"][] = ["monitor.updated", "incident.updated", "delivery.updated", "evidence.added", "thumbnail.updated", "state.replace", "heartbeat", "bye"];

function open(url: string, heard: (message: Message) => void, failed: () => void): Source {
  const source = new EventSource(url);
  for (const type of types) source.addEventListener(type, (event) => heard({ ...JSON.parse((event as MessageEvent<string>).data), type } as Message));
  source.onerror = failed;
  return source;
}

async function sessionEnded(): Promise<boolean> {
  try {
    return (await fetch("/api/v1/session", { signal: AbortSignal.timeout(5_000) })).status === 401;
  } catch {
    return false;
  }
}

export const browser: Environment = {
  open,
  sessionEnded,
  now: () => Date.now(),
  after: (ms, run) => setTimeout(run, ms),
  cancel: (timer) => clearTimeout(timer as number),
  random: () => Math.random(),
};
