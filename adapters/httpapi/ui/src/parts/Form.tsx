// What all forms share: while it is sent, why it is refused, and which fields are wrong.
import { createContext, type ComponentChildren } from "preact";
import { useContext, useEffect, useRef } from "preact/hooks";
import { useSignal, type Signal } from "@preact/signals";
import { describe, Refusal, type Said } from "../actions";
import { APIError } from "../api";
import { text } from "../i18n";
import { refusalAt, refusalOfField } from "../problems";
import type { Problem } from "../types";
import { Glyph } from "./Glyph";

export interface FormState {
  busy: Signal<boolean>;
  failed: Signal<unknown>; // why it was refused; null: it was not
  problems: Signal<Problem[]>; // what is wrong with fields
  shown: Set<string>; // fields that the form has
}

const Context = createContext<FormState | null>(null);

// useForm is the state of a form, and run does what the form is for. What is refused is kept, and no error is thrown.
export function useForm(): { state: FormState; run: (act: () => Promise<unknown>) => Promise<void>; reset: () => void } {
  const busy = useSignal(false);
  const failed = useSignal<unknown>(null);
  const problems = useSignal<Problem[]>([]);
  const shown = useRef(new Set<string>()).current;
  const reset = () => ((failed.value = null), (problems.value = []));
  const run = async (act: () => Promise<unknown>) => {
    reset();
    busy.value = true;
    try {
      await act();
    } catch (error) {
      problems.value = error instanceof APIError ? error.problems : [];
      failed.value = error;
    }
    busy.value = false;
  };
  return { state: { busy, failed, problems, shown }, run, reset };
}

interface Props {
  of: FormState;
  class?: string;
  send: (form: HTMLFormElement, event: SubmitEvent) => unknown;
  children: ComponentChildren;
}

// Form sends no page away. What is refused unfolds the fields that are wrong, and takes the focus to the first.
export function Form({ of, send, children, ...rest }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const failed = of.failed.value;
  useEffect(() => {
    const marked = failed === null ? [] : [...form.current!.querySelectorAll<HTMLElement>("[aria-invalid=true]")];
    for (const field of marked) for (let folded = field.closest("details"); folded; folded = folded.parentElement!.closest("details")) folded.open = true;
    marked[0]?.focus();
  }, [failed]);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void send(event.currentTarget as HTMLFormElement, event);
  };
  return (
    <Context.Provider value={of}>
      <form ref={form} onSubmit={submit} {...rest}>
        {children}
      </form>
    </Context.Provider>
  );
}

// within reports whether a problem is of a field, or of a part of it.
const within = ({ field }: Problem, of: string) => field === of || Boolean(field?.startsWith(`${of}.`) || field?.startsWith(`${of}[`));

// say says why a request is refused, field by field.
export const say = (error: unknown): Said => (error instanceof APIError && error.problems.length > 0 ? <Problems of={error.problems} /> : describe(error));

const Problems = ({ of }: { of: Problem[] }) => (
  <>
    {of.map((p) => (
      <span key={p.message} class="problem">
        <Refusal of={refusalOfField(p)} />
      </span>
    ))}
  </>
);

// Refused says why a form is refused, but for what is said at its fields.
export function Refused({ of, look = "warning" }: { of: FormState; look?: "warning" | "trouble" }) {
  const failed = of.failed.value;
  if (failed === null) return null;
  const elsewhere = of.problems.value.filter((p) => ![...of.shown].some((field) => within(p, field)));
  const marked = failed instanceof APIError && failed.problems.length > elsewhere.length;
  return (
    <div class={`notice is-${look}`} role="alert">
      <Glyph name={look === "warning" ? "warning" : "fail"} />
      <div class="wrap">
        {marked && <p>{text.value.refusals.marked}</p>}
        {marked ? elsewhere.length > 0 && <Problems of={elsewhere} /> : say(failed)}
      </div>
    </div>
  );
}

export interface Mark {
  wrong: Said; // empty: the field is not wrong
  input: { "aria-invalid"?: true; "aria-describedby"?: string }; // of its input
  onInput: () => void; // it is being corrected
}

// useMark says what is wrong with a field of the API, whose input has an id; example: a value that is accepted.
export function useMark(of: string, id: string, hint: boolean, example?: string): Mark {
  const form = useContext(Context);
  useEffect(() => {
    form?.shown.add(of);
    return () => void form?.shown.delete(of);
  }, [form, of]);
  const problem = form?.problems.value.find((p) => within(p, of));
  const ids = [problem && `${id}-wrong`, hint && `${id}-hint`].filter(Boolean).join(" ");
  const empty = () => (document.getElementById(id) as HTMLInputElement | null)?.value === "";
  return {
    wrong: problem ? <Refusal of={refusalAt(problem, empty(), example)} /> : "",
    input: { ...(problem && { "aria-invalid": true }), ...(ids && { "aria-describedby": ids }) },
    onInput: () => problem && (form!.problems.value = form!.problems.peek().filter((p) => !within(p, of))),
  };
}

interface LabelledProps {
  id: string;
  of: string; // what the API calls it
  label: string;
  hint?: string;
  example?: string;
  children: (input: { id: string } & Mark["input"]) => ComponentChildren;
}

// Labelled is a field of a form with its label, what is wrong with it, and its hint.
export function Labelled({ id, of, label, hint, example, children }: LabelledProps) {
  const { wrong, input, onInput } = useMark(of, id, Boolean(hint), example);
  return (
    <div class="field" onInput={onInput}>
      <label for={id}>{label}</label>
      {children({ id, ...input })}
      <Wrong id={id} of={wrong} />
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

// Wrong is what is wrong with the field of an id.
export function Wrong({ id, of }: { id: string; of: Said }) {
  return of ? (
    <p class="wrong wrap" id={`${id}-wrong`}>
      <Glyph name="fail" />
      <span>{of}</span>
    </p>
  ) : null;
}
