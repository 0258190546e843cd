// What the cards of stored logins share: cookie jars, and the logins of owners.
import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { run } from "../actions";
import { text } from "../i18n";
import type { CookieJar } from "../types";
import { typed } from "./Dialog";
import { Form, Refused, useForm } from "./Form";
import { Glyph } from "./Glyph";
import type { GlyphName } from "./glyphs";

const looks: Record<CookieJar["state"], [GlyphName, string]> = { unused: ["waiting", "waiting"], accepted: ["ok", "on_air"], rejected: ["fail", "trouble"], unreadable: ["blind", "warning"] };

const readEveryMs = 30_000; // the gateway and workers tell what becomes of a login

export interface Logins<T> {
  list: Signal<T | undefined>; // undefined until it is read
  read(): Promise<void>;
  act(request: () => Promise<unknown>): void; // and reads what there is then
}

// useLogins reads logins again and again, and after each change.
export function useLogins<T>(api: { list(signal?: AbortSignal): Promise<T> }): Logins<T> {
  const list = useSignal<T | undefined>(undefined);
  const read = async (signal?: AbortSignal) => void (list.value = await api.list(signal));
  useEffect(() => {
    const abort = new AbortController();
    const again = () => void read(abort.signal).catch(() => undefined); // the feed says that the connection is lost
    again();
    const timer = setInterval(again, readEveryMs);
    return () => (abort.abort(), clearInterval(timer));
  }, []);
  return { list, read: () => read(), act: (request) => void run(() => request().then(() => read())) };
}

interface FormProps {
  of: Logins<unknown>;
  upload: (given: (name: string) => string, fields: FormData) => Promise<unknown>;
  submit: string; // the word for it
  children: ComponentChildren;
}

// LoginForm uploads a login, and is empty once that is accepted.
export function LoginForm({ of, upload, submit, children }: FormProps) {
  const { state, run } = useForm();
  const send = async (form: HTMLFormElement) => {
    const given = new FormData(form);
    await upload((name) => typed(given, name), given);
    form.reset();
    await of.read();
  };
  return (
    <Form of={state} send={(form) => run(() => send(form))}>
      <Refused of={state} />
      {children}
      <div class="actions">
        <button class="btn" type="submit" disabled={state.busy.value}>
          {submit}
        </button>
      </div>
    </Form>
  );
}

export function LoginsCard({ of, id, title, hint, children }: { of: Logins<unknown>; id: string; title: string; hint: string; children: ComponentChildren }) {
  return (
    <section class="card" aria-labelledby={id}>
      <div class="card-head">
        <h2 id={id}>{title}</h2>
      </div>
      <div class="card-body jars" aria-busy={of.list.value === undefined}>
        <p class="hint dim">{hint}</p>
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
