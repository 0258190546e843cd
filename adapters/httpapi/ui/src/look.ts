// Looks at an address before it is registered.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { describe, type Said } from "./actions";
import { APIError } from "./api";
import { text } from "./i18n";
import { retryIn } from "./read";
import { merged, type Check } from "./registration";
import { may } from "./role";
import type { Problem } from "./types";

const typedMs = 700; // each look asks the platform, so it waits until the address is typed
const checkEveryMs = 7000; // a gateway allows 10 previews a minute

export interface Seen<P> {
  preview: P | null;
  tookMs: number;
  looking: boolean;
  checked: Check | null; // what the problems of the preview are about
  failed: Said; // why nothing is seen, or not checked again
}

const nothing = { preview: null, tookMs: 0, looking: false, checked: null, failed: "" };

interface Registering<P> {
  field: "stream_url" | "channel"; // what the API calls the address
  address: string; // another one is looked at anew
  complete: boolean; // the address can be looked at
  check: () => Check; // as it is now
  ask: (check: Partial<Check>, abort: AbortSignal) => Promise<P>;
  found?: (preview: P, checked: Check) => void; // before it is shown; may change both the form and what counts as checked
}

// useLook looks once at each address. When other fields change it has them checked without the address, so that the platform is
// not asked again.
export function useLook<P extends { problems: Problem[] }>(of: Registering<P>): { seen: Seen<P>; look: () => void } {
  const seen = useSignal<Seen<P>>(nothing);
  const again = useSignal(0);
  const lookedAt = useRef(0);
  const askedAt = useRef(-checkEveryMs);
  const latest = useRef(of);
  latest.current = of;
  const ask = (check: Partial<Check>, abort: AbortController) => {
    askedAt.current = performance.now();
    return latest.current.ask(check, abort.signal);
  };
  const shown = useRef(of.address);
  if (shown.current !== of.address) {
    shown.current = of.address;
    seen.value = nothing;
  }
  const complete = of.complete && may("operate");
  useEffect(() => {
    if (!complete) {
      seen.value = nothing;
      return;
    }
    const abort = new AbortController();
    seen.value = { ...seen.peek(), looking: true, failed: "" };
    const timer = setTimeout(
      async () => {
        const began = performance.now();
        try {
          const checked = latest.current.check();
          const preview = await ask(checked, abort);
          if (abort.signal.aborted) return;
          latest.current.found?.(preview, checked);
          seen.value = { preview, tookMs: performance.now() - began, looking: false, checked, failed: "" };
        } catch (error) {
          if (abort.signal.aborted) return;
          const missing = error instanceof APIError && (error.status === 404 || error.status === 405);
          seen.value = { ...nothing, failed: missing ? text.value.register.noPreview : describe(error) };
        }
      },
      again.value === lookedAt.current ? typedMs : 0,
    );
    lookedAt.current = again.value;
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [of.address, again.value, complete]);

  const { preview, looking, checked } = seen.value;
  const wanted = JSON.stringify(of.check());
  const stale = preview !== null && !looking && JSON.stringify(checked) !== wanted;
  useEffect(() => {
    if (!stale) return;
    const abort = new AbortController();
    const check = async () => {
      const { field } = latest.current;
      const checked = latest.current.check();
      const { [field]: _, ...others } = checked;
      try {
        const { problems } = await ask(others, abort);
        const before = seen.peek();
        if (before.preview) seen.value = { ...before, checked, preview: { ...before.preview, problems: merged(before.preview.problems, problems, field) }, failed: "" };
      } catch (error) {
        if (abort.signal.aborted) return;
        seen.value = { ...seen.peek(), failed: describe(error) };
        const wait = retryIn(error, checkEveryMs);
        if (wait !== null) timer = setTimeout(check, wait);
      }
    };
    let timer = setTimeout(check, Math.max(typedMs, askedAt.current + checkEveryMs - performance.now()));
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [wanted, stale]);
  return { seen: seen.value, look: () => again.value++ };
}
