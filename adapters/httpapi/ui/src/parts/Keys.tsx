import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { text } from "../i18n";
import { isUsed, onKey } from "../keyboard";
import { may } from "../role";
import type { Role } from "../types";
import { keysOn } from "../settings";
import type { Words } from "../i18n";

export const keysOpen = signal(false);

const list: [keys: string, what: keyof Words["shell"]["key"], role?: Role][] = [
  ["j", "next"],
  ["k", "previous"],
  ["Enter", "open"],
  ["a", "acknowledge", "operate"],
  ["s", "silence", "operate"],
  ["r", "refresh"],
  ["/", "search"],
  ["p", "pin"],
  ["x", "select", "operate"],
  ["Escape", "endSelect"],
  ["v", "view"],
  ["f", "room"],
  ["?", "help"],
  ["g w", "wall"],
  ["g i", "incidents"],
  ["g d", "deliveries"],
  ["g c", "channels"],
];

// Keys lists the single keys that do something on the page that is open, and switches them off.
export function Keys() {
  const words = text.value.shell;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => onKey("?", () => (keysOpen.value = true)), []);
  useEffect(() => {
    if (keysOpen.value && !dialog.current?.open) dialog.current?.showModal();
  }, [keysOpen.value]);
  const used = keysOpen.value ? list.filter(([keys, , role]) => isUsed(keys) && (!role || may(role))) : [];
  return (
    <dialog ref={dialog} aria-labelledby="keys-title" onClose={() => (keysOpen.value = false)}>
      <div class="card-head">
        <h2 id="keys-title">{words.keys}</h2>
        <button class="btn quiet end" type="button" onClick={() => dialog.current?.close()}>
          {text.value.common.close}
        </button>
      </div>
      <dl class="keys">
        {used.map(([keys, what]) => (
          <div key={keys}>
            <dt>{words.key[what]}</dt>
            <dd>
              {keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <label class="keys-end">
        <input type="checkbox" checked={keysOn.value} onChange={(e) => (keysOn.value = e.currentTarget.checked)} />
        {words.keysOn}
      </label>
    </dialog>
  );
}
