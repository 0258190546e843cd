import { cookieJars as api } from "../api";
import { text } from "../i18n";
import { now } from "../store";
import { clockDay } from "../time";
import { isolated } from "../title";
import type { CookieJar } from "../types";
import { Allowed } from "./Allowed";
import { ask } from "./Ask";
import { Labelled } from "./Form";
import { LoginForm, LoginName, LoginsCard, useLogins } from "./Logins";

// CookieJars are the logins for streams that need one: their states, another one, newer cookies, one less.
export function CookieJars() {
  const words = text.value.settings.jars;
  const jars = useLogins(api);
  const replace = (jar: CookieJar, input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (file) jars.act(() => api.replace(jar.jar_id, file));
    input.value = ""; // the same file can be chosen again
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
              <span class="actions">
                <label class="btn quiet replace">
                  {words.replace}
                  <input type="file" accept=".txt,text/plain" aria-label={words.replaceNamed(jar.name)} onChange={(e) => replace(jar, e.currentTarget)} />
                </label>
                <button class="btn quiet" type="button" aria-label={words.removeNamed(jar.name)} onClick={async () => (await ask({ title: words.removeTitle(isolated(jar.name)), text: words.removeText, yes: words.remove })) && jars.act(() => api.remove(jar.jar_id))}>
                  {words.remove}
                </button>
              </span>
            </Allowed>
          </li>
        ))}
      </ul>
      <Allowed to="admin">
        <details class="single">
          <summary>{words.add}</summary>
          <LoginForm of={jars} submit={words.upload} upload={(given, fields) => api.create(given("name"), fields.get("file") as File)}>
            <p class="hint dim">{words.how}</p>
            <div class="form-grid">
              <Labelled id="jar-file" of="cookies" label={words.file}>
                {(input) => <input class="input" name="file" type="file" accept=".txt,text/plain" required {...input} />}
              </Labelled>
              <Labelled id="jar-name" of="name" label={words.name}>
                {(input) => <input class="input" name="name" required maxLength={60} autocomplete="off" {...input} />}
              </Labelled>
            </div>
          </LoginForm>
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
