import { isTwice, type Carried, type HeaderField } from "../carried";
import { text } from "../i18n";
import { Labelled, useMark, Wrong, type Mark } from "./Form";
import { Glyph } from "./Glyph";

interface Props {
  prefix: string; // of ids
  takes: string[]; // fields of config that the source takes
  of: Carried;
  set: (change: Partial<Carried>) => void;
}

// CarriedFields are what requests for a stream carry. Nothing of it is shown again once it is stored.
export function CarriedFields({ prefix, takes, of, set }: Props) {
  const words = text.value.monitor.carried;
  return (
    <>
      {takes.includes("http_headers") && <Headers prefix={prefix} of={of.headers} set={(headers) => set({ headers })} />}
      {takes.includes("token_url") && (
        <Labelled id={`${prefix}-token`} of="config.token_url" label={words.tokenURL} hint={words.tokenHint}>
          {(input) => <Secret type="url" value={of.tokenURL} set={(tokenURL) => set({ tokenURL })} {...input} />}
        </Labelled>
      )}
      {takes.includes("copy_query") && (
        <label class="check">
          <input type="checkbox" checked={of.copyQuery} onChange={(e) => set({ copyQuery: e.currentTarget.checked })} />
          {words.copyQuery}
        </label>
      )}
    </>
  );
}

function Headers({ prefix, of, set }: { prefix: string; of: HeaderField[]; set: (fields: HeaderField[]) => void }) {
  const words = text.value.monitor.carried;
  const change = (at: number, to: Partial<HeaderField>) => set(of.map((field, i) => (i === at ? { ...field, ...to } : field)));
  const id = `${prefix}-headers`;
  const { wrong, input, onInput } = useMark("config.http_headers", id, true);
  const add = () => {
    set([...of, { name: "", value: "" }]);
    requestAnimationFrame(() => document.getElementById(`${prefix}-header-${of.length}`)?.focus());
  };
  return (
    <fieldset class="field carried" aria-describedby={input["aria-describedby"]} onInput={onInput}>
      <legend class="label">{words.headers}</legend>
      {of.map(({ name, value }, at) => (
        <div key={at} class="carried-row">
          <input
            id={`${prefix}-header-${at}`}
            class="input mono"
            required
            maxLength={100}
            placeholder="Authorization"
            aria-label={words.name}
            autocomplete="off"
            spellcheck={false}
            readOnly={value === null}
            value={name}
            aria-invalid={input["aria-invalid"]}
            ref={(input) => input?.setCustomValidity(isTwice(of, at) ? words.twice : "")}
            onInput={(e) => change(at, { name: e.currentTarget.value })}
          />
          <Secret id={`${prefix}-value-${at}`} type="text" label={words.value(name)} required value={value} set={(text) => change(at, { value: text })} />
          <button class="icon-btn" type="button" aria-label={words.remove(name)} title={words.remove(name)} onClick={() => set(of.filter((_, i) => i !== at))}>
            <Glyph name="fail" />
          </button>
        </div>
      ))}
      <div>
        <button class="btn" type="button" onClick={add}>
          <Glyph name="plus" />
          {words.add}
        </button>
      </div>
      <Wrong id={id} of={wrong} />
      <p class="hint" id={`${id}-hint`}>
        {words.headersHint}
      </p>
    </fieldset>
  );
}

interface SecretProps extends Partial<Mark["input"]> {
  id: string;
  type: "text" | "url";
  label?: string;
  required?: boolean;
  value: string | null;
  set: (value: string) => void;
}

// Secret is typed once. A stored one, null, is replaced as a whole.
function Secret({ id, type, label, required, value, set, ...mark }: SecretProps) {
  const words = text.value.monitor.carried;
  if (value === null) {
    const replace = () => {
      set("");
      requestAnimationFrame(() => document.getElementById(id)?.focus());
    };
    return (
      <div class="with-button">
        <input id={id} class="input" disabled aria-label={label} value={words.stored} {...mark} />
        <button class="btn" type="button" onClick={replace}>
          {words.replace}
        </button>
      </div>
    );
  }
  return (
    <input
      id={id}
      class="input mono"
      {...({ type } as { type: "text" })}
      required={required}
      maxLength={type === "url" ? 2048 : 8192}
      placeholder={label}
      aria-label={label}
      autocomplete="off"
      spellcheck={false}
      value={value}
      onInput={(e) => set(e.currentTarget.value)}
      {...mark}
    />
  );
}
