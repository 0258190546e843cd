// Single keys. They can be switched off (WCAG 2.1.4), and are ignored in fields and during IME composition.
import { keysOn } from "./settings";

type Action = (event: KeyboardEvent) => void;

const actions = new Map<string, Action[]>();
const sequenceMs = 1500;
let prefix = "";
let prefixAt = 0;

// onKey runs action when key is pressed: a single key, or "g w" for one after the other. It returns how to end that.
export function onKey(key: string, action: Action): () => void {
  actions.set(key, [...(actions.get(key) ?? []), action]);
  return () => actions.set(key, (actions.get(key) ?? []).filter((a) => a !== action));
}

// isUsed reports whether key does something on the page that is open.
export const isUsed = (key: string): boolean => (actions.get(key) ?? []).length > 0;

function press(event: KeyboardEvent): void {
  if (!keysOn.value || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const target = event.target as HTMLElement;
  if (target.isContentEditable || target.closest("input:not([type=checkbox]), select, textarea, dialog")) return;
  if (event.key === "Enter" && target.closest("a, button")) return;
  const sequence = prefix && event.timeStamp - prefixAt < sequenceMs ? `${prefix} ${event.key}` : event.key;
  prefix = event.key === "g" ? "g" : "";
  prefixAt = event.timeStamp;
  const found = actions.get(sequence)?.at(-1);
  if (!found) return;
  event.preventDefault();
  found(event);
}

export function startKeyboard(): void {
  addEventListener("keydown", press);
}
