import { ingestLogins as api } from "../api";
import { text } from "../i18n";
import { isolated } from "../names";
import { now } from "../store";
import { clockDay } from "../time";
import type { IngestLogin } from "../types";
import { Allowed } from "./Allowed";
import { ask } from "./Ask";
import { Labelled } from "./Form";
import { ErrorText } from "./Name";
import { LoginForm, LoginName, LoginsCard, useLogins } from "./Logins";

// IngestLogins are the logins of owners, who are told what arrives from their encoders: their states, another one, a newer token, one less.
export function IngestLogins() {
  const words = text.value.settings.ingest;
  const shared = text.value.settings.jars;
  const logins = useLogins(api);
  return (
    <LoginsCard of={logins} id="ingest-title" title={words.title} hint={words.hint}>
      {logins.list.value?.enabled === false && <p class="hint dim">{words.disabled}</p>}
      <ul>
        {logins.list.value?.ingest_logins.map((login) => (
          <li key={login.login_id}>
            <span>
              <LoginName name={login.name} state={login.state} />
              <small class="dim">{stateOf(login)}</small>
              {login.failure && (
                <small class="dim wrap">
                  {text.value.settings.officialAPI.kinds[login.failure.kind]} <ErrorText>{login.failure.detail}</ErrorText>
                </small>
              )}
            </span>
            <Allowed to="admin">
              <span class="actions">
                <details class="single">
                  <summary aria-label={words.replaceNamed(login.name)}>{shared.replace}</summary>
                  <LoginForm of={logins} submit={shared.replace} upload={(given) => api.replace(login.login_id, given("token"))}>
                    <Token id={`token-${login.login_id}`} />
                  </LoginForm>
                </details>
                <button class="btn quiet" type="button" aria-label={shared.removeNamed(login.name)} onClick={async () => (await ask({ title: shared.removeTitle(isolated(login.name)), text: words.removeText, yes: shared.remove })) && logins.act(() => api.remove(login.login_id))}>
                  {shared.remove}
                </button>
              </span>
            </Allowed>
          </li>
        ))}
      </ul>
      <Allowed to="admin">
        <details class="single">
          <summary>{words.add}</summary>
          <LoginForm of={logins} submit={shared.upload} upload={(given) => api.create(given("name"), given("token"))}>
            <p class="hint dim">{words.how}</p>
            <div class="form-grid">
              <Token id="token" />
              <Labelled id="login-name" of="name" label={words.name}>
                {(input) => <input class="input" name="name" required maxLength={60} autocomplete="off" {...input} />}
              </Labelled>
            </div>
          </LoginForm>
        </details>
      </Allowed>
    </LoginsCard>
  );
}

function Token({ id }: { id: string }) {
  return (
    <Labelled id={id} of="refresh_token" label={text.value.settings.ingest.token}>
      {(input) => <input class="input" name="token" type="password" required maxLength={512} autocomplete="off" spellcheck={false} {...input} />}
    </Labelled>
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
