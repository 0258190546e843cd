import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { cookieJars as api } from "../api";
import { text } from "../i18n";
import type { CookieJar } from "../types";
import { Labelled } from "./Form";

// CookieJarField chooses the login with which a stream is asked about. It is not there while there is none to choose.
export function CookieJarField({ id, chosen, choose }: { id: string; chosen: string; choose?: (name: string) => void }) {
  const list = useSignal<CookieJar[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    api.list(abort.signal).then(({ cookie_jars }) => void (list.value = cookie_jars), () => undefined); // the feed says that the connection is lost
    return () => abort.abort();
  }, []);
  const names = list.value.map((jar) => jar.name);
  if (chosen && !names.includes(chosen)) names.push(chosen);
  if (names.length === 0) return null;
  return (
    <Labelled id={id} of="config.cookie_jar" label={text.value.monitor.fields.cookie_jar}>
      {(input) => (
        <select name="cookie_jar" class="input" onChange={(e) => choose?.(e.currentTarget.value)} {...input}>
          {["", ...names].map((name) => (
            <option key={name} value={name} selected={name === chosen}>
              {name || text.value.settings.jars.none}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}
