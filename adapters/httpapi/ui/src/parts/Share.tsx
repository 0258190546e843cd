import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { describe, type Said } from "../actions";
import { evidence as api } from "../api";
import { text } from "../i18n";
import type { Evidence, Variant } from "../types";
import { conditionWord } from "./State";

export const sharing = signal(false);

type TTL = "900" | "86400" | "604800";

// Share makes signed links to the files, for people without a key.
export function Share({ all }: { all: readonly Evidence[] }) {
  const words = text.value.incident;
  const dialog = useRef<HTMLDialogElement>(null);
  const ttl = useSignal<TTL>("900");
  const links = useSignal<[string, string][]>([]);
  const failed = useSignal<Said>("");
  useEffect(() => {
    if (sharing.value) dialog.current?.showModal();
  }, [sharing.value]);
  const make = async () => {
    failed.value = "";
    try {
      links.value = await Promise.all(filesOf(all).map(async ([id, variant, what]) => [what, await linkTo(id, variant, Number(ttl.value))] as [string, string]));
    } catch (error) {
      failed.value = describe(error);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="share-title" onClose={() => ((sharing.value = false), (links.value = []))}>
      <div class="card-head">
        <h2 id="share-title">{words.shareTitle}</h2>
        <button class="btn quiet end" type="button" onClick={() => dialog.current?.close()}>
          {text.value.common.close}
        </button>
      </div>
      <div class="card-body share">
        <p class="muted">{words.shareText}</p>
        <div class="actions">
          <label class="pick">
            {words.validFor}
            <select value={ttl.value} onChange={(e) => ((ttl.value = e.currentTarget.value as TTL), (links.value = []))}>
              {(Object.keys(words.ttl) as TTL[]).map((sec) => (
                <option key={sec} value={sec}>
                  {words.ttl[sec]}
                </option>
              ))}
            </select>
          </label>
          <button class="btn primary" type="button" onClick={() => void make()}>
            {words.makeLinks}
          </button>
        </div>
        {failed.value && <p role="alert">{failed.value}</p>}
        {links.value.map(([what, url]) => (
          <Link key={url} what={what} url={url} />
        ))}
      </div>
    </dialog>
  );
}

// filesOf names each file, with its condition if there are several.
function filesOf(all: readonly Evidence[]): [string, Variant, string][] {
  const several = new Set(all.map((e) => e.condition)).size > 1;
  return all.flatMap(({ evidence_id: id, condition, variants }) =>
    variants.map(({ variant }): [string, Variant, string] => {
      const what = text.value.incident.variants[variant];
      return [id, variant, several ? `${conditionWord(condition)}: ${what}` : what];
    }),
  );
}

async function linkTo(id: string, variant: Variant, ttlSec: number): Promise<string> {
  const { url } = await api.link(id, variant, ttlSec);
  return new URL(url, location.href).href;
}

function Link({ what, url }: { what: string; url: string }) {
  const words = text.value.incident;
  const copied = useSignal(false);
  const input = useRef<HTMLInputElement>(null);
  // On plain http in a LAN there is no clipboard: the text is selected, and the keyboard copies it.
  const copy = () => {
    input.current?.select();
    navigator.clipboard?.writeText(url).then(() => (copied.value = true), () => {});
  };
  return (
    <div class="field">
      <label for={url}>{what}</label>
      <div class="with-button">
        <input id={url} ref={input} class="input mono" readOnly value={url} onFocus={(e) => e.currentTarget.select()} />
        <button class="btn" type="button" onClick={copy}>
          {copied.value ? words.copied : words.copy}
        </button>
      </div>
    </div>
  );
}
