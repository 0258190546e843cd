import "../styles/channels.css";
import { useComputed } from "@preact/signals";
import { describe, run } from "../actions";
import { nameOfChannel, readChannels, readingOf, type ChannelList } from "../channels";
import { csvOfChannels, save } from "../csv";
import { text } from "../i18n";
import { shortURL } from "../names";
import { Glyph } from "../parts/Glyph";
import { Stranger } from "../parts/Name";
import { nextReading, ReadingWord } from "../parts/Reading";
import { useRead } from "../read";
import { path, query, setQuery, withQuery } from "../router";
import { now } from "../store";
import { clockDay, number } from "../time";
import { useTitle } from "../title";
import type { Channel as Data } from "../types";
import { Channel } from "./Channel";
import { RegisterChannel } from "./RegisterChannel";

const readEveryMs = 30_000; // no feed tells how a channel is
const moreAtOnce = 200;

// Channels is the list, the page of one channel, or the form that registers one.
export function Channels() {
  const id = path.value.split("/")[2];
  if (!id) return <List />;
  return id === "register" ? <RegisterChannel /> : <Channel key={id} id={decodeURIComponent(id)} />;
}

function List() {
  const words = text.value.channels;
  useTitle(words.title);
  const stopped = query.value.get("stopped") === "true";
  const most = Number(query.value.get("most")) || moreAtOnce;
  const tick = useComputed(() => Math.floor(now.value / readEveryMs)).value;
  const { answer, failed } = useRead((abort) => readChannels(stopped, most, abort), [stopped, most, tick]);
  const list = answer.value;
  const exportAll = async () => {
    const all = await readChannels(stopped, Infinity, new AbortController().signal);
    save(`channels-${new Date(now.peek()).toISOString().slice(0, 10)}.csv`, csvOfChannels(all.channels));
  };
  return (
    <main class="main" id="main" aria-busy={!list && failed.value === null}>
      <div class="page-head">
        <h1>{words.title}</h1>
        <nav class="segmented" aria-label={words.show}>
          {(["registered", "all"] as const).map((which) => (
            <a key={which} href={withQuery({ stopped: which === "all" ? "true" : null })} aria-current={(which === "all") === stopped ? "true" : undefined}>
              {words.shown[which]}
            </a>
          ))}
        </nav>
        <span class="end actions">
          <button class="btn" type="button" disabled={!list?.total} onClick={() => void run(exportAll)}>
            {text.value.incidents.exportCSV}
          </button>
          <a class="btn primary" href="/channels/register">
            <Glyph name="plus" />
            {words.register}
          </a>
        </span>
      </div>
      {failed.value !== null && (
        <p class="notice is-warning" role="alert">
          <Glyph name="warning" />
          {describe(failed.value)}
        </p>
      )}
      {!list && failed.value === null && <p>{text.value.common.loading}</p>}
      {list && <Table list={list} />}
      {list && list.channels.length < list.total && (
        <button class="btn" type="button" onClick={() => setQuery({ most: String(list.channels.length + moreAtOnce) }, "replace")}>
          {words.more}
        </button>
      )}
    </main>
  );
}

function Table({ list }: { list: ChannelList }) {
  const words = text.value.channels;
  const { columns } = words;
  if (list.channels.length === 0) return <p class="card card-body muted">{words.none}</p>;
  return (
    <div class="card scroll-x">
      <table class="table stacked channels">
        <thead>
          <tr>
            <th>{columns.channel}</th>
            <th>{columns.page}</th>
            <th>{columns.next}</th>
            <th class="right">{columns.watched}</th>
            <th class="right">{columns.waiting}</th>
            <th class="right">{columns.skipped}</th>
          </tr>
        </thead>
        <tbody>
          {list.channels.map((c) => (
            <Row key={c.channel_id} of={c} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ of }: { of: Data }) {
  const words = text.value.channels;
  const { watched, wanted, pending, skipped, no_room } = of.counts;
  const { failure, read_at } = of.reading;
  return (
    <tr>
      <td>
        <a class="link" href={`/channels/${of.channel_id}`}>
          <Stranger>{nameOfChannel(of)}</Stranger>
        </a>
        <span class="sub">{of.handle ?? shortURL(of.channel_url)}</span>
      </td>
      <td class="wide">
        <ReadingWord of={of} />
        <span class="sub">{failure ? words.failures[failure] : read_at && readingOf(of) === "readable" && words.read(clockDay(read_at, now.peek()))}</span>
      </td>
      <td class="num" data-label={words.columns.next}>
        {nextReading(of)}
      </td>
      <td class="num right" data-label={words.columns.watched}>
        {number.value.format(watched)}
      </td>
      <td class="num right" data-label={words.columns.waiting}>
        {number.value.format(wanted + pending)}
        {no_room > 0 && <span class="sub">{words.noRoom(no_room)}</span>}
      </td>
      <td class="num right" data-label={words.columns.skipped}>
        {number.value.format(skipped)}
      </td>
    </tr>
  );
}
