import "../styles/signin.css";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { APIError, session } from "../api";
import { describe, type Said } from "../actions";
import { text } from "../i18n";
import { afterSignIn } from "../nextpage";
import { Glyph } from "../parts/Glyph";
import { Logo } from "../parts/Shell";
import { query } from "../router";
import { language } from "../settings";
import { duration, number } from "../time";
import { useTitle } from "../title";

interface Refusal {
  what: string;
  why: Said;
}

export function SignIn() {
  const words = text.value.signin;
  useTitle(words.title);
  return (
    <main class="signin" id="main">
      <Art />
      <div class="signin-box">
        <p class="brand">
          <Logo />
          stream-monitor
          <button class="btn quiet" type="button" lang={language.value === "ja" ? "en" : "ja"} onClick={() => (language.value = language.value === "ja" ? "en" : "ja")}>
            {text.value.shell.otherLanguage}
          </button>
        </p>
        <div>
          <h1>{words.title}</h1>
          <p class="muted">{words.lead}</p>
        </div>
        <Form />
        <Gateway />
      </div>
    </main>
  );
}

function Form() {
  const words = text.value.signin;
  const input = useRef<HTMLInputElement>(null);
  const refused = useSignal<Refusal | null>(query.peek().get("link") === "expired" ? { what: words.expired, why: words.expiredText } : null);
  const busy = useSignal(false);
  const shown = useSignal(false);
  useEffect(() => input.current?.focus(), []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const key = input.current!.value.trim();
    if (!key) {
      refused.value = { what: words.missing, why: "" };
      return;
    }
    busy.value = true;
    try {
      await session.signIn(key);
      // The whole page is loaded anew: nothing of an earlier session stays.
      location.assign(afterSignIn(query.value.get("next"), location.origin));
    } catch (error) {
      refused.value = refusal(error);
      busy.value = false;
      input.current?.select();
    }
  };
  return (
    <>
      {refused.value && (
        <div class="notice is-warning" role="alert" id="refused">
          <Glyph name="warning" />
          <p>
            <b>{refused.value.what}</b> {refused.value.why}
          </p>
        </div>
      )}
      <form class="form" onSubmit={submit}>
        <div class="field">
          <label for="key">{words.key}</label>
          <div class="with-button">
            <input
              ref={input}
              class="input mono"
              id="key"
              name="key"
              {...({ type: shown.value ? "text" : "password" } as { type: "password" })}
              autocomplete="current-password"
              autocapitalize="none"
              spellcheck={false}
              aria-describedby={refused.value ? "refused key-hint" : "key-hint"}
              aria-invalid={refused.value ? true : undefined}
            />
            <button class="icon-btn" type="button" aria-pressed={shown.value} aria-label={shown.value ? words.hide : words.show} onClick={() => (shown.value = !shown.value)}>
              <Glyph name="eye" />
            </button>
          </div>
          <p class="hint" id="key-hint">
            {words.keyHint[0]}
            <code>API_KEY</code>
            {words.keyHint[1]}
            <code>stream-monitor serve</code>
            {words.keyHint[2]}
          </p>
        </div>
        <button class="btn primary" type="submit" disabled={busy.value}>
          <Glyph name="key" />
          {words.submit}
        </button>
      </form>
    </>
  );
}

function refusal(error: unknown): Refusal {
  const words = text.value.signin;
  if (!(error instanceof APIError)) return { what: text.value.common.failed, why: String(error) };
  switch (error.status) {
    case 0:
      return { what: words.unreachable, why: "" };
    case 401:
      return { what: words.wrong, why: words.wrongText };
    case 429:
      return { what: words.wait(duration(error.retryAfterSec ?? 60)), why: "" };
    default:
      return { what: text.value.common.failed, why: describe(error) };
  }
}

// Gateway says whether the gateway answers, and whether others on the way could read the key.
function Gateway() {
  const words = text.value.signin;
  const took = useSignal<number | null | undefined>(undefined); // null: no answer
  useEffect(() => {
    const began = performance.now();
    fetch("/healthz").then(
      (response) => (took.value = response.ok ? performance.now() - began : null),
      () => (took.value = null),
    );
  }, []);
  const encrypted = location.protocol === "https:";
  return (
    <p class="signin-facts">
      {took.value === undefined ? null : took.value === null ? (
        <span class="word is-warning">
          <Glyph name="unlink" />
          {words.unreachable}
        </span>
      ) : (
        <span class="word is-on_air">
          <Glyph name="check" />
          {words.answers(number.value.format(Math.max(1, Math.round(took.value))))}
        </span>
      )}
      <span class={`word ${encrypted ? "is-on_air" : "is-warning"}`}>
        <Glyph name={encrypted ? "check" : "warning"} />
        {encrypted ? words.encrypted : words.plain}
      </span>
    </p>
  );
}

const screens = 28;

// Art is a wall in the dark, without trouble: it is no news. Nobody sees a real picture before the sign-in.
function Art() {
  return (
    <div class="signin-art" aria-hidden="true">
      <div>
        {Array.from({ length: screens }, (_, i) => (
          <span key={i}>
            <i />
          </span>
        ))}
      </div>
    </div>
  );
}
