import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { describe, run, type Said } from "../actions";
import { references as api } from "../references";
import { detectors } from "../detectors";
import { text } from "../i18n";
import { decimal } from "../time";
import type { Monitor, Reference } from "../types";
import { Allowed } from "./Allowed";
import { Glyph } from "./Glyph";

const most = 10; // of a monitor
const limits = { least: 0.85, most: 0.99, usual: 0.92 }; // of the similarity

// References are the pictures that detectors look for: what there is, another one, one less. They are there
// where an optional detector runs.
export function References({ monitor }: { monitor: Monitor }) {
  const words = text.value.monitor.references;
  const id = monitor.monitor_id;
  const list = useSignal<Reference[]>([]);
  const runs = monitor.config.detectors ?? {};
  const looked = detectors.value.some((d) => runs[d.name]);
  const read = (signal?: AbortSignal) => api.list(id, signal).then(({ references }) => void (list.value = references));
  useEffect(() => {
    const abort = new AbortController();
    list.value = [];
    read(abort.signal).catch(() => undefined); // the feed says that the connection is lost
    return () => abort.abort();
  }, [id]);
  const remove = (r: Reference) =>
    void run(async () => {
      await api.remove(id, r.reference_id);
      await read();
    });
  if (!looked && list.value.length === 0) return null;
  return (
    <section class="card" aria-labelledby="references-title">
      <div class="card-head">
        <h2 id="references-title">{words.title}</h2>
      </div>
      <div class="card-body references">
        <p class="hint dim">{words.hint}</p>
        <ul>
          {list.value.map((r) => (
            <li key={r.reference_id}>
              <img src={api.image(id, r.reference_id)} alt="" width="96" height="54" loading="lazy" />
              <span>
                <b dir="auto" class="wrap">
                  {r.name}
                </b>
                <small class="dim">{`${words.unwanted[r.unwanted]} · ${words.from(decimal(r.similarity, 2))}`}</small>
              </span>
              {!monitor.ended_at && (
                <Allowed to="operate">
                  <button class="btn quiet" type="button" aria-label={words.removeNamed(r.name)} onClick={() => confirm(words.confirmRemove(r.name)) && remove(r)}>
                    {words.remove}
                  </button>
                </Allowed>
              )}
            </li>
          ))}
        </ul>
        {!monitor.ended_at && list.value.length < most && (
          <Allowed to="operate">
            <Upload id={id} added={read} />
          </Allowed>
        )}
      </div>
    </section>
  );
}

function Upload({ id, added }: { id: string; added: () => Promise<void> }) {
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
      await api.add(id, String(given.get("name")), String(given.get("unwanted")), String(given.get("similarity")), given.get("picture") as File);
      form.reset();
      await added();
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
