import type { ComponentChildren } from "preact";

interface ChoiceProps<T> {
  label: string;
  hint?: string;
  value: T;
  options: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
  children?: ComponentChildren;
}

// Choice is one of few values, as a group of buttons.
export function Choice<T extends string | boolean>({ label, hint, value, options, onChange, children }: ChoiceProps<T>) {
  return (
    <div class="field">
      <span class="label">{label}</span>
      <div class="actions">
        <span class="segmented" role="group" aria-label={label}>
          {options.map(([of, word]) => (
            <button key={String(of)} type="button" aria-pressed={value === of} onClick={() => onChange(of)} lang={of === "ja" ? "ja" : of === "en" ? "en" : undefined}>
              {word}
            </button>
          ))}
        </span>
        {children}
      </div>
      {hint && <p class="hint">{hint}</p>}
    </div>
  );
}
