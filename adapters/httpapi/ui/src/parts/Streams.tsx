import type { ComponentChildren } from "preact";
import { nameOf } from "../names";
import { namedOf } from "../streamnames";
import { numberText } from "../wall";
import { byID } from "../wallmodel";
import { Stranger } from "./Name";

const named = (id: string) => namedOf(id, byID.peek().get(id)?.incident?.stream_url ?? id);

export const nameOfID = (id: string): string => nameOf(named(id));

// Streams is a list of streams, with what there is to say of each.
export function Streams({ of }: { of: readonly (readonly [id: string, said?: ComponentChildren])[] }) {
  return (
    <ul class="streams">
      {of.map(([id, said]) => (
        <li key={id}>
          <a href={`/monitors/${id}`}>
            <span class="place">{numberText(named(id).number ?? 0)}</span> <Stranger>{nameOfID(id)}</Stranger>
          </a>
          {said && <span class="muted wrap">{said}</span>}
        </li>
      ))}
    </ul>
  );
}
