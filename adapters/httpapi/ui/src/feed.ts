// A page's end of the feed: a SharedWorker has the connection, or the page itself where there is none.
import { Connection, silenceMs, type Link } from "./connection";
import { browser } from "./eventsource";
import type { Message } from "./types";
import workerURL from "./feed.worker?sharedworker&url";

export type ToFeed = "join" | "leave" | "retry";
export type FromFeed = { kind: "messages"; messages: Message[] } | { kind: "link"; link: Link };

export interface Feed {
  retry(): void;
}

// A worker says something every 5 s, or after silenceMs that the gateway is lost. One that is silent for longer could not be loaded, or died.
const workerSilenceMs = silenceMs + 5_000;

export function startFeed(onMessages: (messages: Message[]) => void, onLink: (link: Link) => void): Feed {
  let port: MessagePort;
  let watchdog: ReturnType<typeof setTimeout>;
  const send = (what: ToFeed) => port.postMessage(what);
  const watch = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => {
      send("leave");
      join();
    }, workerSilenceMs);
  };
  const join = () => {
    port = sharedWorker().port;
    port.onmessage = ({ data }: MessageEvent<FromFeed>) => {
      watch();
      if (data.kind === "messages") return onMessages(data.messages);
      if (data.link.state === "signed-out") clearTimeout(watchdog);
      onLink(data.link);
    };
    send("join");
    watch();
  };
  try {
    join();
  } catch {
    const connection = new Connection(browser, onMessages, onLink);
    connection.connect();
    return { retry: () => connection.connect() };
  }
  // A tab that was put away and comes back joins again, and hears everything anew.
  addEventListener("pagehide", () => send("leave"));
  addEventListener("pageshow", (event) => event.persisted && send("join"));
  return { retry: () => send("retry") };
}

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}

// sharedWorker joins the worker of this browser, or starts it. It throws where the browser has none.
function sharedWorker(): SharedWorker {
  return new SharedWorker(trustedURL(), { type: "module", name: "feed" });
}

let trusted: string | undefined;

// trustedURL is workerURL as the Content-Security-Policy demands it: by one policy, for this one URL.
function trustedURL(): string {
  const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
  return (trusted ??= types ? types.createPolicy("feed", { createScriptURL: () => workerURL }).createScriptURL(workerURL) : workerURL);
}
