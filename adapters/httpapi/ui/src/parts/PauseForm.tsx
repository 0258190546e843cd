import { useSignal } from "@preact/signals";
import { monitors as api } from "../api";
import { text } from "../i18n";
import { now } from "../store";
import { toLocalInput } from "../time";
import { Dialog, Select, typed } from "./Dialog";

const minuteMs = 60_000;
const longestMs = 7 * 24 * 60 * minuteMs;

// PauseForm pauses a stream for some minutes, or until a time in the viewer's zone.
export function PauseForm({ id, onClose }: { id: string; onClose: () => void }) {
  const words = text.value.monitor;
  const lasts = useSignal("15");
  const local = (at: number) => toLocalInput(new Date(at).toISOString()).slice(0, 16);
  const save = (form: FormData) => {
    const until = lasts.value === "until" ? Date.parse(typed(form, "until")) : now.peek() + Number(lasts.value) * minuteMs;
    return api.change(id, { paused_until: new Date(until).toISOString() });
  };
  return (
    <Dialog title={words.pauseTitle} submit={words.pauseSubmit} save={save} onClose={onClose}>
      <p class="hint">{words.pauseHint}</p>
      <Select
        name="lasts"
        label={words.pauseFor}
        value={lasts.value}
        options={[
          ["15", words.minutes15],
          ["60", words.hour1],
          ["until", words.untilTime],
        ]}
        onChange={(value) => (lasts.value = value)}
      />
      {lasts.value === "until" && (
        <div class="field">
          <label for="field-until">{words.pauseUntil}</label>
          <input id="field-until" name="until" class="input" type="datetime-local" required min={local(now.peek() + minuteMs)} max={local(now.peek() + longestMs - minuteMs)} defaultValue={local(now.peek() + 60 * minuteMs)} aria-describedby="field-until-hint" />
          <p class="hint" id="field-until-hint">
            {words.pauseMost}
          </p>
        </div>
      )}
    </Dialog>
  );
}
