// Who watches: the people on duty, and a silence of everything.
import { text } from "../i18n";
import { duty, useDuty } from "../duty";
import { everything } from "../silenced";
import { now } from "../store";
import { clockMinute, dayKey, shortDay } from "../time";
import { Glyph } from "./Glyph";
import { Stranger } from "./Name";

// OnDuty is a row of the health of the wall; nothing where nobody plans duty.
export function OnDuty() {
  useDuty();
  const words = text.value.wall;
  if (!duty.value?.people.length) return null;
  const { on_duty: people, handover_at: until } = duty.value;
  return (
    <>
      <dt>{words.onDuty}</dt>
      <dd>
        <span>
          {people.length > 0 ? <Stranger>{people.join(text.value.common.listComma)}</Stranger> : words.nobodyOnDuty}
          {until && <> {words.until(clockOf(until))}</>}
        </span>
      </dd>
    </>
  );
}

// AllSilenced says that nobody is told of anything.
export function AllSilenced() {
  const words = text.value.wall;
  const held = everything.value;
  if (!held) return null;
  return (
    <div class="banner is-warning" role="alert">
      <Glyph name="mute" />
      <p>
        <b>{words.allSilenced}</b> {words.allSilencedText(held.by, held.until ? clockOf(held.until) : "")}
      </p>
      <a class="btn end" href="/destinations">
        {words.toSilences}
      </a>
    </div>
  );
}

// clockOf is a clock without seconds, with the day unless that is today.
export const clockOf = (at: string) => (dayKey(at) === dayKey(now.peek()) ? clockMinute(at) : `${shortDay(at)} ${clockMinute(at)}`);
