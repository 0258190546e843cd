import "../styles/destinations.css";
import { describe } from "../actions";
import { text, type NotificationWords } from "../i18n";
import { DestinationForm } from "../parts/DestinationForm";
import { DestinationTable } from "../parts/DestinationTable";
import { Exchange, StatusWord } from "../parts/Exchange";
import { Explain } from "../parts/Explain";
import { Glyph } from "../parts/Glyph";
import { RouteForm } from "../parts/RouteForm";
import { Routes } from "../parts/Routes";
import { SilenceForm } from "../parts/SilenceForm";
import { Silences } from "../parts/Silences";
import { useRead } from "../read";
import { useTitle } from "../title";
import { changes, editing, readTold, tested, type Told } from "../told";

export function Destinations() {
  const words = text.value.notifications;
  const { answer, failed } = useRead(readTold, [changes.value]);
  useTitle(words.title);
  const told = answer.value;
  return (
    <main class="main" id="main">
      <div class="page-head">
        <h1>{words.title}</h1>
        <span class="end">
          <button class="btn primary" type="button" disabled={!told} onClick={() => (editing.value = { destination: null })}>
            <Glyph name="plus" />
            {words.add}
          </button>
        </span>
      </div>
      {failed.value !== null && (
        <p class="notice is-warning" role="alert">
          <Glyph name="warning" />
          {describe(failed.value)}
        </p>
      )}
      {!told && failed.value === null && <p aria-busy="true">{text.value.common.loading}</p>}
      {told && <All words={words} told={told} />}
    </main>
  );
}

function All({ words, told }: { words: NotificationWords; told: Told }) {
  const form = editing.value;
  return (
    <>
      <DestinationTable words={words} told={told} />
      <div class="told-columns">
        <div>
          <Routes words={words} told={told} />
          <Silences words={words} told={told} />
        </div>
        <div>
          <Explain words={words} told={told} />
          <Tested words={words} />
        </div>
      </div>
      {form === "silence" && <SilenceForm words={words} />}
      {form && form !== "silence" && "destination" in form && <DestinationForm words={words} told={told} of={form.destination} />}
      {form && form !== "silence" && "route" in form && <RouteForm words={words} told={told} of={form.route} />}
    </>
  );
}

function Tested({ words }: { words: NotificationWords }) {
  const newest = tested.value;
  return (
    <div aria-live="polite">
      {newest && (
        <section class="card" aria-labelledby="tested-title">
          <div class="card-head">
            <h2 id="tested-title">{words.tested(newest.name)}</h2>
          </div>
          <div class="card-body form">
            <p class="trial-head">
              <StatusWord of={newest.test.attempt} />
              <b>{newest.test.delivered ? words.accepted : words.notAccepted}</b>
            </p>
            <Exchange of={newest.test.attempt} />
          </div>
        </section>
      )}
    </div>
  );
}
