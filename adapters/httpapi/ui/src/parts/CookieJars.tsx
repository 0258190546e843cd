import { cookieJars as api } from "../api";
import { text } from "../i18n";
import { now } from "../store";
import { clockDay } from "../time";
import { isolated } from "../title";
import type { CookieJar } from "../types";
import { Allowed } from "./Allowed";
import { ask } from "./Ask";
import { LoginName, LoginsCard, useLogins } from "./Logins";

// CookieJars are the logins for streams that need one: their states, another one, newer cookies, one less.
export function CookieJars() {
  const words = text.value.settings.jars;
  const jars = useLogins(api);
  const busy = jars.busy.value;
  const create = (event: SubmitEvent) => {
    event.preventDefault();
    void jars.send(event.currentTarget as HTMLFormElement, (given) => api.create(String(given.get("name")), given.get("file") as File));
  };
  const replace = (jar: CookieJar, input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (file) void jars.send(input.form!, () => api.replace(jar.jar_id, file));
  };
  return (
    <LoginsCard of={jars} id="jars-title" title={words.title} hint={words.hint}>
      <ul>
        {jars.list.value?.cookie_jars.map((jar) => (
          <li key={jar.jar_id}>
            <span>
              <LoginName name={jar.name} state={jar.state} />
              <small class="dim">{stateOf(jar)}</small>
              <small class="dim">{`${words.uploaded(clockDay(jar.uploaded_at, now.peek()))} · ${words.monitors(jar.monitors)}${jar.channels > 0 ? ` · ${words.channels(jar.channels)}` : ""}`}</small>
            </span>
            <Allowed to="admin">
              <form class="actions" onSubmit={(event) => event.preventDefault()}>
                <label class="btn quiet replace">
                  {words.replace}
                  <input type="file" accept=".txt,text/plain" aria-label={words.replaceNamed(jar.name)} disabled={busy} onChange={(e) => replace(jar, e.currentTarget)} />
                </label>
                <button class="btn quiet" type="button" aria-label={words.removeNamed(jar.name)} disabled={busy} onClick={async () => (await ask({ title: words.removeTitle(isolated(jar.name)), text: words.removeText, yes: words.remove })) && jars.remove(() => api.remove(jar.jar_id))}>
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
              <button class="btn" type="submit" disabled={busy}>
                {words.upload}
              </button>
            </div>
          </form>
        </details>
      </Allowed>
    </LoginsCard>
  );
}

// stateOf says what is known of a login, in a sentence or two.
function stateOf(jar: CookieJar): string {
  const words = text.value.settings.jars;
  const time = (at: string | null) => (at ? clockDay(at, now.peek()) : "");
  const known = { unused: words.unused, accepted: words.acceptedAt(time(jar.accepted_at)), rejected: words.rejectedSince(time(jar.rejected_at)), unreadable: words.unreadable }[jar.state];
  return jar.signed_in ? known : `${known} ${words.signedOut}`;
}
