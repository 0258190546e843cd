import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { describe, run, type Said } from "../actions";
import { references as api, type Owner } from "../references";
import { detectors } from "../detectors";
import { text } from "../i18n";
import { useRead } from "../read";
import { changed, changes } from "../routing";
import { decimal } from "../time";
import { isolated } from "../title";
import type { Config, Reference } from "../types";
import { Allowed } from "./Allowed";
import { ask } from "./Ask";
import { Glyph } from "./Glyph";

const most = 10; // of an owner
const limits = { least: 0.85, most: 0.99, usual: 0.92 }; // of the similarity

// useReferences keeps the references of an owner; null has none.
const useReferences = (of: Owner | null): Reference[] =>
  useRead((abort) => (of ? api.list(of, abort) : Promise.resolve({ references: [] })), [of?.id, changes.value]).answer.value?.references ?? [];

interface Props {
  of: Owner;
  hint: string;
  channel?: string; // the id of the channel of a monitor, whose references are looked for, too
  runs: Config["detectors"];
  ended: boolean; // they can only be read
}

// References are the pictures that detectors look for: what there is, another one, one less. They are there
// where an optional detector runs.
export function References({ of, hint, channel, runs = {}, ended }: Props) {
  const words = text.value.monitor.references;
  const list = useReferences(of);
  const its: Owner | null = channel && !ended ? { kind: "channels", id: channel } : null;
  const ofChannel = useReferences(its);
  const remove = (r: Reference) =>
    void run(async () => {
      await api.remove(of, r.reference_id);
      changed();
    });
  if (!detectors.value.some((d) => runs[d.name]) && list.length === 0) return null;
  return (
    <section class="card" aria-labelledby="references-title">
      <div class="card-head">
        <h2 id="references-title">{words.title}</h2>
      </div>
      <div class="card-body references">
        <p class="hint dim">{hint}</p>
        <ul>
          {list.map((r) => (
            <Row key={r.reference_id} of={of} reference={r}>
              {!ended && (
                <Allowed to="operate">
                  <button class="btn quiet" type="button" aria-label={words.removeNamed(r.name)} onClick={async () => (await ask({ title: words.removeTitle(isolated(r.name)), text: words.removeText, yes: words.remove })) && remove(r)}>
                    {words.remove}
                  </button>
                </Allowed>
              )}
            </Row>
          ))}
          {its &&
            ofChannel.map((r) => (
              <Row
                key={r.reference_id}
                of={its}
                reference={r}
                note={
                  <small class="dim">
                    <a class="link" href={`/channels/${its.id}`}>
                      {words.ofChannel}
                    </a>
                    {list.some((own) => own.name === r.name) && ` · ${words.replaced}`}
                  </small>
                }
              />
            ))}
        </ul>
        {!ended && list.length < most && (
          <Allowed to="operate">
            <Upload of={of} />
          </Allowed>
        )}
      </div>
    </section>
  );
}

function Row({ of, reference: r, note, children }: { of: Owner; reference: Reference; note?: ComponentChildren; children?: ComponentChildren }) {
  const words = text.value.monitor.references;
  return (
    <li>
      <img src={api.image(of, r.reference_id)} alt="" width="96" height="54" loading="lazy" />
      <span>
        <b dir="auto" class="wrap">
          {r.name}
        </b>
        <small class="dim">{`${words.unwanted[r.unwanted]} · ${words.from(decimal(r.similarity, 2))}`}</small>
        {note}
      </span>
      {children}
    </li>
  );
}

function Upload({ of }: { of: Owner }) {
  const words = text.value.monitor.references;
  const failed = useSignal<Said>("");
  const busy = useSignal(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const given = new FormData(form);
    failed.value = "";
    busy.value = true;
    try {
      await api.add(of, String(given.get("name")), String(given.get("unwanted")), String(given.get("similarity")), given.get("picture") as File);
      form.reset();
      changed();
    } catch (error) {
      failed.value = describe(error);
    }
    busy.value = false;
  };
  return (
    <details class="single">
      <summary>{words.add}</summary>
      <form onSubmit={(event) => void submit(event)}>
        {failed.value && (
          <p class="notice is-warning" role="alert">
            <Glyph name="warning" />
            <span>{failed.value}</span>
          </p>
        )}
        <div class="form-grid">
          <div class="field">
            <label for="reference-picture">{words.picture}</label>
            <input id="reference-picture" class="input" name="picture" type="file" accept="image/jpeg,image/png" required />
          </div>
          <div class="field">
            <label for="reference-name">{words.name}</label>
            <input id="reference-name" class="input" name="name" required maxLength={60} />
          </div>
          <div class="field">
            <label for="reference-unwanted">{words.when}</label>
            <select id="reference-unwanted" class="input" name="unwanted">
              {(["after_start", "before_start", "always"] as const).map((value) => (
                <option key={value} value={value}>
                  {words.unwanted[value]}
                </option>
              ))}
            </select>
          </div>
          <div class="field">
            <label for="reference-similarity">{words.similarity}</label>
            <input id="reference-similarity" class="input" name="similarity" type="number" min={limits.least} max={limits.most} step={0.01} defaultValue={String(limits.usual)} required />
          </div>
        </div>
        <p class="hint dim">{words.similarityHint}</p>
        <div class="actions">
          <button class="btn" type="submit" disabled={busy.value}>
            {words.upload}
          </button>
        </div>
      </form>
    </details>
  );
}
