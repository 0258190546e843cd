import type { ComponentChildren } from "preact";
import { run } from "../actions";
import { references as api, type Owner } from "../references";
import { detectors } from "../detectors";
import { text } from "../i18n";
import { isolated } from "../names";
import { useRead } from "../read";
import { changed, changes } from "../routing";
import { decimal } from "../time";
import type { Config, Reference } from "../types";
import { Allowed } from "./Allowed";
import { ask } from "./Ask";
import { Input, Select, typed } from "./Dialog";
import { Form, Labelled, Refused, useForm } from "./Form";

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
  const { state, run } = useForm();
  const upload = async (form: HTMLFormElement) => {
    const given = new FormData(form);
    await api.add(of, typed(given, "name"), typed(given, "unwanted"), typed(given, "similarity"), given.get("picture") as File);
    form.reset();
    changed();
  };
  return (
    <details class="single">
      <summary>{words.add}</summary>
      <Form of={state} send={(form) => run(() => upload(form))}>
        <Refused of={state} />
        <div class="form-grid">
          <Labelled id="reference-picture" of="image" label={words.picture}>
            {(input) => <input class="input" name="picture" type="file" accept="image/jpeg,image/png" required {...input} />}
          </Labelled>
          <Input name="name" label={words.name} required maxLength={60} />
          <Select name="unwanted" label={words.when} value="after_start" options={(["after_start", "before_start", "always"] as const).map((value) => [value, words.unwanted[value]])} />
          <Input name="similarity" label={words.similarity} type="number" min={limits.least} max={limits.most} step={0.01} value={String(limits.usual)} required />
        </div>
        <p class="hint dim">{words.similarityHint}</p>
        <div class="actions">
          <button class="btn" type="submit" disabled={state.busy.value}>
            {words.upload}
          </button>
        </div>
      </Form>
    </details>
  );
}
