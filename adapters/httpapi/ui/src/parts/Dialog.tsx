import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { text } from "../i18n";
import { changed, editing } from "../routing";
import { ask, type Question } from "./Ask";
import { Form, Labelled, Refused, useForm, useMark, Wrong } from "./Form";

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
  const { state, run } = useForm();
  useEffect(() => dialog.current?.showModal(), []);
  const done = async (act: () => Promise<unknown>) => {
    await act();
    changed();
    dialog.current?.close();
  };
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={onClose}>
      <Form of={state} send={(form) => run(() => done(() => save(new FormData(form))))}>
        <h2 id="dialog-title">{title}</h2>
        <Refused of={state} />
        {children}
        <div class="actions">
          <button class="btn primary" type="submit" disabled={state.busy.value}>
            {submit ?? text.value.common.save}
          </button>
          <button class="btn quiet" type="button" onClick={() => dialog.current?.close()}>
            {text.value.common.cancel}
          </button>
          {others.map(({ word, act, ask: question }) => (
            <button key={word} class="btn quiet" type="button" disabled={state.busy.value} onClick={async () => (!question || (await ask({ ...question, yes: word }))) && run(() => done(act))}>
              {word}
            </button>
          ))}
        </div>
      </Form>
    </dialog>
  );
}

export const typed = (form: FormData, name: string) => form.get(name)?.toString().trim() ?? "";

interface InputProps {
  name: string;
  of?: string; // what the API calls it; else its name
  label: string;
  hint?: string;
  example?: string;
  value?: string;
  type?: string;
  required?: boolean;
  placeholder?: string;
  maxLength?: number;
  min?: number | string;
  max?: number | string;
  step?: number | "any";
}

// Input is a labelled field of a form.
export function Input({ name, of = name, label, hint, example, value = "", ...rest }: InputProps) {
  return (
    <Labelled id={`field-${name}`} of={of} label={label} hint={hint} example={example}>
      {(input) => <input name={name} class="input" dir="auto" defaultValue={value} autocomplete="off" {...(rest as { type: "text" })} {...input} />}
    </Labelled>
  );
}

interface SelectProps {
  name: string;
  of?: string; // what the API calls it; else its name
  label: string;
  hint?: string;
  value: string;
  options: readonly (readonly [string, string])[];
  onChange?: (value: string) => void;
}

export function Select({ name, of = name, label, hint, value, options, onChange }: SelectProps) {
  return (
    <Labelled id={`field-${name}`} of={of} label={label} hint={hint}>
      {(input) => (
        <select name={name} class="input" onChange={(e) => onChange?.(e.currentTarget.value)} {...input}>
          {options.map(([of, word]) => (
            <option key={of} value={of} selected={of === value}>
              {word}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

interface ChecksProps {
  name: string;
  of?: string; // what the API calls it; else its name
  label: string;
  chosen: readonly string[];
  options: readonly (readonly [string, string])[];
}

// Checks are boxes of one name, of which any number may be chosen.
export function Checks({ name, of = name, label, chosen, options }: ChecksProps) {
  const { wrong, input, onInput } = useMark(of, `field-${name}`, false);
  return (
    <fieldset class="field" onInput={onInput}>
      <legend class="label">{label}</legend>
      <div class="actions checks">
        {options.map(([value, word]) => (
          <label key={value} class="check">
            <input type="checkbox" name={name} value={value} defaultChecked={chosen.includes(value)} {...input} />
            <span dir="auto">{word}</span>
          </label>
        ))}
      </div>
      <Wrong id={`field-${name}`} of={wrong} />
    </fieldset>
  );
}
