import { cookieJars as api } from "../api";
import { text } from "../i18n";
import { isolated } from "../names";
import { now } from "../store";
import { clockDay } from "../time";
import type { CookieJar } from "../types";
import { Allowed } from "./Allowed";
import { ask } from "./Ask";
import { Labelled, Refused, useForm } from "./Form";
import { LoginForm, LoginName, LoginsCard, useLogins, type Logins } from "./Logins";

// CookieJars are the logins for streams that need one: their states, another one, newer cookies, one less.
export function CookieJars() {
  const words = text.value.settings.jars;
  const jars = useLogins(api);
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
                <Replace of={jars} jar={jar} />
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

// Replace uploads the newer cookies of a login as soon as their file is chosen.
function Replace({ of, jar }: { of: Logins<unknown>; jar: CookieJar }) {
  const words = text.value.settings.jars;
  const { state, run } = useForm();
  const replace = (input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (file) void run(() => api.replace(jar.jar_id, file).then(of.read));
    input.value = ""; // the same file can be chosen again
  };
  return (
    <>
      <Refused of={state} />
      <label class="btn quiet replace">
        {words.replace}
        <input type="file" accept=".txt,text/plain" aria-label={words.replaceNamed(jar.name)} disabled={state.busy.value} onChange={(e) => replace(e.currentTarget)} />
      </label>
    </>
  );
}

// stateOf says what is known of a login, in a sentence or two.
function stateOf(jar: CookieJar): string {
  const words = text.value.settings.jars;
  const time = (at: string | null) => (at ? clockDay(at, now.peek()) : "");
  const known = { unused: words.unused, accepted: words.acceptedAt(time(jar.accepted_at)), rejected: words.rejectedSince(time(jar.rejected_at)), unreadable: words.unreadable }[jar.state];
  return jar.signed_in ? known : `${known} ${words.signedOut}`;
}
