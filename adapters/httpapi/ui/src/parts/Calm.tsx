import { text } from "../i18n";
import { checker, isChecked } from "../store";
import { items } from "../wallmodel";
import { Glyph } from "./Glyph";

// Calm is said only while all streams are looked at in time, and nothing is wrong, unseen or not recorded. If not, a banner or a tile says why.
export function Calm() {
  const words = text.value.wall;
  if (!isChecked.value || items.value.some(({ state, monitor }) => state === "trouble" || state === "warning" || monitor?.record_parked_since)) return null;
  return (
    <section class="section calm">
      <Glyph name="check" />
      <p>
        <b>{words.nobody}</b> <span class="muted">{checker.value && words.nobodyText(checker.value.watched)}</span>
      </p>
    </section>
  );
}
