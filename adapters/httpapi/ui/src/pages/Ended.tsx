import "../styles/incidents.css";
import "../styles/ended.css";
import { useSignal } from "@preact/signals";
import { describe, run } from "../actions";
import { channels as channelsAPI, nameOfChannel } from "../channels";
import { byDay, dayName } from "../days";
import { filterOf, outcomes, readEnded, type Ended as Data } from "../ended";
import { text } from "../i18n";
import { grouped, known, valueOf } from "../labels";
import { lineOf, nameOf } from "../names";
import { Glyph } from "../parts/Glyph";
import { LabelLine } from "../parts/LabelLine";
import { Stranger } from "../parts/Name";
import { groupName, ViewBar } from "../parts/ViewBar";
import { useRead } from "../read";
import { reasonWord } from "../refusals";
import { query, setQuery } from "../router";
import { monitors, now } from "../store";
import { clock, clockDay, number } from "../time";
import { useTitle } from "../title";

const pageSize = 100;

// Ended is the list of streams that have ended, by day or label, of a day, outcome, channel, label and name.
export function Ended() {
  const words = text.value.ended;
  useTitle(words.title);
  const filter = filterOf(query.value);
  const key = JSON.stringify(filter);
  const { answer, failed } = useRead((abort) => readEnded(filter, pageSize, null, abort).then((page) => ({ ...page, of: key })), [key]);
  const first = answer.value?.of === key ? answer.value : null; // another filter has been chosen since
  const more = useSignal<{ of: unknown; monitors: Data[]; next: string | null }>({ of: null, monitors: [], next: null });
  const added = more.value.of === first ? more.value : { of: first, monitors: [], next: first?.next ?? null };
  const list = [...(first?.monitors ?? []), ...added.monitors];
  const group = query.value.get("group");
  const readMore = async () => {
    const page = await readEnded(filter, pageSize, added.next);
    more.value = { of: first, monitors: [...added.monitors, ...page.monitors], next: page.next };
  };
  return (
    <main class="main" id="main" aria-busy={!first && failed.value === null}>
      <div class="page-head">
        <h1>{words.title}</h1>
        {first && <span class="muted num">{number.value.format(first.pagination.total)}</span>}
      </div>
      <Filters />
      <ViewBar always known={known([...monitors.values(), ...list])} />
      {failed.value !== null && (
        <p class="notice is-warning" role="alert">
          <Glyph name="warning" />
          {describe(failed.value)}
        </p>
      )}
      {!first && failed.value === null && <p>{text.value.common.loading}</p>}
      {first && list.length === 0 && (
        <p class="card card-body muted">
          {words.none} {words.kept}
        </p>
      )}
      {group && grouped(list, (m) => valueOf(m, group)).map(([value, some]) => <Table key={value} name={groupName(value)} list={some} timeOf={(at) => clockDay(at, now.peek())} />)}
      {!group && byDay(list, (m) => m.ended_at).map((day) => <Table key={day.key} name={dayName(day.at)} list={day.all} timeOf={clock} />)}
      {added.next && (
        <button class="btn ended-more" type="button" onClick={() => void run(readMore)}>
          {words.more}
        </button>
      )}
    </main>
  );
}

function Filters() {
  const words = text.value.ended;
  const q = query.value;
  const known = useRead((abort) => channelsAPI.list({ stopped: true, limit: 200, offset: 0 }, abort), []).answer.value?.channels ?? [];
  const find = (event: SubmitEvent) => {
    event.preventDefault();
    setQuery({ q: (new FormData(event.currentTarget as HTMLFormElement).get("q") as string).trim() });
  };
  return (
    <div class="filters">
      <label class="pick">
        {words.day}
        <input type="date" value={q.get("day") ?? ""} onChange={(e) => setQuery({ day: e.currentTarget.value })} />
      </label>
      <label class="pick">
        {words.outcome}
        <select value={q.get("outcome") ?? ""} onChange={(e) => setQuery({ outcome: e.currentTarget.value })}>
          <option value="">{words.outcomes.all}</option>
          {outcomes.map((outcome) => (
            <option key={outcome} value={outcome}>
              {words.outcomes[outcome]}
            </option>
          ))}
        </select>
      </label>
      {known.length > 0 && (
        <label class="pick">
          {words.channel}
          <select value={q.get("channel") ?? ""} onChange={(e) => setQuery({ channel: e.currentTarget.value })}>
            <option value="">{words.anyChannel}</option>
            {known.map((c) => (
              <option key={c.channel_id} value={c.channel_id}>
                {nameOfChannel(c)}
              </option>
            ))}
          </select>
        </label>
      )}
      <form class="ended-find" role="search" onSubmit={find}>
        <input class="input" type="search" name="q" aria-label={words.search} placeholder={words.search} maxLength={200} defaultValue={q.get("q") ?? ""} key={q.get("q") ?? ""} />
        <button class="btn" type="submit">
          {words.find}
        </button>
      </form>
    </div>
  );
}

// Table is a day or a group of the list. timeOf writes when a stream has ended.
function Table({ name, list, timeOf }: { name: string; list: readonly Data[]; timeOf: (at: string) => string }) {
  const { columns, outcomes: names } = text.value.ended;
  return (
    <section>
      <h2 class="day" dir="auto">
        {name} <span>{number.value.format(list.length)}</span>
      </h2>
      <div class="card scroll-x">
        <table class="table stacked ended">
          <thead>
            <tr>
              <th>{columns.stream}</th>
              <th>{columns.ended}</th>
              <th>{columns.outcome}</th>
              <th>{columns.began}</th>
            </tr>
          </thead>
          <tbody>
            {list.map((m) => (
              <tr key={m.monitor_id}>
                <td>
                  <a class="link" href={`/monitors/${m.monitor_id}`}>
                    <Stranger>{nameOf(m)}</Stranger>
                  </a>
                  <span class="sub">
                    <Stranger>{lineOf(m)}</Stranger> <LabelLine of={m} />
                  </span>
                </td>
                <td class="num" data-label={columns.ended}>
                  {timeOf(m.ended_at)}
                </td>
                <td data-label={columns.outcome}>
                  {names[m.status]}
                  {m.reason && <span class="sub">{reasonWord(m.reason)}</span>}
                </td>
                <td class="num" data-label={columns.began}>
                  {clockDay(m.created_at, now.peek())}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
