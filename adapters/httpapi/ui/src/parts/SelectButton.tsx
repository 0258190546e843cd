import { computed, signal } from "@preact/signals";
import { failure, run } from "../actions";
import { loadPageWords, text } from "../i18n";
import { reasonAgainst } from "../role";
import { chosen } from "../selection";
import { Allowed } from "./Allowed";

const parts = signal<typeof import("./Selection") | null>(null); // are loaded when somebody selects

// SelectBoxOf is what stands in a tile while somebody selects.
export type SelectBoxOf = typeof import("./Selection").SelectBox | null;

// selectBox is the checkbox of a stream; null while nobody selects.
export const selectBox = computed((): SelectBoxOf => (chosen.value && parts.value?.SelectBox) || null);

// select begins to select, or selects a stream or no longer does.
export function select(id?: string): void {
  const reason = reasonAgainst("operate");
  if (reason) failure.value = reason;
  else
    void run(async () => {
      [parts.value] = await Promise.all([import("./Selection"), loadPageWords()]);
      parts.value.toggle(id);
    });
}

// SelectButton begins and ends it.
export function SelectButton() {
  return (
    <span class="select">
      <Allowed to="operate">
        <button class="btn" type="button" aria-pressed={chosen.value !== null} onClick={() => (chosen.value ? (chosen.value = null) : select())}>
          {text.value.wall.select}
        </button>
      </Allowed>
    </span>
  );
}

// Selected is what is done with the selected streams, on every page while it is being done.
export function Selected() {
  const Bar = parts.value?.Bar;
  return Bar ? <Bar /> : null;
}
