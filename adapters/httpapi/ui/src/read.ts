// Answers of the API that a page keeps up to date.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { APIError } from "./api";

const settleMs = 400; // changes often come one shortly after the other
export const retryMs = 5_000;

// useRead keeps what read returns; null until it has. It reads again when one of changes does, and after a failure that may
// pass. failed is the newest failure.
export function useRead<T>(read: (abort: AbortSignal) => Promise<T>, changes: readonly unknown[]): { answer: Signal<T | null>; failed: Signal<unknown> } {
  const answer = useSignal<T | null>(null);
  const failed = useSignal<unknown>(null);
  useEffect(() => {
    const abort = new AbortController();
    let timer = setTimeout(attempt, answer.peek() === null ? 0 : settleMs);
    function attempt(): void {
      read(abort.signal).then(
        (newest) => ((answer.value = newest), (failed.value = null)),
        (error) => {
          if (abort.signal.aborted) return;
          failed.value = error;
          if (error instanceof APIError && mayPass(error)) timer = setTimeout(attempt, Math.max(retryMs, (error.retryAfterSec ?? 0) * 1000));
        },
      );
    }
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, changes);
  return { answer, failed };
}

// mayPass: the same request may be answered later.
export const mayPass = ({ status }: APIError): boolean => status === 0 || status === 429 || status >= 500;
