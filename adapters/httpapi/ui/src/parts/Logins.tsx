// What the cards of stored logins share: cookie jars, and the logins of owners.
import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { describe, run, type Said } from "../actions";
import { text } from "../i18n";
import type { CookieJar } from "../types";
import { Glyph } from "./Glyph";
import type { GlyphName } from "./glyphs";

const looks: Record<CookieJar["state"], [GlyphName, string]> = { unused: ["waiting", "waiting"], accepted: ["ok", "on_air"], rejected: ["fail", "trouble"], unreadable: ["blind", "warning"] };

const readEveryMs = 30_000; // the gateway and workers tell what becomes of a login

export interface Logins<T> {
  list: Signal<T | undefined>; // undefined until it is read
  failed: Signal<Said>;
  busy: Signal<boolean>;
  send(form: HTMLFormElement, upload: (given: FormData) => Promise<unknown>): Promise<void>; // empties the form once it is accepted
  remove(request: () => Promise<unknown>): void;
}

// useLogins reads logins again and again, and after each change.
export function useLogins<T>(api: { list(signal?: AbortSignal): Promise<T> }): Logins<T> {
  const list = useSignal<T | undefined>(undefined);
  const failed = useSignal<Said>("");
  const busy = useSignal(false);
  const read = async (signal?: AbortSignal) => void (list.value = await api.list(signal));
  useEffect(() => {
    const abort = new AbortController();
    const again = () => void read(abort.signal).catch(() => undefined); // the feed says that the connection is lost
    again();
    const timer = setInterval(again, readEveryMs);
    return () => (abort.abort(), clearInterval(timer));
  }, []);
  const send = async (form: HTMLFormElement, upload: (given: FormData) => Promise<unknown>) => {
    failed.value = "";
    busy.value = true;
    try {
      await upload(new FormData(form));
      form.reset();
      await read();
    } catch (error) {
      failed.value = describe(error);
    }
    busy.value = false;
  };
  const remove = (request: () => Promise<unknown>) => void run(() => request().then(() => read()));
  return { list, failed, busy, send, remove };
}

export function LoginsCard({ of, id, title, hint, children }: { of: Logins<unknown>; id: string; title: string; hint: string; children: ComponentChildren }) {
  return (
    <section class="card" aria-labelledby={id}>
      <div class="card-head">
        <h2 id={id}>{title}</h2>
      </div>
      <div class="card-body jars" aria-busy={of.list.value === undefined}>
        <p class="hint dim">{hint}</p>
        {of.failed.value && (
          <p class="notice is-warning" role="alert">
            <Glyph name="warning" />
            <span class="wrap">{of.failed.value}</span>
          </p>
        )}
        {children}
      </div>
    </section>
  );
}

// LoginName is the name of a login, and its state in a word.
export function LoginName({ name, state }: { name: string; state: CookieJar["state"] }) {
  const [glyph, look] = looks[state];
  return (
    <>
      <b dir="auto" class="wrap">
        {name}
      </b>{" "}
      <span class={`word is-${look}`}>
        <Glyph name={glyph} />
        {text.value.settings.jars.states[state]}
      </span>
    </>
  );
}
