import { text } from "../i18n";
import { numberText } from "../wall";
import { items, nameOfItem } from "../wallmodel";
import { Glyph } from "./Glyph";
import { Stranger } from "./Name";

const most = 5; // streams that are named

// Untold names the streams of which nobody is told: they have no webhook, and no route leads their alerts anywhere.
export function Untold() {
  const words = text.value.wall;
  const all = items.value.filter(({ monitor }) => monitor?.untold);
  if (all.length === 0) return null;
  return (
    <p class="notice is-trouble" role="status">
      <Glyph name="warning" />
      <span>
        <b>
          {words.untold} {all.length}
        </b>{" "}
        {all.slice(0, most).map((item) => (
          <a key={item.id} href={`/monitors/${item.id}`}>
            {numberText(item.number)} <Stranger>{nameOfItem(item)}</Stranger>{" "}
          </a>
        ))}
        <span class="dim">{words.untoldHint}</span>
      </span>
      <a class="btn quiet end" href="/routes">
        {words.toRoutes}
      </a>
    </p>
  );
}
