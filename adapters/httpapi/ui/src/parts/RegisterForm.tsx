import "../styles/register.css";
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { describe, type Said } from "../actions";
import { text } from "../i18n";
import { navigate } from "../router";
import { Allowed } from "./Allowed";
import { Glyph } from "./Glyph";

interface FormProps {
  submit: string; // the word for it
  send: () => Promise<{ href: string; name: string }>; // registers, and returns the page and the name of what it is
  next: () => void; // makes room for another one
  children: ComponentChildren;
}

// RegisterForm registers, and shows what is registered then, or makes room for another one.
export function RegisterForm({ submit, send, next, children }: FormProps) {
  const words = text.value.register;
  const busy = useSignal(false);
  const failed = useSignal<Said>("");
  const done = useSignal<{ href: string; name: string } | null>(null);
  const register = async (event: SubmitEvent) => {
    event.preventDefault();
    const another = (event.submitter as HTMLButtonElement | null)?.value === "another";
    busy.value = true;
    failed.value = "";
    done.value = null;
    try {
      const registered = await send();
      if (!another) return navigate(registered.href);
      done.value = registered;
      next();
    } catch (error) {
      failed.value = describe(error);
    } finally {
      busy.value = false;
    }
  };
  return (
    <form class="card register-form" onSubmit={(event) => void register(event)}>
      <Allowed to="operate">
        {children}
        <div class="step step-end">
          <div>
            {failed.value && (
              <p class="notice is-trouble" role="alert">
                <Glyph name="fail" />
                <span class="wrap">{failed.value}</span>
              </p>
            )}
            {done.value && (
              <p class="notice is-on_air" role="status">
                <Glyph name="check" />
                <span class="wrap">
                  {words.registered(done.value.name)}{" "}
                  <a class="link" href={done.value.href}>
                    {words.show}
                  </a>
                </span>
              </p>
            )}
            <div class="actions">
              <button class="btn primary" type="submit" disabled={busy.value}>
                {submit}
              </button>
              <button class="btn" type="submit" value="another" disabled={busy.value}>
                {words.another}
              </button>
            </div>
          </div>
        </div>
      </Allowed>
    </form>
  );
}

export function Step({ n, title, children }: { n: number; title: string; children: ComponentChildren }) {
  return (
    <section class="step" aria-labelledby={`step-${n}`}>
      <h2 id={`step-${n}`}>
        <span class="step-number" aria-hidden="true">
          {n}
        </span>
        {title}
      </h2>
      <div>{children}</div>
    </section>
  );
}

interface AddressProps {
  id: string;
  label: string;
  hint: string;
  placeholder: string;
  value: string;
  type: (value: string) => void;
  looking: boolean;
  look: () => void;
}

// Address is what is looked at before it is registered.
export function Address({ id, label, hint, placeholder, value, type, looking, look }: AddressProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="with-button">
        <input type="text" inputMode="url" id={id} class="input mono" required maxLength={512} placeholder={placeholder} aria-describedby={`${id}-hint`} value={value} onInput={(e) => type(e.currentTarget.value)} />
        <button class="btn" type="button" disabled={looking || !value.trim()} onClick={look}>
          <Glyph name="retry" />
          {text.value.register.lookAgain}
        </button>
      </div>
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
    </div>
  );
}
