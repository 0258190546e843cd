import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { describe, run, type Said } from "../actions";
import { cookieJars as api } from "../api";
import { text } from "../i18n";
import { now } from "../store";
import { clockDay } from "../time";
import type { CookieJar } from "../types";
import { Allowed } from "./Allowed";
import { Glyph } from "./Glyph";
import type { GlyphName } from "./glyphs";

// loginLooks are how the states of a login look.
export const loginLooks: Record<CookieJar["state"], [GlyphName, string]> = { unused: ["waiting", "waiting"], accepted: ["ok", "on_air"], rejected: ["fail", "trouble"], unreadable: ["blind", "warning"] };

const readEveryMs = 30_000; // workers tell what becomes of a login

// CookieJars are the logins for streams that need one: their states, another one, newer cookies, one less.
export function CookieJars() {
  const words = text.value.settings.jars;
  const list = useSignal<CookieJar[] | undefined>(undefined);
  const failed = useSignal<Said>("");
  const busy = useSignal(false);
  const read = (signal?: AbortSignal) => api.list(signal).then(({ cookie_jars }) => void (list.value = cookie_jars));
  useEffect(() => {
    const abort = new AbortController();
    const again = () => void read(abort.signal).catch(() => undefined); // the feed says that the connection is lost
    again();
    const timer = setInterval(again, readEveryMs);
    return () => (abort.abort(), clearInterval(timer));
  }, []);
  const send = async (upload: () => Promise<unknown>, form: HTMLFormElement) => {
    failed.value = "";
    busy.value = true;
    try {
      await upload();
      form.reset();
      await read();
    } catch (error) {
      failed.value = describe(error);
    }
    busy.value = false;
  };
  const create = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const given = new FormData(form);
    void send(() => api.create(String(given.get("name")), given.get("file") as File), form);
  };
  const replace = (jar: CookieJar, input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (file) void send(() => api.replace(jar.jar_id, file), input.form!);
  };
  const remove = (jar: CookieJar) =>
    void run(async () => {
      await api.remove(jar.jar_id);
      await read();
    });
  return (
    <section class="card" aria-labelledby="jars-title">
      <div class="card-head">
        <h2 id="jars-title">{words.title}</h2>
      </div>
      <div class="card-body jars" aria-busy={list.value === undefined}>
        <p class="hint dim">{words.hint}</p>
        {failed.value && (
          <p class="notice is-warning" role="alert">
            <Glyph name="warning" />
            <span class="wrap">{failed.value}</span>
          </p>
        )}
        <ul>
          {list.value?.map((jar) => (
            <li key={jar.jar_id}>
              <span>
                <b dir="auto" class="wrap">
                  {jar.name}
                </b>{" "}
                <span class={`word is-${loginLooks[jar.state][1]}`}>
                  <Glyph name={loginLooks[jar.state][0]} />
                  {words.states[jar.state]}
                </span>
                <small class="dim">{stateOf(jar)}</small>
                <small class="dim">{`${words.uploaded(clockDay(jar.uploaded_at, now.peek()))} · ${words.monitors(jar.monitors)}${jar.channels > 0 ? ` · ${words.channels(jar.channels)}` : ""}`}</small>
              </span>
              <Allowed to="admin">
                <form class="actions" onSubmit={(event) => event.preventDefault()}>
                  <label class="btn quiet replace">
                    {words.replace}
                    <input type="file" accept=".txt,text/plain" aria-label={words.replaceNamed(jar.name)} disabled={busy.value} onChange={(e) => replace(jar, e.currentTarget)} />
                  </label>
                  <button class="btn quiet" type="button" aria-label={words.removeNamed(jar.name)} disabled={busy.value} onClick={() => confirm(words.confirmRemove(jar.name)) && remove(jar)}>
                    {words.remove}
                  </button>
                </form>
              </Allowed>
            </li>
          ))}
        </ul>
        <Allowed to="admin">
          <details class="single">
            <summary>{words.add}</summary>
            <form onSubmit={create}>
              <p class="hint dim">{words.how}</p>
              <div class="form-grid">
                <div class="field">
                  <label for="jar-file">{words.file}</label>
                  <input id="jar-file" class="input" name="file" type="file" accept=".txt,text/plain" required />
                </div>
                <div class="field">
                  <label for="jar-name">{words.name}</label>
                  <input id="jar-name" class="input" name="name" required maxLength={60} autocomplete="off" />
                </div>
              </div>
              <div class="actions">
                <button class="btn" type="submit" disabled={busy.value}>
                  {words.upload}
                </button>
              </div>
            </form>
          </details>
        </Allowed>
      </div>
    </section>
  );
}

// stateOf says what is known of a login, in a sentence or two.
function stateOf(jar: CookieJar): string {
  const words = text.value.settings.jars;
  const time = (at: string | null) => (at ? clockDay(at, now.peek()) : "");
  const known = { unused: words.unused, accepted: words.acceptedAt(time(jar.accepted_at)), rejected: words.rejectedSince(time(jar.rejected_at)), unreadable: words.unreadable }[jar.state];
  return jar.signed_in ? known : `${known} ${words.signedOut}`;
}
