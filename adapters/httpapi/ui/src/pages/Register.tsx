import "../styles/register.css";
import { useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { describe, type Said } from "../actions";
import { APIError, monitors as api, operationID, testWebhook } from "../api";
import { limits, type NumberName } from "../change";
import { text } from "../i18n";
import { Allowed, NotAllowed } from "../parts/Allowed";
import { CookieJarField } from "../parts/CookieJarField";
import { DetectorFields } from "../parts/DetectorFields";
import { Exchange, StatusWord } from "../parts/Exchange";
import { Glyph } from "../parts/Glyph";
import type { GlyphName } from "../parts/glyphs";
import { StreamPreview, WillHappen, type PreviewState } from "../parts/StreamPreview";
import { retryIn } from "../read";
import { checkOf, emptyDraft, filled, merged, nothingFound, numberNames, presetDetectors, presetNumbers, registrationOf, running, streamURLOf, type Check, type Draft, type Numbers } from "../registration";
import { navigate, query, setQuery } from "../router";
import { may } from "../role";
import { useService } from "../service";
import { remembered } from "../settings";
import { decimal, fromLocalInput, toLocalInput, wholeDuration } from "../time";
import { useTitle } from "../title";
import type { Detectors, Service, Trial } from "../types";

const lastCallback = remembered<string>("callback", "");
const typedMs = 700; // each look asks the platform, so it waits until the address is typed
const checkEveryMs = 7000; // a gateway allows 10 previews a minute
const nothing: PreviewState = { preview: null, tookMs: 0, looking: false, checked: null, failed: "" };

export function Register() {
  const words = text.value.register;
  useTitle(words.title);
  const service = useService();
  const preset = query.value.get("preset") ?? service?.presets[0]?.name ?? "";
  const numbers = presetNumbers(service, preset);
  const draft = useSignal<Draft>(emptyDraft(query.peek().get("url") ?? "", lastCallback.peek()));
  const set = (change: Partial<Draft>) => (draft.value = { ...draft.peek(), ...change });
  const { seen, look } = usePreview(draft, numbers, preset);
  const choose = (name: string) => {
    set({ changed: {}, detectors: {} });
    setQuery({ preset: name }, "replace");
  };
  return (
    <main class="main" id="main">
      <div class="page-head">
        <h1>{words.title}</h1>
      </div>
      <NotAllowed to="operate" />
      <div class="register">
        <Form draft={draft} numbers={numbers} preset={preset} set={set}>
          <Step n={1} title={words.which}>
            <div class="field">
              <label for="stream-url">{words.url}</label>
              <div class="with-button">
                <input
                  type="text"
                  inputMode="url"
                  id="stream-url"
                  class="input mono"
                  required
                  maxLength={512}
                  placeholder="https://www.youtube.com/watch?v=…"
                  aria-describedby="url-hint"
                  value={draft.value.streamURL}
                  onInput={(e) => {
                    set({ streamURL: e.currentTarget.value });
                    setQuery({ url: e.currentTarget.value.trim() }, "replace");
                  }}
                />
                <button class="btn" type="button" disabled={seen.looking || !draft.value.streamURL.trim()} onClick={look}>
                  <Glyph name="retry" />
                  {words.lookAgain}
                </button>
              </div>
              <p class="hint" id="url-hint">
                {words.urlHint}
              </p>
            </div>
          </Step>
          <Step n={2} title={words.kind}>
            {service && <Presets service={service} chosen={preset} draft={draft.value} choose={choose} />}
            <SingleValues draft={draft} numbers={numbers} set={set} />
            <SingleDetectors draft={draft} of={presetDetectors(service, preset)} set={set} />
          </Step>
          <Step n={3} title={words.told}>
            <Callback draft={draft} set={set} />
          </Step>
        </Form>
        <aside class="register-side">
          <StreamPreview seen={seen} current={checkOf(draft.value, numbers, preset)} />
          <WillHappen config={registrationOf(draft.value, numbers).config} preview={seen.preview} leadSec={service?.limits.schedule_lead_sec ?? 600} />
        </aside>
      </div>
    </main>
  );
}

type Set = (change: Partial<Draft>) => void;

// usePreview looks once at each address. Names and planned start fill fields that are empty or were filled so before; they belong
// to the address, and go with it.
// When other fields change it has them checked without the address, so that the stream is not resolved again.
function usePreview(draft: Signal<Draft>, numbers: Numbers, preset: string) {
  const seen = useSignal<PreviewState>(nothing);
  const again = useSignal(0);
  const lookedAt = useRef(0);
  const askedAt = useRef(-checkEveryMs);
  const latest = useRef({ numbers, preset });
  latest.current = { numbers, preset };
  const current = () => checkOf(draft.peek(), latest.current.numbers, latest.current.preset);
  const ask = (check: Partial<Check>, abort: AbortController) => {
    askedAt.current = performance.now();
    return api.preview(check, abort.signal);
  };
  const url = streamURLOf(draft.value.streamURL);
  const known = useRef({ url, found: nothingFound });
  if (known.current.url !== url) {
    draft.value = filled(draft.peek(), known.current.found, nothingFound);
    known.current = { url, found: nothingFound };
    seen.value = nothing;
  }
  const allowed = may("operate");
  useEffect(() => {
    if (!allowed || !/^https?:\/\/\S+\.\S+\/\S+/.test(url)) {
      seen.value = nothing;
      return;
    }
    const abort = new AbortController();
    seen.value = { ...seen.peek(), looking: true, failed: "" };
    const timer = setTimeout(
      async () => {
        const began = performance.now();
        try {
          const checked = current();
          const preview = await ask(checked, abort);
          if (abort.signal.aborted) return;
          const start = preview.state === "upcoming" ? toLocalInput(preview.scheduled_start_at) : "";
          const found = { channel: preview.channel ?? "", title: preview.title ?? "", start };
          const before = draft.peek();
          const after = filled(before, known.current.found, found);
          known.current = { url, found };
          // A start of the platform needs no check: it is refused only because of an end.
          if (!after.end && after.start !== before.start) checked.config.scheduled_start_time = fromLocalInput(after.start) ?? undefined;
          seen.value = { preview, tookMs: performance.now() - began, looking: false, checked, failed: "" };
          draft.value = after;
        } catch (error) {
          if (abort.signal.aborted) return;
          const missing = error instanceof APIError && (error.status === 404 || error.status === 405);
          seen.value = { ...nothing, failed: missing ? text.value.register.noPreview : describe(error) };
        }
      },
      again.value === lookedAt.current ? typedMs : 0,
    );
    lookedAt.current = again.value;
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [url, again.value, allowed]);

  const { preview, looking, checked } = seen.value;
  const wanted = JSON.stringify(checkOf(draft.value, numbers, preset));
  const stale = preview !== null && !looking && JSON.stringify(checked) !== wanted;
  useEffect(() => {
    if (!stale) return;
    const abort = new AbortController();
    const check = async () => {
      const checked = current();
      const { stream_url: _, ...others } = checked;
      try {
        const { problems } = await ask(others, abort);
        const before = seen.peek();
        if (before.preview) seen.value = { ...before, checked, preview: { ...before.preview, problems: merged(before.preview.problems, problems) }, failed: "" };
      } catch (error) {
        if (abort.signal.aborted) return;
        seen.value = { ...seen.peek(), failed: describe(error) };
        const wait = retryIn(error, checkEveryMs);
        if (wait !== null) timer = setTimeout(check, wait);
      }
    };
    let timer = setTimeout(check, Math.max(typedMs, askedAt.current + checkEveryMs - performance.now()));
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [wanted, stale]);
  return { seen: seen.value, look: () => again.value++ };
}

function Step({ n, title, children }: { n: number; title: string; children: ComponentChildren }) {
  return (
    <section class="step" aria-labelledby={`step-${n}`}>
      <h2 id={`step-${n}`}>
        <span class="step-number" aria-hidden="true">
          {n}
        </span>
        {title}
      </h2>
      <div>{children}</div>
    </section>
  );
}

// Form registers. The operation's id stays the same until it succeeded: a lost answer registers nothing twice.
function Form({ draft, numbers, preset, set, children }: { draft: Signal<Draft>; numbers: Numbers; preset: string; set: Set; children: ComponentChildren }) {
  const words = text.value.register;
  const busy = useSignal(false);
  const failed = useSignal<Said>("");
  const done = useSignal<{ id: string; name: string } | null>(null);
  const operation = useRef({ id: "", of: "" });
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const another = (event.submitter as HTMLButtonElement | null)?.value === "another";
    const registration = registrationOf(draft.value, numbers, preset);
    const content = JSON.stringify(registration);
    if (operation.current.of !== content) operation.current = { id: operationID(), of: content };
    busy.value = true;
    failed.value = "";
    done.value = null;
    try {
      const { monitor_id: id } = await api.register(registration, operation.current.id);
      lastCallback.value = registration.callback_url;
      operation.current = { id: "", of: "" };
      if (!another) return navigate(`/monitors/${id}`);
      done.value = { id, name: draft.value.channel || draft.value.title || registration.stream_url };
      set({ streamURL: "", channel: "", title: "", start: "", end: "" });
      setQuery({ url: null }, "replace");
      document.getElementById("stream-url")?.focus();
    } catch (error) {
      failed.value = describe(error);
    } finally {
      busy.value = false;
    }
  };
  return (
    <form class="card register-form" onSubmit={(event) => void submit(event)}>
      <Allowed to="operate">
        {children}
        <div class="step step-end">
          <div>
            {failed.value && (
              <p class="notice is-trouble" role="alert">
                <Glyph name="fail" />
                <span class="wrap">{failed.value}</span>
              </p>
            )}
            {done.value && (
              <p class="notice is-on_air" role="status">
                <Glyph name="check" />
                <span class="wrap">
                  {words.registered(done.value.name)}{" "}
                  <a class="link" href={`/monitors/${done.value.id}`}>
                    {words.show}
                  </a>
                </span>
              </p>
            )}
            <div class="actions">
              <button class="btn primary" type="submit" disabled={busy.value}>
                {words.submit}
              </button>
              <button class="btn" type="submit" value="another" disabled={busy.value}>
                {words.another}
              </button>
            </div>
          </div>
        </div>
      </Allowed>
    </form>
  );
}

const presetGlyphs: Record<string, GlyphName> = { talk: "talk", music: "music", game: "game", "24x7": "loop", ceremony: "person" };

// sayNumber writes a value of a preset as people read it.
function sayNumber(name: NumberName, value: number | undefined): string {
  if (value === undefined) return "–";
  return name === "silence_db_threshold" ? `${decimal(value)} dB` : wholeDuration(value);
}

function Presets({ service, chosen, draft, choose }: { service: Service; chosen: string; draft: Draft; choose: (name: string) => void }) {
  const words = text.value.register;
  const { changed } = draft;
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
              <span class={name === chosen && Object.keys(draft.detectors).length > 0 ? "changed" : ""}>
                {words.detectors} <b class="num">{Object.keys(running({ ...presetDetectors(service, name), ...(name === chosen ? draft.detectors : {}) })).length}</b>
              </span>
            </span>
          </label>
        );
      })}
    </fieldset>
  );
}

function SingleValues({ draft, numbers, set }: { draft: Signal<Draft>; numbers: Numbers; set: Set }) {
  const words = text.value;
  const d = draft.value;
  const number = (name: NumberName, value: string) => {
    const { [name]: _, ...others } = d.changed;
    set({ changed: value === "" || Number(value) === numbers[name] ? others : { ...others, [name]: Number(value) } });
  };
  const fields = words.monitor.fields;
  return (
    <details class="single" onInvalidCapture={(e) => (e.currentTarget.open = true)}>
      <summary>{words.register.single}</summary>
      <div class="form-grid">
        {limits.map(([name, min, max, step]) => (
          <div key={name} class="field">
            <label for={`set-${name}`}>{fields[name]}</label>
            <input id={`set-${name}`} class="input" type="number" min={min} max={max} step={step} value={d.changed[name] ?? numbers[name] ?? ""} onInput={(e) => number(name, e.currentTarget.value)} />
          </div>
        ))}
        <div class="field">
          <label for="set-start">{fields.scheduled_start_time}</label>
          <input id="set-start" class="input" type="datetime-local" step={1} value={d.start} onInput={(e) => set({ start: e.currentTarget.value })} />
        </div>
        <div class="field">
          <label for="set-end">{fields.scheduled_end_time}</label>
          <input id="set-end" class="input" type="datetime-local" step={1} value={d.end} onInput={(e) => set({ end: e.currentTarget.value })} />
        </div>
        <CookieJarField id="set-cookie-jar" chosen={d.cookieJar} choose={(cookieJar) => set({ cookieJar })} />
        <div class="field">
          <label for="set-channel">{fields.channel_name}</label>
          <input id="set-channel" class="input" dir="auto" maxLength={300} value={d.channel} onInput={(e) => set({ channel: e.currentTarget.value })} />
        </div>
        <div class="field">
          <label for="set-title">{fields.stream_title}</label>
          <input id="set-title" class="input" dir="auto" maxLength={300} value={d.title} onInput={(e) => set({ title: e.currentTarget.value })} />
        </div>
      </div>
    </details>
  );
}

function SingleDetectors({ draft, of, set }: { draft: Signal<Draft>; of: Detectors; set: Set }) {
  const words = text.value.register;
  const chosen = draft.value.detectors;
  return (
    <details class="single" onInvalidCapture={(e) => (e.currentTarget.open = true)}>
      <summary>{words.detectors}</summary>
      <p class="hint">{words.detectorsHint}</p>
      <DetectorFields
        prefix="detect"
        running={running({ ...of, ...chosen })}
        change={(name, settings) => {
          const { [name]: _, ...others } = chosen;
          const same = JSON.stringify(settings) === JSON.stringify(of[name] ?? null);
          set({ detectors: same ? others : { ...others, [name]: settings } });
        }}
      />
    </details>
  );
}

function Callback({ draft, set }: { draft: Signal<Draft>; set: Set }) {
  const words = text.value.register;
  const trial = useSignal<Trial | null>(null);
  const failed = useSignal<Said>("");
  const busy = useSignal(false);
  const test = async () => {
    busy.value = true;
    failed.value = "";
    trial.value = null;
    try {
      trial.value = await testWebhook(draft.value.callbackURL.trim());
    } catch (error) {
      failed.value = describe(error);
    }
    busy.value = false;
  };
  const t = trial.value;
  return (
    <>
      <div class="field">
        <label for="callback">{words.callback}</label>
        <div class="with-button">
          <input
            type="url"
            id="callback"
            class="input mono"
            required
            maxLength={512}
            placeholder="https://example.com/webhook"
            aria-describedby="callback-hint"
            value={draft.value.callbackURL}
            onInput={(e) => set({ callbackURL: e.currentTarget.value })}
          />
          <button class="btn" type="button" disabled={busy.value || !draft.value.callbackURL.trim()} onClick={() => void test()}>
            <Glyph name="send" />
            {words.test}
          </button>
        </div>
        <p class="hint" id="callback-hint">
          {words.callbackHint}
        </p>
      </div>
      <label class="check">
        <input type="checkbox" checked={draft.value.goesOn} onChange={(e) => set({ goesOn: e.currentTarget.checked })} />
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
