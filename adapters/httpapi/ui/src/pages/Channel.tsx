import "../styles/channels.css";
import "../styles/monitor.css";
import { useComputed, useSignal } from "@preact/signals";
import { describe } from "../actions";
import { APIError } from "../api";
import { channelChangeOf, channels as api, hasRunning, nameOfChannel, readingOf } from "../channels";
import { detectors, detectorWords } from "../detectors";
import { text } from "../i18n";
import { isolated, shortURL } from "../names";
import { Allowed } from "../parts/Allowed";
import { ChannelEvents } from "../parts/ChannelEvents";
import { ChangeForm, changing } from "../parts/ChangeForm";
import { Dialog, typed } from "../parts/Dialog";
import { FoundStreams } from "../parts/FoundStreams";
import { Glyph } from "../parts/Glyph";
import { ErrorText } from "../parts/Name";
import { nextReading, ReadingWord } from "../parts/Reading";
import { References } from "../parts/References";
import { Facts, keptBy, rulesOf, timeOrNone, type Fact } from "../parts/Watching";
import { useRead } from "../read";
import { running } from "../registration";
import { changed, changes } from "../routing";
import { now } from "../store";
import { clockDay } from "../time";
import { useTitle } from "../title";
import type { Channel as Data } from "../types";

const readEveryMs = 10_000; // no feed tells how a channel is

// Channel is what was found of a channel, what becomes of it, and why.
export function Channel({ id }: { id: string }) {
  const words = text.value.channels;
  const tick = useComputed(() => Math.floor(now.value / readEveryMs)).value;
  const { answer, failed } = useRead((abort) => api.read(id, abort), [changes.value, tick]);
  if (answer.value) return <Loaded of={answer.value} tick={tick} />;
  const error = failed.value;
  return (
    <main class="main" id="main" aria-busy={error === null}>
      <h1 class={error === null ? "hidden-text" : ""}>{words.title}</h1>
      <p>{error === null ? text.value.common.loading : error instanceof APIError && error.status === 404 ? words.notFound : describe(error)}</p>
    </main>
  );
}

function Loaded({ of, tick }: { of: Data; tick: number }) {
  const words = text.value.channels;
  const stopping = useSignal(false);
  const name = nameOfChannel(of);
  useTitle(isolated(name));
  return (
    <main class="main monitor" id="main">
      <nav class="crumbs" aria-label={text.value.monitor.where}>
        <a href="/channels">{words.title}</a>
        <Glyph name="right" />
        <span class="mono">{of.channel_id.slice(-8)}</span>
      </nav>
      <Head of={of} name={name} stop={() => (stopping.value = true)} />
      <div class="monitor-columns">
        <section class="card" aria-labelledby="found-title">
          <div class="card-head">
            <h2 id="found-title">{words.streams}</h2>
            <a class="link end" href={`/ended?channel=${of.channel_id}`}>
              {text.value.ended.title}
            </a>
          </div>
          <div class="card-body">
            <FoundStreams streams={of.streams ?? []} registered />
          </div>
        </section>
        <div>
          <How of={of} />
          <References key={of.channel_id} of={{ kind: "channels", id: of.channel_id }} hint={words.referencesHint} runs={of.config.detectors} ended={!!of.stopped_at} />
          <ChannelEvents id={of.channel_id} change={tick} />
        </div>
      </div>
      {stopping.value && <StopForm of={of} name={name} close={() => (stopping.value = false)} />}
    </main>
  );
}

function Head({ of, name, stop }: { of: Data; name: string; stop: () => void }) {
  const words = text.value.channels;
  const { reading } = of;
  return (
    <div class="monitor-name">
      <h1>
        <ReadingWord of={of} />
        <span dir="auto" class="wrap">
          {name}
        </span>
      </h1>
      <p class="monitor-facts">
        <a href={of.channel_url} target="_blank" rel="noreferrer noopener">
          <Glyph name="link" />
          <b class="mono">{shortURL(of.channel_url)}</b>
        </a>
        {of.handle && <span dir="auto">{of.handle}</span>}
        <span>
          <Glyph name="eye" />
          {words.lastRead} <b class="num">{reading.read_at ? clockDay(reading.read_at, now.peek()) : text.value.monitor.never}</b>
          {reading.by && words.by(reading.by)}
        </span>
        {reading.next_at && (
          <span>
            <Glyph name="waiting" />
            {words.nextRead} <b class="num">{nextReading(of)}</b>
          </span>
        )}
      </p>
      {reading.failure && !of.stopped_at && (
        <div class="notice is-warning" role={readingOf(of) === "unreadable" ? "alert" : "status"}>
          <Glyph name="blind" />
          <p>
            {words.failures[reading.failure]} {words.stays} {reading.last_error && <ErrorText>{reading.last_error}</ErrorText>}
          </p>
        </div>
      )}
      {!of.stopped_at && (
        <div class="actions">
          <Allowed to="operate">
            <button class="btn" type="button" onClick={() => (changing.value = true)}>
              {text.value.monitor.change}
            </button>
            <button class="btn quiet" type="button" onClick={stop}>
              <Glyph name="stop" />
              {words.stop}
            </button>
          </Allowed>
        </div>
      )}
    </div>
  );
}

// How is what the streams are registered with, and its change.
function How({ of }: { of: Data }) {
  const words = text.value.channels;
  const monitor = text.value.monitor;
  const config = { ...of.config, cookie_jar: of.cookie_jar };
  const on = running(config.detectors ?? {});
  const names = detectors.value.filter((d) => on[d.name]).map((d) => detectorWords(d)?.title ?? d.name);
  const facts: Fact[] = [
    ...rulesOf(config),
    [monitor.detectors, names.join(text.value.common.listComma) || monitor.none],
    [monitor.registered, timeOrNone(of.created_at)],
    ...(of.source_id ? [[words.id, of.source_id, true] as Fact] : []),
    ...keptBy(of),
  ];
  return (
    <section class="card" aria-labelledby="how-title">
      <div class="card-head">
        <h2 id="how-title">{words.kind}</h2>
      </div>
      <Facts of={facts} metadata={of.metadata} labels={of.labels} />
      <ChangeForm
        title={words.changeTitle}
        hint={words.changeHint}
        owner={of.owner}
        config={config}
        metadata={of.metadata}
        labels={of.labels ?? {}}
        save={async (change) => {
          await api.change(of.channel_id, channelChangeOf(change));
          changed();
        }}
      />
    </section>
  );
}

// StopForm asks about streams that are being watched, also when only the gateway knows of them.
function StopForm({ of, name, close }: { of: Data; name: string; close: () => void }) {
  const words = text.value.channels;
  const asked = useSignal(hasRunning(of.streams ?? []));
  const stop = async (form: FormData) => {
    try {
      await api.stop(of.channel_id, (typed(form, "running") || null) as "keep" | "stop" | null);
    } catch (error) {
      if (error instanceof APIError && error.code === "CHANNEL_RUNNING") asked.value = true;
      throw error;
    }
  };
  return (
    <Dialog title={words.stopTitle(isolated(name))} submit={words.stop} save={stop} onClose={close}>
      <p>{words.stopText}</p>
      {asked.value && (
        <fieldset class="field">
          <legend class="label">{words.running}</legend>
          <div>
            {(["keep", "stop"] as const).map((choice) => (
              <label key={choice} class="check">
                <input type="radio" name="running" value={choice} required />
                {words.runningChoices[choice]}
              </label>
            ))}
          </div>
        </fieldset>
      )}
    </Dialog>
  );
}
