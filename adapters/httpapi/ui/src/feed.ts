// A page's end of the feed: a SharedWorker has the connection, or the page itself where there is none.
import { Connection, type Link } from "./connection";
import { browser } from "./eventsource";
import type { Message } from "./types";
import workerURL from "./feed.worker?sharedworker&url";

export type ToFeed = "join" | "leave" | "retry";
export type FromFeed = { kind: "messages"; messages: Message[] } | { kind: "link"; link: Link };

export interface Feed {
  retry(): void;
}

export function startFeed(onMessages: (messages: Message[]) => void, onLink: (link: Link) => void): Feed {
  const worker = sharedWorker();
  if (!worker) {
    const connection = new Connection(browser, onMessages, onLink);
    connection.connect();
    return { retry: () => connection.connect() };
  }
  const { port } = worker;
  const send = (what: ToFeed) => port.postMessage(what);
  port.onmessage = ({ data }: MessageEvent<FromFeed>) => (data.kind === "messages" ? onMessages(data.messages) : onLink(data.link));
  send("join");
  // A tab that was put away and comes back joins again, and hears everything anew.
  addEventListener("pagehide", () => send("leave"));
  addEventListener("pageshow", (event) => event.persisted && send("join"));
  return { retry: () => send("retry") };
}

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}

// sharedWorker is null where the browser has none. The Content-Security-Policy allows one policy, for this one URL.
function sharedWorker(): SharedWorker | null {
  try {
    const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
    const url = types ? types.createPolicy("feed", { createScriptURL: () => workerURL }).createScriptURL(workerURL) : workerURL;
    return new SharedWorker(url, { type: "module", name: "feed" });
  } catch {
    return null;
  }
}
