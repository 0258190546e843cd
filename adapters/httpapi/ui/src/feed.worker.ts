// One connection for all tabs: over HTTP/1.1 a browser opens six connections to a host, so the seventh tab would hang.
import { Connection } from "./connection";
import { browser } from "./eventsource";
import type { FromFeed, ToFeed } from "./feed";

const ports = new Set<MessagePort>();
const tell = (what: FromFeed) => ports.forEach((port) => port.postMessage(what));

const connection = new Connection(
  browser,
  (messages) => tell({ kind: "messages", messages }),
  (link) => tell({ kind: "link", link }),
);

addEventListener("connect", (event) => {
  const port = (event as MessageEvent).ports[0]!;
  port.onmessage = ({ data }: MessageEvent<ToFeed>) => {
    switch (data) {
      case "join":
        ports.add(port);
        connection.state.forget(Date.now());
        port.postMessage({ kind: "messages", messages: connection.state.snapshot() } satisfies FromFeed);
        port.postMessage({ kind: "link", link: connection.link } satisfies FromFeed);
        if (connection.link.state !== "live") connection.connect();
        break;
      case "leave":
        ports.delete(port);
        break;
      case "retry":
        connection.connect();
        break;
    }
  };
});
