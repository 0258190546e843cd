import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { describe, type Said } from "../actions";
import { text } from "../i18n";
import { changed, editing } from "../routing";
import { ask, type Question } from "./Ask";
import { Glyph } from "./Glyph";

interface Props {
  title: string;
  save: (form: FormData) => Promise<unknown>; // what it refuses is shown, and the form stays open
  submit?: string; // the word for it; else that of saving
  onClose?: () => void; // else nothing is being edited any more
  others?: { word: string; act: () => Promise<unknown>; ask?: Omit<Question, "yes"> }[]; // more buttons; ask: a question before
  children: ComponentChildren;
}

// Dialog is the form of what is being edited.
export function Dialog({ title, save, submit, onClose = () => (editing.value = null), others = [], children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const failed = useSignal<Said>("");
  const busy = useSignal(false);
  useEffect(() => dialog.current?.showModal(), []);
  const run = async (act: () => Promise<unknown>) => {
    failed.value = "";
    busy.value = true;
    try {
      await act();
      changed();
      dialog.current?.close();
    } catch (error) {
      failed.value = describe(error);
    }
    busy.value = false;
  };
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    void run(() => save(form));
  };
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={onClose}>
      <form onSubmit={send}>
        <h2 id="dialog-title">{title}</h2>
        {failed.value && (
          <p class="notice is-warning" role="alert">
            <Glyph name="warning" />
            <span class="wrap">{failed.value}</span>
          </p>
        )}
        {children}
        <div class="actions">
          <button class="btn primary" type="submit" disabled={busy.value}>
            {submit ?? text.value.common.save}
          </button>
          <button class="btn quiet" type="button" onClick={() => dialog.current?.close()}>
            {text.value.common.cancel}
          </button>
          {others.map(({ word, act, ask: question }) => (
            <button key={word} class="btn quiet" type="button" disabled={busy.value} onClick={async () => (!question || (await ask({ ...question, yes: word }))) && run(act)}>
              {word}
            </button>
          ))}
        </div>
      </form>
    </dialog>
  );
}

export const typed = (form: FormData, name: string) => form.get(name)?.toString().trim() ?? "";

interface InputProps {
  name: string;
  label: string;
  hint?: string;
  value?: string;
  type?: string;
  required?: boolean;
  placeholder?: string;
  maxLength?: number;
  min?: number;
  max?: number;
  step?: number | "any";
}

// Input is a labelled field of a form.
export function Input({ name, label, hint, value = "", ...rest }: InputProps) {
  const id = `field-${name}`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} name={name} class="input" dir="auto" defaultValue={value} autocomplete="off" aria-describedby={hint && `${id}-hint`} {...(rest as { type: "text" })} />
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

interface SelectProps {
  name: string;
  label: string;
  hint?: string;
  value: string;
  options: readonly (readonly [string, string])[];
  onChange?: (value: string) => void;
}

export function Select({ name, label, hint, value, options, onChange }: SelectProps) {
  const id = `field-${name}`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name} class="input" aria-describedby={hint && `${id}-hint`} onChange={(e) => onChange?.(e.currentTarget.value)}>
        {options.map(([of, word]) => (
          <option key={of} value={of} selected={of === value}>
            {word}
          </option>
        ))}
      </select>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

// Checks are boxes of one name, of which any number may be chosen.
export function Checks({ name, label, chosen, options }: { name: string; label: string; chosen: readonly string[]; options: readonly (readonly [string, string])[] }) {
  return (
    <fieldset class="field">
      <legend class="label">{label}</legend>
      <div class="actions checks">
        {options.map(([value, word]) => (
          <label key={value} class="check">
            <input type="checkbox" name={name} value={value} defaultChecked={chosen.includes(value)} />
            <span dir="auto">{word}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
