import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { text } from "../i18n";
import { address, saved, views } from "../views";
import { Glyph } from "./Glyph";

// Views are the saved views of this browser, and a field to save the present one.
export function Views() {
  const words = text.value.views;
  const name = useSignal("");
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => (menu.current?.querySelector("input")?.focus(), undefined), []);
  const close = () => menu.current && (menu.current.open = false);
  const save = (event: SubmitEvent) => {
    event.preventDefault();
    views.value = saved(views.value, { name: name.value.trim(), address: address() });
    name.value = "";
  };
  return (
    <details ref={menu} class="views" open onKeyDown={(e) => e.key === "Escape" && (close(), menu.current?.querySelector("summary")?.focus())}>
      <summary class="btn quiet">{text.value.common.labels.views}</summary>
      <div class="card">
        {views.value.length === 0 && <p class="hint">{words.none}</p>}
        <ul>
          {views.value.map((view) => (
            <li key={view.name}>
              <a href={view.address} class="link wrap" dir="auto" aria-current={view.address === address() ? "page" : undefined} onClick={close}>
                {view.name}
              </a>
              <button class="icon-btn" type="button" aria-label={words.remove(view.name)} onClick={() => (views.value = views.value.filter((v) => v.name !== view.name))}>
                <Glyph name="fail" />
              </button>
            </li>
          ))}
        </ul>
        <form onSubmit={save}>
          <label class="label" for="view-name">
            {words.name}
          </label>
          <div class="with-button">
            <input id="view-name" class="input" dir="auto" required maxLength={60} pattern=".*\S.*" autocomplete="off" value={name.value} onInput={(e) => (name.value = e.currentTarget.value)} />
            <button class="btn" type="submit">
              {text.value.common.save}
            </button>
          </div>
          <p class="hint">{words.hint}</p>
        </form>
      </div>
    </details>
  );
}
