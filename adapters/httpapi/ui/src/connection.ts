// The connection of one reader to the feed: reconnects with backoff, and ends a connection that hangs.
import { FeedState } from "./feedstate";
import type { Message } from "./types";

export type LinkState = "connecting" | "live" | "lost" | "signed-out";

export interface Link {
  state: LinkState;
  heardAt: number; // when the newest message came, in ms since 1970; 0: never
  retryAt: number; // when the next attempt is due; 0: none is
  attempts: number; // failed attempts in a row
}

// A gateway that hangs raises no error: its heartbeats of 5 s stay away.
export const silenceMs = 15_000;
const firstBackoffMs = 1_000;
const longestBackoffMs = 5_000; // a wall is not blind for longer once the gateway is back
const batchMs = 200;
const askMs = 3_600_000; // a request in its last six hours renews the session of a page that asks for nothing else

export interface Source {
  close(): void;
}

export interface Environment {
  open(url: string, heard: (message: Message) => void, failed: () => void): Source;
  sessionEnded(): Promise<boolean>;
  now(): number;
  after(ms: number, run: () => void): unknown;
  cancel(timer: unknown): void;
  random(): number;
}

export class Connection {
  readonly state = new FeedState();
  link: Link = { state: "connecting", heardAt: 0, retryAt: 0, attempts: 0 };
  private source: Source | null = null;
  private watchdog: unknown = null;
  private retry: unknown = null;
  private flush: unknown = null;
  private batch: Message[] = [];
  private askedAt: number;

  constructor(
    private readonly env: Environment,
    private readonly onMessages: (messages: Message[]) => void,
    private readonly onLink: (link: Link) => void,
  ) {
    this.askedAt = env.now();
  }

  connect(): void {
    this.close();
    const after = this.state.position ? `&after=${encodeURIComponent(this.state.position)}` : "";
    let source: Source | null = null;
    // A message of a source that was given up is of no use: its successor repeats it.
    const current = (run: () => void) => () => source === this.source && run();
    let heard: Message | null = null;
    const onHeard = current(() => heard && this.hear(heard));
    source = this.env.open(`/api/v1/feed?thumbnails=true${after}`, (message) => ((heard = message), onHeard()), current(() => void this.fail()));
    this.source = source;
    // A gateway greets at once. An attempt that hangs, such as to a host that is away, makes room for the next one.
    this.watch(this.link.attempts > 0 ? longestBackoffMs : silenceMs);
  }

  close(): void {
    this.source?.close();
    this.source = null;
    this.env.cancel(this.watchdog);
    this.env.cancel(this.retry);
  }

  private hear(message: Message): void {
    this.watch();
    if (message.type === "bye") {
      // The gateway stops, or dropped a slow reader: another one is up.
      this.wait(firstBackoffMs * this.env.random());
      return;
    }
    message.heardAt = this.env.now();
    this.set({ state: "live", heardAt: message.heardAt, retryAt: 0, attempts: 0 });
    if (message.type === "heartbeat") {
      this.state.forget(Date.parse(message.at));
      this.renewSession();
    }
    if (!this.state.apply(message)) return;
    if (message.type === "state.replace") this.batch = [];
    this.batch.push(message);
    if (message.type === "heartbeat" || message.type === "state.replace") this.deliver();
    else this.flush ??= this.env.after(batchMs, () => this.deliver());
  }

  private renewSession(): void {
    if (this.env.now() - this.askedAt < askMs) return;
    this.askedAt = this.env.now();
    void this.env.sessionEnded();
  }

  private deliver(): void {
    this.env.cancel(this.flush);
    this.flush = null;
    const messages = this.batch;
    this.batch = [];
    if (messages.length > 0) this.onMessages(messages);
  }

  private watch(ms = silenceMs): void {
    this.env.cancel(this.watchdog);
    this.watchdog = this.env.after(ms, () => void this.fail());
  }

  // fail gives up the connection. An EventSource that got one 503 never tries again, so each attempt is a new one.
  private async fail(): Promise<void> {
    this.close();
    const attempts = this.link.attempts + 1;
    const longest = Math.min(longestBackoffMs, firstBackoffMs * 2 ** (attempts - 1));
    this.set({ ...this.link, state: "lost", attempts });
    this.wait(longest * (0.5 + this.env.random() / 2));
    if (await this.env.sessionEnded()) {
      this.close();
      this.set({ ...this.link, state: "signed-out", retryAt: 0 });
    }
  }

  private wait(ms: number): void {
    this.close();
    this.set({ ...this.link, retryAt: this.env.now() + ms });
    this.retry = this.env.after(ms, () => this.connect());
  }

  private set(link: Link): void {
    this.link = link;
    this.onLink(link);
  }
}
