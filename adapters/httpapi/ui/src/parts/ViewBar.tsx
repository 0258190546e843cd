import { signal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { loadPageWords, text } from "../i18n";
import { wantedLabels, withLabel } from "../labels";
import { navigate, query, setQuery } from "../router";
import { views } from "../views";
import { Glyph } from "./Glyph";

const menu = signal<FunctionComponent | null>(null); // is loaded when somebody asks for it
const openMenu = () => void Promise.all([import("./Views"), loadPageWords()]).then(([{ Views }]) => (menu.value = Views));

// ViewBar chooses labels to see and to group by, and keeps the view. known are the values of each label; without any there is none, unless it is always there.
export function ViewBar({ known, always = false }: { known: ReadonlyMap<string, readonly string[]>; always?: boolean }) {
  const words = text.value.common.labels;
  const wanted = wantedLabels();
  const group = query.value.get("group") ?? "";
  const names = [...new Set([...known.keys(), ...(group ? [group] : [])])];
  if (!always && names.length === 0 && Object.keys(wanted).length === 0 && views.value.length === 0) return null;
  const Menu = menu.value;
  return (
    <div class="view-bar">
      <label class="pick">
        {words.label}
        <select value="" onChange={(e) => e.currentTarget.value && navigate(e.currentTarget.value)}>
          <option value="">{text.value.common.any}</option>
          {[...known].map(([name, values]) => (
            <optgroup key={name} label={name}>
              {values.map((value) => (
                <option key={value} value={withLabel(name, value)} dir="auto">
                  {value}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
      {Object.entries(wanted).map(([name, value]) => (
        <a key={name} class="btn quiet" href={withLabel(name, null)} aria-label={words.remove(`${name}: ${value}`)}>
          {name}: <b dir="auto">{value}</b> <Glyph name="fail" />
        </a>
      ))}
      <label class="pick">
        {words.group}
        <select value={group} onChange={(e) => setQuery({ group: e.currentTarget.value || null })}>
          <option value="">{text.value.common.none}</option>
          {names.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {Menu ? (
        <Menu />
      ) : (
        <button class="btn quiet" type="button" aria-expanded="false" onClick={openMenu}>
          {words.views}
        </button>
      )}
    </div>
  );
}

// groupName is the heading of a group.
export const groupName = (value: string): string => value || text.value.common.labels.without(query.value.get("group") ?? "");
