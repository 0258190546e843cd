import { detectors, detectorWords, filled } from "../detectors";
import { decimal } from "../time";
import type { Detector, Detectors, Setting } from "../types";
import { Labelled } from "./Form";

// keyOf is the name of a setting of an optional detector within its object.
export const keyOf = (setting: Pick<Setting, "field">): string => setting.field.slice(setting.field.lastIndexOf(".") + 1);
export const settingsOf = (detector: Detector): Setting[] => [detector.threshold, ...detector.settings];

// meaning says what counts as bad, with the values of settings.
function meaning(detector: Detector, settings: Record<string, number>): string {
  const all = detector.criteria.map((c) => [c.name, decimal(c.value ?? settings[keyOf({ field: c.setting ?? "" })] ?? 0, 3)]);
  return filled(detectorWords(detector)?.means ?? "", Object.fromEntries(all));
}

// DetectorFields switches the optional detectors on and off, and sets their numbers.
export function DetectorFields({ prefix, running, change }: { prefix: string; running: Detectors; change: (name: string, settings: Record<string, number> | null) => void }) {
  return (
    <div class="detectors">
      {detectors.value
        .filter((d) => d.optional)
        .map((d) => {
          const settings = running[d.name];
          const defaults = Object.fromEntries(settingsOf(d).map((s) => [keyOf(s), s.default]));
          return (
            <div key={d.name} class={settings ? "detector chosen" : "detector"}>
              <label class="check">
                <input type="checkbox" name={`${prefix}-${d.name}`} checked={Boolean(settings)} onChange={(e) => change(d.name, e.currentTarget.checked ? defaults : null)} />
                <b>{detectorWords(d)?.title ?? d.name}</b>
              </label>
              <p class="hint">{meaning(d, settings ?? defaults)}</p>
              {settings && (
                <div class="form-grid">
                  {settingsOf(d).map((s) => (
                    <Labelled key={s.field} id={`${prefix}-${s.field}`} of={`config.${s.field}`} label={detectorWords(d)?.settings[s.field] ?? keyOf(s)}>
                      {(input) => (
                        <input
                          class="input"
                          type="number"
                          required
                          min={s.min}
                          max={s.max}
                          step={s.whole ? 1 : "any"}
                          value={settings[keyOf(s)] ?? s.default}
                          onInput={(e) => e.currentTarget.value !== "" && change(d.name, { ...settings, [keyOf(s)]: Number(e.currentTarget.value) })}
                          {...input}
                        />
                      )}
                    </Labelled>
                  ))}
                </div>
              )}
            </div>
          );
        })}
    </div>
  );
}
