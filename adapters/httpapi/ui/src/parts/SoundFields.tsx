import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { SoundSettings } from "../alarm";
import { canSpeak, hasVoice, play, say, sounding } from "../chime";
import { text } from "../i18n";
import { sound } from "../settings";
import { wholeDuration } from "../time";
import { Choice } from "./Choice";
import { Glyph } from "./Glyph";

const severities = [0, 1, 2, 3];
const repeats = [10, 30, 60, 300]; // seconds

// SoundFields are what this browser lets sound: how often, from which severity on, and when it is quiet.
export function SoundFields() {
  const words = text.value.settings.sounds;
  const { severity } = text.value.common;
  const { repeatSec, least, quiet, spoken } = sounding.value;
  const set = (change: Partial<SoundSettings>) => (sounding.value = { ...sounding.value, ...change });
  const setQuiet = (change: Partial<SoundSettings["quiet"]>) => set({ quiet: { ...quiet, ...change } });
  const onOff = [[true, text.value.settings.on], [false, text.value.settings.off]] as const;
  return (
    <>
      <Choice label={words.title} hint={words.hint} value={sound.value} options={onOff} onChange={(on) => ((sound.value = on), on && play(1))}>
        {severities.map((s) => (
          <button key={s} class="btn quiet" type="button" onClick={() => play(s)} aria-label={words.hear(severity(s))}>
            <Glyph name="bell" />
            {severity(s)}
          </button>
        ))}
      </Choice>
      <Select label={words.repeat} value={repeatSec} options={[...repeats.map((s): [number, string] => [s, words.every(wholeDuration(s))]), [0, words.once]]} onChange={(value) => set({ repeatSec: value })} />
      <Select label={words.least} value={least} options={severities.map((s) => [s, words.from(s === 0 ? "" : severity(s))])} onChange={(value) => set({ least: value })} />
      <Choice label={words.quiet} hint={words.quietHint(Intl.DateTimeFormat().resolvedOptions().timeZone)} value={quiet.on} options={onOff} onChange={(on) => setQuiet({ on })}>
        {quiet.on && (
          <>
            <Time label={words.quietFrom} value={quiet.from} onChange={(from) => setQuiet({ from })} />
            <Time label={words.quietTo} value={quiet.to} onChange={(to) => setQuiet({ to })} />
            <label class="pick">
              {words.quietLeast}
              <select value={quiet.least} onChange={(e) => setQuiet({ least: Number(e.currentTarget.value) })}>
                {severities.slice(1).map((s) => (
                  <option key={s} value={s}>
                    {words.from(severity(s))}
                  </option>
                ))}
                <option value={4}>{words.nothing}</option>
              </select>
            </label>
          </>
        )}
      </Choice>
      <Choice label={words.spoken} hint={words.spokenHint} value={spoken} options={onOff} onChange={(on) => set({ spoken: on })}>
        {canSpeak() && (
          <button class="btn quiet" type="button" onClick={() => say(words.sample)}>
            <Glyph name="talk" />
            {words.hearVoice}
          </button>
        )}
        {spoken && <NoVoice />}
      </Choice>
    </>
  );
}

// NoVoice says that names will not be heard.
function NoVoice() {
  const there = useSignal(hasVoice());
  useEffect(() => {
    if (!canSpeak()) return;
    const look = () => (there.value = hasVoice());
    speechSynthesis.addEventListener("voiceschanged", look);
    return () => speechSynthesis.removeEventListener("voiceschanged", look);
  }, []);
  return there.value ? null : (
    <span class="word is-warning" role="status">
      {text.value.settings.sounds.noVoice}
    </span>
  );
}

interface SelectProps {
  label: string;
  value: number;
  options: readonly (readonly [number, string])[];
  onChange: (value: number) => void;
}

function Select({ label, value, options, onChange }: SelectProps) {
  return (
    <label class="field">
      <span class="label">{label}</span>
      <span>
        <select class="input" value={value} onChange={(e) => onChange(Number(e.currentTarget.value))}>
          {options.map(([of, word]) => (
            <option key={of} value={of}>
              {word}
            </option>
          ))}
        </select>
      </span>
    </label>
  );
}

// Time keeps what it was while a person empties it.
function Time({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  return (
    <label class="pick">
      {label}
      <input type="time" required value={value} onChange={(e) => e.currentTarget.value && onChange(e.currentTarget.value)} />
    </label>
  );
}
