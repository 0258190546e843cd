import "../styles/register.css";
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { text } from "../i18n";
import { navigate } from "../router";
import { Allowed } from "./Allowed";
import { Form, Labelled, Refused, useForm } from "./Form";
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
  const { state, run } = useForm();
  const done = useSignal<{ href: string; name: string } | null>(null);
  const register = async (another: boolean) => {
    done.value = null;
    const registered = await send();
    if (!another) return navigate(registered.href);
    done.value = registered;
    next();
  };
  return (
    <Form of={state} class="card register-form" send={(_, { submitter }) => run(() => register((submitter as HTMLButtonElement | null)?.value === "another"))}>
      <Allowed to="operate">
        {children}
        <div class="step step-end">
          <div>
            <Refused of={state} look="trouble" />
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
              <button class="btn primary" type="submit" disabled={state.busy.value}>
                {submit}
              </button>
              <button class="btn" type="submit" value="another" disabled={state.busy.value}>
                {words.another}
              </button>
            </div>
          </div>
        </div>
      </Allowed>
    </Form>
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
  of: string; // what the API calls it
  label: string;
  hint: string;
  placeholder: string;
  value: string;
  type: (value: string) => void;
  looking: boolean;
  look: () => void;
}

// Address is what is looked at before it is registered.
export function Address({ id, of, label, hint, placeholder, value, type, looking, look }: AddressProps) {
  return (
    <Labelled id={id} of={of} label={label} hint={hint}>
      {(input) => (
        <div class="with-button">
          <input type="text" inputMode="url" class="input mono" required maxLength={512} placeholder={placeholder} value={value} onInput={(e) => type(e.currentTarget.value)} {...input} />
          <button class="btn" type="button" disabled={looking || !value.trim()} onClick={look}>
            <Glyph name="retry" />
            {text.value.register.lookAgain}
          </button>
        </div>
      )}
    </Labelled>
  );
}
