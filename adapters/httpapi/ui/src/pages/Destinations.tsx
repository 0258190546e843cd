import "../styles/destinations.css";
import { useComputed } from "@preact/signals";
import { describe } from "../actions";
import { text, type NotificationWords } from "../i18n";
import { Allowed, NotAllowed } from "../parts/Allowed";
import { DestinationForm } from "../parts/DestinationForm";
import { DestinationTable } from "../parts/DestinationTable";
import { Duty, DutyForm, OverrideForm } from "../parts/Duty";
import { Exchange, StatusWord } from "../parts/Exchange";
import { Explain } from "../parts/Explain";
import { Glyph } from "../parts/Glyph";
import { RouteForm } from "../parts/RouteForm";
import { Routes } from "../parts/Routes";
import { SilenceForm } from "../parts/SilenceForm";
import { Silences } from "../parts/Silences";
import { useRead } from "../read";
import { now } from "../store";
import { useTitle } from "../title";
import { changes, editing, readRouting, tested, type Routing } from "../routing";

const readEveryMs = 10_000; // no feed tells how a destination is

export function Destinations() {
  const words = text.value.notifications;
  const tick = useComputed(() => Math.floor(now.value / readEveryMs)).value;
  const { answer, failed } = useRead(readRouting, [changes.value, tick]);
  useTitle(words.title);
  const routing = answer.value;
  return (
    <main class="main" id="main">
      <div class="page-head">
        <h1>{words.title}</h1>
        <span class="end">
          <Allowed to="admin">
            <button class="btn primary" type="button" disabled={!routing} onClick={() => (editing.value = { destination: null })}>
              <Glyph name="plus" />
              {words.add}
            </button>
          </Allowed>
        </span>
      </div>
      {failed.value !== null && (
        <p class="notice is-warning" role="alert">
          <Glyph name="warning" />
          {describe(failed.value)}
        </p>
      )}
      {!routing && failed.value === null && <p aria-busy="true">{text.value.common.loading}</p>}
      {routing && <All words={words} routing={routing} />}
    </main>
  );
}

function All({ words, routing }: { words: NotificationWords; routing: Routing }) {
  const form = editing.value;
  return (
    <>
      <NotAllowed to="admin" />
      <Allowed to="admin">
        <DestinationTable words={words} routing={routing} />
      </Allowed>
      <div class="told-columns">
        <div>
          <Allowed to="admin">
            <Routes words={words} routing={routing} />
          </Allowed>
          <Duty words={words} routing={routing} />
          <Allowed to="operate">
            <Silences words={words} routing={routing} />
          </Allowed>
        </div>
        <div>
          <Explain words={words} routing={routing} />
          <Tested words={words} />
        </div>
      </div>
      {form === "duty" && <DutyForm words={words} routing={routing} />}
      {form === "override" && <OverrideForm words={words} routing={routing} />}
      {typeof form === "object" && form && (
        <>
          {"silence" in form && <SilenceForm words={words} of={form.silence} />}
          {"destination" in form && <DestinationForm words={words} routing={routing} of={form.destination} />}
          {"route" in form && <RouteForm words={words} routing={routing} of={form.route} />}
        </>
      )}
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
            {newest.test.note && <p>{newest.test.note}</p>}
            <Exchange of={newest.test.attempt} />
          </div>
        </section>
      )}
    </div>
  );
}
