import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { describe } from "../actions";
import { monitors as api } from "../api";
import { sendAll, type Action, type Plan } from "../bulk";
import { text } from "../i18n";
import { duration } from "../time";
import { Glyph } from "./Glyph";
import { Streams } from "./Streams";

interface Run {
  kind: Action["kind"];
  plan: Plan;
  outcomes: ReadonlyMap<string, unknown>; // by the id of the monitor; null: it was carried out, else why not
  waitsSec: number; // for the rate limit
  busy: boolean;
}

// newestRun is the newest action until somebody closes it; null: there is none.
export const newestRun = signal<Run | null>(null);

const set = (change: Partial<Run>) => (newestRun.value = { ...newestRun.peek()!, ...change });
let stopped = false;

const warn = (event: BeforeUnloadEvent) => event.preventDefault(); // what is not sent yet would not be sent

// start carries out a plan. What it has done before stays as it is.
export async function start(kind: Action["kind"], plan: Plan, outcomes: Run["outcomes"] = new Map()): Promise<void> {
  stopped = false;
  newestRun.value = { kind, plan, outcomes: new Map([...outcomes].filter(([, error]) => error === null)), waitsSec: 0, busy: true };
  addEventListener("beforeunload", warn);
  const open = [...plan.changes.keys()].filter((id) => !newestRun.peek()!.outcomes.has(id));
  const send = (id: string) => (kind === "stop" ? api.stop(id) : api.change(id, plan.changes.get(id)!));
  await sendAll(open, send, {
    done: (id, error) => set({ outcomes: new Map([...newestRun.peek()!.outcomes, [id, error]]) }),
    waits: (waitsSec) => set({ waitsSec }),
    stopped: () => stopped,
  });
  removeEventListener("beforeunload", warn);
  set({ busy: false });
}

// BulkRun is how an action on several streams goes, and what became of each of them.
export function BulkRun() {
  const words = text.value.selection;
  const { kind, plan, outcomes, waitsSec, busy } = newestRun.value!;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const ids = [...plan.changes.keys()];
  const done = ids.filter((id) => outcomes.get(id) === null);
  const refused = ids.filter((id) => outcomes.get(id)).map((id) => [id, describe(outcomes.get(id))] as const);
  const unsent = busy ? [] : ids.filter((id) => !outcomes.has(id)).map((id) => [id, words.unsent] as const);
  const open = [...refused, ...unsent];
  return (
    <section class="selected-bar run" aria-labelledby="run-title">
      <h2 id="run-title" ref={heading} tabIndex={-1}>
        {words.actions[kind]}
      </h2>
      <progress max={ids.length} value={outcomes.size} aria-labelledby="run-title" />
      <p role="status" class={open.length > 0 ? "word is-warning" : "word"}>
        <Glyph name={busy ? "waiting" : open.length > 0 ? "warning" : "check"} />
        <span class="num">
          {words.done[kind](done.length, ids.length)}
          {refused.length > 0 && `${text.value.common.listComma}${words.refused(refused.length)}`}
          {waitsSec > 0 && `${text.value.common.listComma}${words.waits(duration(waitsSec))}`}
        </span>
      </p>
      <span class="end actions">
        {busy ? (
          <button class="btn" type="button" onClick={() => (stopped = true)}>
            {words.halt}
          </button>
        ) : (
          <>
            {open.length > 0 && (
              <button class="btn primary" type="button" onClick={() => void start(kind, plan, outcomes)}>
                <Glyph name="retry" />
                {words.again(open.length)}
              </button>
            )}
            <button class="btn" type="button" onClick={() => (newestRun.value = null)}>
              {text.value.common.close}
            </button>
          </>
        )}
      </span>
      {open.length + plan.skipped.size > 0 && (
        <div class="outcomes">
          {open.length > 0 && <Streams of={open} />}
          {plan.skipped.size > 0 && (
            <details>
              <summary>{words.skipped(plan.skipped.size)}</summary>
              <Streams of={[...plan.skipped].map(([id, reason]) => [id, words.skipReasons[reason]])} />
            </details>
          )}
          {done.length > 0 && !busy && (
            <details>
              <summary>{words.done[kind](done.length, ids.length)}</summary>
              <Streams of={done.map((id) => [id])} />
            </details>
          )}
        </div>
      )}
    </section>
  );
}
