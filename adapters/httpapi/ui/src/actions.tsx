// What a person does about an incident. The feed brings the result to every page.
import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { APIError, incidents, post } from "./api";
import { text } from "./i18n";
import { refusalOf, type Refusal as RefusalWords } from "./refusals";
import { reasonAgainst } from "./role";
import { name } from "./settings";
import { readSilenced } from "./silenced";
import { now } from "./store";
import { duration } from "./time";

// Said is what people read: a sentence, with a text in another language where that tells more.
export type Said = string | VNode;

// failure is the message of the newest action that failed.
export const failure = signal<Said>("");
const asking = signal<((by: string) => void) | null>(null);

export function acknowledge(...ids: string[]): void {
  withName((by) => void run(async () => {
    for (const id of ids) await incidents.acknowledge(id, by);
  }));
}

export function resolve(id: string): void {
  withName((by) => void run(async () => void (await incidents.resolve(id, by))));
}

export function note(id: string, words: string, done: () => void): void {
  withName((by) => void run(async () => {
    await incidents.note(id, by, words);
    done();
  }));
}

export function label(id: string, falsePositive: boolean | null): void {
  withName((by) => void run(async () => void (await incidents.label(id, by, falsePositive))));
}

const hourMs = 3_600_000;

// silence holds back the messages about a stream for an hour.
export function silence(monitorID: string): void {
  withName((by) =>
    void run(async () => {
      await post("/api/v1/silences", { match: { monitors: [monitorID] }, to: new Date(now.peek() + hourMs).toISOString(), by });
      await readSilenced();
    }),
  );
}

export async function run(action: () => Promise<void>): Promise<void> {
  failure.value = "";
  try {
    await action();
  } catch (error) {
    failure.value = describe(error);
  }
}

// describe says why a request failed. The text of the API is English, so it is marked.
export function describe(error: unknown): Said {
  const words = text.value.common;
  if (!(error instanceof APIError)) return String(error);
  if (error.status === 0) return words.unreachable;
  if (error.status === 429 && error.code !== "MAX_MONITORS_EXCEEDED") return words.tooManyRequests(duration(error.retryAfterSec ?? 60));
  return <Refusal of={refusalOf(error)} />;
}

// Refusal is a sentence, and the text of the API where that tells more.
export function Refusal({ of: { sentence, detail, existing } }: { of: RefusalWords }) {
  if (!detail && !existing) return <>{sentence}</>;
  return (
    <>
      {sentence}{" "}
      {existing && (
        <a class="link wrap" dir="auto" href={existing.href}>
          {existing.name}
        </a>
      )}
      {detail && (
        <span class="dim wrap" lang="en">
          {detail}
        </span>
      )}
    </>
  );
}

function withName(then: (by: string) => void): void {
  const reason = reasonAgainst("operate");
  if (reason) {
    failure.value = reason;
    return;
  }
  if (name.value.trim()) then(name.value.trim());
  else asking.value = then;
}

// Actions asks for a name once, and shows why an action failed.
export function Actions() {
  const words = text.value;
  const dialog = useRef<HTMLDialogElement>(null);
  const then = asking.value;
  useEffect(() => {
    if (then) dialog.current?.showModal();
  }, [then]);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const by = new FormData(event.currentTarget as HTMLFormElement).get("name")?.toString().trim();
    if (!by) return;
    name.value = by;
    dialog.current?.close();
    then?.(by);
  };
  return (
    <>
      {failure.value && (
        <div class="toast is-warning" role="alert">
          <b>{words.common.failed}.</b> {failure.value}
          <button class="btn quiet" type="button" onClick={() => (failure.value = "")}>
            {words.common.close}
          </button>
        </div>
      )}
      <dialog ref={dialog} aria-labelledby="name-title" onClose={() => (asking.value = null)}>
        <form onSubmit={submit}>
          <div class="field">
            <label id="name-title" for="name-field">
              {words.shell.yourName}
            </label>
            <input id="name-field" class="input" name="name" required maxLength={100} autocomplete="nickname" />
            <p class="hint">{words.shell.yourNameHint}</p>
          </div>
          <div class="actions">
            <button class="btn primary" type="submit">
              {words.common.save}
            </button>
            <button class="btn quiet" type="button" onClick={() => dialog.current?.close()}>
              {words.common.cancel}
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}
