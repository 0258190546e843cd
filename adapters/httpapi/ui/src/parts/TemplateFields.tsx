import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Said } from "../actions";
import { testWebhook } from "../api";
import { limits, type NumberName } from "../change";
import { text } from "../i18n";
import { numberNames, presetDetectors, presetNumbers, running, type Numbers, type Template } from "../registration";
import { query, setQuery } from "../router";
import { useService } from "../service";
import { remembered } from "../settings";
import { decimal, wholeDuration } from "../time";
import type { Detectors, Service, Trial } from "../types";
import { CookieJarField } from "./CookieJarField";
import { DetectorFields } from "./DetectorFields";
import { Exchange, StatusWord } from "./Exchange";
import { Labelled, say } from "./Form";
import { Glyph } from "./Glyph";
import type { GlyphName } from "./glyphs";
import { LabelsField } from "./LabelsField";

export const lastCallback = remembered<string>("callback", "");

export type Set = (change: Partial<Template>) => void;

// usePreset is the preset that the address of the page names, else the first.
export function usePreset(): { preset: string; numbers: Numbers } {
  const service = useService();
  const preset = query.value.get("preset") ?? service?.presets[0]?.name ?? "";
  return { preset, numbers: presetNumbers(service, preset) };
}

// TemplateFields choose a preset and change single values and detectors; children are further fields.
export function TemplateFields({ of, set, children }: { of: Template; set: Set; children?: ComponentChildren }) {
  const service = useService();
  const { preset, numbers } = usePreset();
  const choose = (name: string) => {
    set({ changed: {}, detectors: {} });
    setQuery({ preset: name }, "replace");
  };
  return (
    <>
      {service && <Presets service={service} chosen={preset} of={of} choose={choose} />}
      <SingleValues of={of} numbers={numbers} set={set}>
        {children}
      </SingleValues>
      <LabelsField id="set-labels" onInput={(labels) => set({ labels })} />
      <SingleDetectors of={of} preset={presetDetectors(service, preset)} set={set} />
    </>
  );
}

const presetGlyphs: Record<string, GlyphName> = { talk: "talk", music: "music", game: "game", "24x7": "loop", ceremony: "person" };

// sayNumber writes a value of a preset as people read it.
function sayNumber(name: NumberName, value: number | undefined): string {
  if (value === undefined) return "–";
  return name === "silence_db_threshold" ? `${decimal(value)} dB` : wholeDuration(value);
}

function Presets({ service, chosen, of, choose }: { service: Service; chosen: string; of: Template; choose: (name: string) => void }) {
  const words = text.value.register;
  const { changed } = of;
  return (
    <fieldset class="presets">
      <legend class="hidden-text">{words.kind}</legend>
      {service.presets.map(({ name }) => {
        const [title, about] = (words.presets as Record<string, string[]>)[name] ?? [name, ""];
        const numbers = { ...presetNumbers(service, name), ...(name === chosen ? changed : {}) };
        return (
          <label key={name} class={name === chosen ? "preset chosen" : "preset"}>
            <span class="preset-name">
              <Glyph name={presetGlyphs[name] ?? "stream"} />
              <b>{title}</b>
              <input type="radio" name="preset" value={name} checked={name === chosen} onChange={() => choose(name)} />
            </span>
            <span class="preset-text">{about}</span>
            <span class="preset-sets">
              {numberNames.map((field) => (
                <span key={field} class={name === chosen && field in changed ? "changed" : ""}>
                  {words.sets[field]} <b class="num">{sayNumber(field, numbers[field])}</b>
                </span>
              ))}
              <span class={name === chosen && Object.keys(of.detectors).length > 0 ? "changed" : ""}>
                {words.detectors} <b class="num">{Object.keys(running({ ...presetDetectors(service, name), ...(name === chosen ? of.detectors : {}) })).length}</b>
              </span>
            </span>
          </label>
        );
      })}
    </fieldset>
  );
}

function SingleValues({ of, numbers, set, children }: { of: Template; numbers: Numbers; set: Set; children?: ComponentChildren }) {
  const words = text.value;
  const number = (name: NumberName, value: string) => {
    const { [name]: _, ...others } = of.changed;
    set({ changed: value === "" || Number(value) === numbers[name] ? others : { ...others, [name]: Number(value) } });
  };
  const fields = words.monitor.fields;
  return (
    <details class="single" onInvalidCapture={(e) => (e.currentTarget.open = true)}>
      <summary>{words.register.single}</summary>
      <div class="form-grid">
        {limits.map(([name, min, max, step]) => (
          <Labelled key={name} id={`set-${name}`} of={`config.${name}`} label={fields[name]}>
            {(input) => <input class="input" type="number" min={min} max={max} step={step} value={of.changed[name] ?? numbers[name] ?? ""} onInput={(e) => number(name, e.currentTarget.value)} {...input} />}
          </Labelled>
        ))}
        <CookieJarField id="set-cookie-jar" chosen={of.cookieJar} choose={(cookieJar) => set({ cookieJar })} />
        {children}
      </div>
    </details>
  );
}

function SingleDetectors({ of: { detectors: chosen }, preset, set }: { of: Template; preset: Detectors; set: Set }) {
  const words = text.value.register;
  return (
    <details class="single" onInvalidCapture={(e) => (e.currentTarget.open = true)}>
      <summary>{words.detectors}</summary>
      <p class="hint">{words.detectorsHint}</p>
      <DetectorFields
        prefix="detect"
        running={running({ ...preset, ...chosen })}
        change={(name, settings) => {
          const { [name]: _, ...others } = chosen;
          const same = JSON.stringify(settings) === JSON.stringify(preset[name] ?? null);
          set({ detectors: same ? others : { ...others, [name]: settings } });
        }}
      />
    </details>
  );
}

// Callback chooses who is told: those to whom routes lead, or a webhook as well.
export function Callback({ of, set }: { of: Template; set: Set }) {
  const words = text.value.register;
  return (
    <>
      <div>
        <label class="check">
          <input type="radio" name="told" checked={of.callbackURL === null} onChange={() => set({ callbackURL: null })} />
          {words.byRoutes}
        </label>
        <label class="check">
          <input type="radio" name="told" checked={of.callbackURL !== null} onChange={() => set({ callbackURL: lastCallback.value })} />
          {words.byWebhook}
        </label>
      </div>
      {of.callbackURL !== null && <Webhook url={of.callbackURL} of={of} set={set} />}
    </>
  );
}

// Webhook is where events are sent, with a test.
function Webhook({ url, of, set }: { url: string; of: Template; set: Set }) {
  const words = text.value.register;
  const trial = useSignal<Trial | null>(null);
  const failed = useSignal<Said>("");
  const busy = useSignal(false);
  const test = async () => {
    busy.value = true;
    failed.value = "";
    trial.value = null;
    try {
      trial.value = await testWebhook(url.trim());
    } catch (error) {
      failed.value = say(error);
    }
    busy.value = false;
  };
  const t = trial.value;
  return (
    <>
      <Labelled id="callback" of="callback_url" label={words.callback} hint={words.callbackHint}>
        {(input) => (
          <div class="with-button">
            <input type="url" class="input mono" required maxLength={512} placeholder="https://example.com/webhook" value={url} onInput={(e) => set({ callbackURL: e.currentTarget.value })} {...input} />
            <button class="btn" type="button" disabled={busy.value || !url.trim()} onClick={() => void test()}>
              <Glyph name="send" />
              {words.test}
            </button>
          </div>
        )}
      </Labelled>
      <label class="check">
        <input type="checkbox" checked={of.goesOn} onChange={(e) => set({ goesOn: e.currentTarget.checked })} />
        {words.goesOn}
      </label>
      <div aria-live="polite">
        {failed.value && (
          <p class="notice is-trouble">
            <Glyph name="fail" />
            <span class="wrap">{failed.value}</span>
          </p>
        )}
        {t && (
          <div class="trial">
            <p class="trial-head">
              <StatusWord of={t} />
              <b>{t.delivered ? words.delivered : words.refused}</b>
            </p>
            <Exchange of={t} body={t.body} />
          </div>
        )}
      </div>
    </>
  );
}
