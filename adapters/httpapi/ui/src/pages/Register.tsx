import "../styles/register.css";
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { monitors as api, operationID } from "../api";
import { nothingCarried, only, takenBy } from "../carried";
import { text } from "../i18n";
import { useLook } from "../look";
import { NotAllowed } from "../parts/Allowed";
import { CarriedFields } from "../parts/CarriedFields";
import { Labelled } from "../parts/Form";
import { Address, RegisterForm, Step } from "../parts/RegisterForm";
import { StreamPreview, WillHappen } from "../parts/StreamPreview";
import { Callback, lastCallback, TemplateFields, usePreset } from "../parts/TemplateFields";
import { checkOf, emptyDraft, filled, namesChannel, nothingFound, registrationOf, streamURLOf, type Draft } from "../registration";
import { query, setQuery } from "../router";
import { useService } from "../service";
import { fromLocalInput, toLocalInput } from "../time";
import { useTitle } from "../title";

export function Register() {
  const words = text.value.register;
  const { fields } = text.value.monitor;
  useTitle(words.title);
  const service = useService();
  const { preset, numbers } = usePreset();
  const draft = useSignal<Draft>(emptyDraft(query.peek().get("url") ?? "", lastCallback.peek() || null));
  const set = (change: Partial<Draft>) => (draft.value = { ...draft.peek(), ...change });
  const operation = useRef({ id: "", of: "" });
  const takes = useRef<string[]>([]);
  const taken = () => ({ ...draft.value, carried: only(draft.value.carried, takes.current) });
  // Names and planned start fill fields that are empty or were filled so before; they belong to the address, and go with it.
  const url = streamURLOf(draft.value.streamURL);
  const known = useRef({ url, found: nothingFound });
  if (known.current.url !== url) {
    draft.value = filled(draft.peek(), known.current.found, nothingFound);
    known.current = { url, found: nothingFound };
  }
  const { seen, look } = useLook({
    field: "stream_url",
    address: url,
    complete: /^([a-z]+\+https?:\/\/|https?:\/\/\S+\.)\S+\/\S/.test(url),
    check: () => checkOf(taken(), numbers, preset),
    ask: api.preview,
    found: (preview, checked) => {
      const start = preview.state === "upcoming" ? toLocalInput(preview.scheduled_start_at) : "";
      const found = { channel: preview.channel ?? "", title: preview.title ?? "", start };
      const before = draft.peek();
      const after = filled(before, known.current.found, found);
      known.current = { url, found };
      // A start of the platform needs no check: it is refused only because of an end.
      if (!after.end && after.start !== before.start) checked.config.scheduled_start_time = fromLocalInput(after.start) ?? undefined;
      draft.value = after;
    },
  });
  takes.current = takenBy(service, url, seen.preview?.source) ?? [];
  // The operation's id stays the same until it succeeded: a lost answer registers nothing twice.
  const send = async () => {
    const registration = registrationOf(taken(), numbers, preset);
    const content = JSON.stringify(registration);
    if (operation.current.of !== content) operation.current = { id: operationID(), of: content };
    const { monitor_id: id } = await api.register(registration, operation.current.id);
    lastCallback.value = registration.callback_url ?? "";
    operation.current = { id: "", of: "" };
    return { href: `/monitors/${id}`, name: draft.value.channel || draft.value.title || registration.stream_url };
  };
  const next = () => {
    set({ streamURL: "", channel: "", title: "", start: "", end: "", carried: nothingCarried });
    setQuery({ url: null }, "replace");
    document.getElementById("stream-url")?.focus();
  };
  const d = draft.value;
  const channel = namesChannel(url);
  return (
    <main class="main" id="main">
      <div class="page-head">
        <h1>{words.title}</h1>
        <span class="end">
          <a class="btn" href="/channels/register">
            {text.value.channels.register}
          </a>
        </span>
      </div>
      <p class="many-at-once">
        {words.many[0]}
        <a class="link" href="/monitors.csv" download>
          {words.many[1]}
        </a>
        {words.many[2]}
        <code>stream-monitor import monitors.csv</code>
        {words.many[3]}
      </p>
      <NotAllowed to="operate" />
      <div class="register">
        <RegisterForm submit={words.submit} send={send} next={next}>
          <Step n={1} title={words.which}>
            <Address
              id="stream-url"
              of="stream_url"
              label={words.url}
              hint={words.urlHint}
              placeholder="https://www.youtube.com/watch?v=…"
              value={d.streamURL}
              type={(streamURL) => {
                set({ streamURL });
                setQuery({ url: streamURL.trim() }, "replace");
              }}
              looking={seen.looking}
              look={look}
            />
            {channel && (
              <p class="notice is-waiting" role="status">
                <span>
                  {text.value.channels.isChannel}{" "}
                  <a class="link" href={`/channels/register?channel=${encodeURIComponent(url)}`}>
                    {text.value.channels.register}
                  </a>
                </span>
              </p>
            )}
            <CarriedFields prefix="set" takes={takes.current} of={d.carried} set={(change) => set({ carried: { ...draft.peek().carried, ...change } })} />
          </Step>
          <Step n={2} title={words.kind}>
            <TemplateFields of={d} set={set}>
              <Labelled id="set-start" of="config.scheduled_start_time" label={fields.scheduled_start_time}>
                {(input) => <input class="input" type="datetime-local" step={1} value={d.start} onInput={(e) => set({ start: e.currentTarget.value })} {...input} />}
              </Labelled>
              <Labelled id="set-end" of="config.scheduled_end_time" label={fields.scheduled_end_time}>
                {(input) => <input class="input" type="datetime-local" step={1} value={d.end} onInput={(e) => set({ end: e.currentTarget.value })} {...input} />}
              </Labelled>
              <Labelled id="set-channel" of="metadata.channel_name" label={fields.channel_name}>
                {(input) => <input class="input" dir="auto" maxLength={300} value={d.channel} onInput={(e) => set({ channel: e.currentTarget.value })} {...input} />}
              </Labelled>
              <Labelled id="set-title" of="metadata.stream_title" label={fields.stream_title}>
                {(input) => <input class="input" dir="auto" maxLength={300} value={d.title} onInput={(e) => set({ title: e.currentTarget.value })} {...input} />}
              </Labelled>
            </TemplateFields>
          </Step>
          <Step n={3} title={words.told}>
            <Callback of={d} set={set} />
          </Step>
        </RegisterForm>
        <aside class="register-side">
          <StreamPreview seen={seen} current={checkOf(taken(), numbers, preset)} />
          <WillHappen config={registrationOf(d, numbers).config} preview={seen.preview} leadSec={service?.limits.schedule_lead_sec ?? 600} />
        </aside>
      </div>
    </main>
  );
}
