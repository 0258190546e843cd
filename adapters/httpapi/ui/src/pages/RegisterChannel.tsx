import { useSignal } from "@preact/signals";
import { channels as api, nameOfChannel } from "../channels";
import { text } from "../i18n";
import { useLook } from "../look";
import { NotAllowed } from "../parts/Allowed";
import { FoundStreams } from "../parts/FoundStreams";
import { Glyph } from "../parts/Glyph";
import { ErrorText } from "../parts/Name";
import { PreviewCard } from "../parts/PreviewCard";
import { Address, RegisterForm, Step } from "../parts/RegisterForm";
import { Plan } from "../parts/StreamPreview";
import { Callback, lastCallback, TemplateFields, usePreset } from "../parts/TemplateFields";
import { channelCheckOf, channelRegistrationOf, emptyTemplate, type Template } from "../registration";
import { query, setQuery } from "../router";
import { wholeDuration } from "../time";
import { useTitle } from "../title";
import type { ChannelPreview, ChannelRegistration } from "../types";

export function RegisterChannel() {
  const words = text.value.channels;
  useTitle(words.register);
  const { preset, numbers } = usePreset();
  const address = useSignal(query.peek().get("channel") ?? "");
  const template = useSignal<Template>(emptyTemplate(lastCallback.peek() || null));
  const set = (change: Partial<Template>) => (template.value = { ...template.peek(), ...change });
  const typed = address.value.trim();
  const check = () => channelCheckOf(address.value, template.value, numbers, preset);
  const { seen, look } = useLook<ChannelPreview>({
    field: "channel",
    address: `${typed} ${template.value.cookieJar}`, // another login sees other streams
    complete: /^(@\S{3,}|UC\S{22}|\S+\.\S+\/\S+)$/.test(typed),
    check,
    ask: (registration, abort) => api.preview(registration as Partial<ChannelRegistration>, abort),
  });
  const type = (channel: string) => {
    address.value = channel;
    setQuery({ channel: channel.trim() }, "replace");
  };
  const send = async () => {
    const registration = channelRegistrationOf(address.value, template.value, numbers, preset);
    const registered = await api.register(registration);
    lastCallback.value = registration.callback_url ?? "";
    return { href: `/channels/${registered.channel_id}`, name: seen.preview?.title || nameOfChannel(registered) };
  };
  const next = () => {
    type("");
    document.getElementById("channel")?.focus();
  };
  const { config } = check();
  return (
    <main class="main" id="main">
      <div class="page-head">
        <h1>{words.register}</h1>
        <span class="end">
          <a class="btn" href="/register">
            {text.value.register.title}
          </a>
        </span>
      </div>
      <NotAllowed to="operate" />
      <div class="register">
        <RegisterForm submit={words.submit} send={send} next={next}>
          <Step n={1} title={words.which}>
            <Address id="channel" of="channel" label={words.address} hint={words.addressHint} placeholder="@handle" value={address.value} type={type} looking={seen.looking} look={look} />
          </Step>
          <Step n={2} title={words.kind}>
            <TemplateFields of={template.value} set={set} />
          </Step>
          <Step n={3} title={text.value.register.told}>
            <Callback of={template.value} set={set} />
          </Step>
        </RegisterForm>
        <aside class="register-side">
          <PreviewCard seen={seen} current={check()} nothingYet={words.nothingYet}>
            {seen.preview && <Found of={seen.preview} />}
          </PreviewCard>
          <WillHappen black={config.blackout_threshold_sec} silent={config.silence_threshold_sec} />
        </aside>
      </div>
    </main>
  );
}

// Found is what a channel is, and what of it would be watched now.
function Found({ of }: { of: ChannelPreview }) {
  const words = text.value.channels;
  if (!of.channel_url) return null;
  const facts = [
    [words.handle, of.handle],
    [words.id, of.source_id],
    [text.value.register.facts.stored, of.channel_url],
  ];
  return (
    <>
      {of.title && (
        <h3 class="sees-title wrap" dir="auto">
          {of.title}
        </h3>
      )}
      <dl class="facts">
        {facts.map(
          ([name, value]) =>
            value && (
              <>
                <dt>{name}</dt>
                <dd class="mono">{value}</dd>
              </>
            ),
        )}
      </dl>
      {of.failure ? (
        <p class={of.failure === "no_streams" ? "muted" : "notice is-warning"}>
          {of.failure !== "no_streams" && <Glyph name="blind" />}
          <span class="wrap">
            {words.failures[of.failure]} {of.detail && <ErrorText>{of.detail}</ErrorText>}
          </span>
        </p>
      ) : (
        <FoundStreams streams={of.streams} registered={false} />
      )}
    </>
  );
}

function WillHappen({ black, silent }: { black?: number; silent?: number }) {
  const words = text.value.channels;
  const { now, live, ended, planLive, planEnd } = text.value.register;
  const seconds = (n = 0) => wholeDuration(n);
  return (
    <Plan
      of={[
        [now, "eye", words.planRead],
        [words.planHorizon, "wall", words.planReserved],
        [live, "send", planLive(seconds(black), seconds(silent))],
        [ended, "off", planEnd],
      ]}
    />
  );
}
