import { useSignal } from "@preact/signals";
import { monitors as api } from "../api";
import { text } from "../i18n";
import { now } from "../store";
import { fromLocalInput, toLocalInput, wholeDuration } from "../time";
import { Dialog, Input, Select, typed } from "./Dialog";

const minuteMs = 60_000;
const longestMs = 7 * 24 * 60 * minuteMs;
export const usualPause = "60"; // minutes
const pauses = ["15", usualPause, "240"];

// PauseForm pauses one stream.
export function PauseForm({ id, onClose }: { id: string; onClose: () => void }) {
  const words = text.value.monitor;
  return (
    <Dialog title={words.pauseTitle} submit={words.pauseSubmit} save={(form) => api.change(id, { paused_until: pauseEnd(form) })} onClose={onClose}>
      <PauseFields />
    </Dialog>
  );
}

// PauseFields ask until when nobody looks: for some minutes, or until a time in the viewer's zone.
export function PauseFields() {
  const words = text.value.notifications;
  const { pauseHint, pauseMost } = text.value.monitor;
  const minutes = useSignal(usualPause);
  const inMs = (ms: number) => toLocalInput(new Date(now.peek() + ms).toISOString()).slice(0, 16);
  return (
    <>
      <p class="hint">{pauseHint}</p>
      <div class="form-grid">
        <Select name="minutes" of={minutes.value ? "paused_until" : "minutes"} label={words.howLong} value={minutes.value} options={[...pauses.map((n) => [n, wholeDuration(Number(n) * 60)] as const), ["", words.untilATime]]} onChange={(value) => (minutes.value = value)} />
        {minutes.value === "" && <Input name="until" of="paused_until" label={words.until} hint={pauseMost} type="datetime-local" required min={inMs(minuteMs)} max={inMs(longestMs - minuteMs)} value={inMs(60 * minuteMs)} />}
      </div>
    </>
  );
}

// pauseEnd reads PauseFields; empty: what is typed is no time.
export function pauseEnd(form: FormData): string {
  const minutes = Number(typed(form, "minutes"));
  return minutes > 0 ? new Date(now.peek() + minutes * minuteMs).toISOString() : (fromLocalInput(typed(form, "until")) ?? "");
}
