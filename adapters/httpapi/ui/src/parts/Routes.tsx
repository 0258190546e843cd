import { run } from "../actions";
import { text, type NotificationWords } from "../i18n";
import { endingBefore, moved, routes as api, type Match, type Route } from "../notifications";
import { nameOf } from "../names";
import { namedOf } from "../streamnames";
import { wholeDuration } from "../time";
import { changed, editing, type Routing } from "../routing";
import { eventWord } from "./MonitorEvents";
import { Glyph } from "./Glyph";
import { metadataWord } from "./LabelsField";
import { conditionWord } from "./State";
import { windowText } from "./WindowFields";

export function Routes({ words, routing }: { words: NotificationWords; routing: Routing }) {
  return (
    <section class="card" aria-labelledby="routes-title">
      <div class="card-head">
        <h2 id="routes-title">{words.routes}</h2>
        <span class="dim">{words.routesHint}</span>
        <button class="btn quiet end" type="button" onClick={() => (editing.value = { route: null })}>
          <Glyph name="plus" />
          {words.addRoute}
        </button>
      </div>
      <ol>
        {routing.routes.map((route, i) => (
          <Row key={route.route_id} words={words} routing={routing} of={route} place={i} />
        ))}
      </ol>
    </section>
  );
}

function Row({ words, routing, of, place }: { words: NotificationWords; routing: Routing; of: Route; place: number }) {
  const named = (id: string) => routing.destinations.find((d) => d.destination_id === id)?.name ?? id;
  const ends = endingBefore(routing.routes, place);
  const movable = routing.routes.filter((r) => !r.default);
  const move = (by: -1 | 1) =>
    void run(async () => {
      await api.order(moved(movable, place, by).map((r) => r.route_id));
      changed();
    });
  return (
    <li class="route">
      <span class="dim num">{place + 1}</span>
      <span class="tags">
        <b class="wrap" dir="auto">
          {of.default ? words.isDefault : of.name}
        </b>
        <MatchTags words={words} of={of.match} everything={of.default ? words.everything : words.anything} />
        {of.windows.map((window) => (
          <span key={windowText(words, window)} class="tag">
            <Glyph name="waiting" /> {windowText(words, window)}
          </span>
        ))}
        {ends && (
          <span class="word is-warning">
            <Glyph name="warning" />
            <span class="wrap" dir="auto">
              {words.neverReached(ends.name)}
            </span>
          </span>
        )}
      </span>
      <Glyph name="arrow" />
      <span class="tags">
        {of.on_duty && <span class="tag">{words.onDuty}</span>}
        {of.destinations.length === 0 && !of.on_duty && <span class="dim">{words.nobody}</span>}
        {of.destinations.map((id) => (
          <span key={id} class="tag" dir="auto">
            {named(id)}
          </span>
        ))}
      </span>
      <span class="dim">{whenOf(words, of)}</span>
      <span class="actions row-actions">
        {!of.default && (
          <>
            <button class="icon-btn" type="button" aria-label={`${words.up}: ${of.name}`} disabled={place === 0} onClick={() => move(-1)}>
              <Glyph name="up" />
            </button>
            <button class="icon-btn" type="button" aria-label={`${words.down}: ${of.name}`} disabled={place === movable.length - 1} onClick={() => move(1)}>
              <Glyph name="lower" />
            </button>
          </>
        )}
        <button class="btn quiet" type="button" onClick={() => (editing.value = { route: of })}>
          {words.change}
        </button>
      </span>
    </li>
  );
}

function whenOf(words: NotificationWords, of: Route): string {
  return [of.delay_sec > 0 ? words.after(wholeDuration(of.delay_sec)) : words.atOnce, ...(of.repeat_sec > 0 ? [words.every(wholeDuration(of.repeat_sec))] : []), ...(of.continue ? [words.goesOn] : [])].join(text.value.common.listComma);
}

export function MatchTags({ words, of, everything }: { words: NotificationWords; of: Match; everything: string }) {
  const tags = [
    ...(of.hints ?? []).map((kind) => text.value.common.hints.kinds[kind]),
    ...(of.events ?? []).map(eventWord),
    ...(of.conditions ?? []).map(conditionWord),
    ...(of.min_severity ? [words.severityFrom(of.min_severity)] : []),
    ...(of.max_severity !== undefined ? [words.severityUpTo(text.value.common.severity(of.max_severity))] : []),
    ...(of.monitors ?? []).map((id) => nameOf(namedOf(id, id))),
    ...Object.entries(of.labels ?? {}).map(([name, value]) => `${name}: ${value}`),
    ...Object.entries(of.metadata ?? {}).map(([path, value]) => `${metadataWord(path)}: ${value}`),
  ];
  return (
    <>
      {tags.length === 0 && <span class="tag">{everything}</span>}
      {tags.map((tag) => (
        <span key={tag} class="tag" dir="auto">
          {tag}
        </span>
      ))}
    </>
  );
}
