import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { describe, run, type Said } from "../actions";
import { ingestLogins as api } from "../api";
import { text } from "../i18n";
import { now } from "../store";
import { clockDay } from "../time";
import type { IngestLogin } from "../types";
import { Allowed } from "./Allowed";
import { loginLooks } from "./CookieJars";
import { Glyph } from "./Glyph";

const readEveryMs = 30_000; // the gateway tells what becomes of a login

// IngestLogins are the logins of owners, who are told what arrives from their encoders: their states, another one, a newer token, one less.
export function IngestLogins() {
  const words = text.value.settings.ingest;
  const list = useSignal<{ enabled: boolean; ingest_logins: IngestLogin[] } | undefined>(undefined);
  const failed = useSignal<Said>("");
  const busy = useSignal(false);
  const read = (signal?: AbortSignal) => api.list(signal).then((answer) => void (list.value = answer));
  useEffect(() => {
    const abort = new AbortController();
    const again = () => void read(abort.signal).catch(() => undefined); // the feed says that the connection is lost
    again();
    const timer = setInterval(again, readEveryMs);
    return () => (abort.abort(), clearInterval(timer));
  }, []);
  const send = async (event: SubmitEvent, upload: (given: (name: string) => string) => Promise<unknown>) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const fields = new FormData(form);
    failed.value = "";
    busy.value = true;
    try {
      await upload((name) => String(fields.get(name)).trim());
      form.reset();
      await read();
    } catch (error) {
      failed.value = describe(error);
    }
    busy.value = false;
  };
  const remove = (login: IngestLogin) =>
    void run(async () => {
      await api.remove(login.login_id);
      await read();
    });
  return (
    <section class="card" aria-labelledby="ingest-title">
      <div class="card-head">
        <h2 id="ingest-title">{words.title}</h2>
      </div>
      <div class="card-body jars" aria-busy={list.value === undefined}>
        <p class="hint dim">{words.hint}</p>
        {list.value?.enabled === false && <p class="hint dim">{words.disabled}</p>}
        {failed.value && (
          <p class="notice is-warning" role="alert">
            <Glyph name="warning" />
            <span class="wrap">{failed.value}</span>
          </p>
        )}
        <ul>
          {list.value?.ingest_logins.map((login) => (
            <li key={login.login_id}>
              <span>
                <b dir="auto" class="wrap">
                  {login.name}
                </b>{" "}
                <span class={`word is-${loginLooks[login.state][1]}`}>
                  <Glyph name={loginLooks[login.state][0]} />
                  {text.value.settings.jars.states[login.state]}
                </span>
                <small class="dim">{stateOf(login)}</small>
                {login.failure && (
                  <small class="dim wrap" dir="auto">
                    {login.failure.detail}
                  </small>
                )}
              </span>
              <Allowed to="admin">
                <span class="actions">
                  <details class="single">
                    <summary aria-label={words.replaceNamed(login.name)}>{text.value.settings.jars.replace}</summary>
                    <form onSubmit={(event) => void send(event, (given) => api.replace(login.login_id, given("token")))}>
                      <Token id={`token-${login.login_id}`} />
                      <div class="actions">
                        <button class="btn" type="submit" disabled={busy.value}>
                          {text.value.settings.jars.replace}
                        </button>
                      </div>
                    </form>
                  </details>
                  <button class="btn quiet" type="button" aria-label={text.value.settings.jars.removeNamed(login.name)} disabled={busy.value} onClick={() => confirm(words.confirmRemove(login.name)) && remove(login)}>
                    {text.value.settings.jars.remove}
                  </button>
                </span>
              </Allowed>
            </li>
          ))}
        </ul>
        <Allowed to="admin">
          <details class="single">
            <summary>{words.add}</summary>
            <form onSubmit={(event) => void send(event, (given) => api.create(given("name"), given("token")))}>
              <p class="hint dim">{words.how}</p>
              <div class="form-grid">
                <Token id="token" />
                <div class="field">
                  <label for="login-name">{words.name}</label>
                  <input id="login-name" class="input" name="name" required maxLength={60} autocomplete="off" />
                </div>
              </div>
              <div class="actions">
                <button class="btn" type="submit" disabled={busy.value}>
                  {text.value.settings.jars.upload}
                </button>
              </div>
            </form>
          </details>
        </Allowed>
      </div>
    </section>
  );
}

function Token({ id }: { id: string }) {
  return (
    <div class="field">
      <label for={id}>{text.value.settings.ingest.token}</label>
      <input id={id} class="input" name="token" type="password" required maxLength={512} autocomplete="off" spellcheck={false} />
    </div>
  );
}

// stateOf says what is known of a login, in a sentence.
function stateOf(login: IngestLogin): string {
  const words = text.value.settings.ingest;
  const time = (at: string | null) => (at ? clockDay(at, now.peek()) : "");
  return {
    unused: words.unused,
    accepted: words.acceptedAt(time(login.accepted_at), login.streams),
    rejected: words.rejectedSince(time(login.rejected_at)),
    unreadable: text.value.settings.jars.unreadable,
  }[login.state];
}
