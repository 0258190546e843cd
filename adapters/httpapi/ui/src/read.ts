// Answers of the API that a page keeps up to date.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { APIError } from "./api";

const settleMs = 400; // changes often come one shortly after the other
const retryMs = 5_000;

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
          const wait = retryIn(error);
          if (wait !== null) timer = setTimeout(attempt, wait);
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

// retryIn is after how many ms, at least leastMs, a request that failed may be answered; null: never.
export function retryIn(error: unknown, leastMs = retryMs): number | null {
  if (!(error instanceof APIError)) return null;
  const { status, retryAfterSec } = error;
  return status === 0 || status === 429 || status >= 500 ? Math.max(leastMs, (retryAfterSec ?? 0) * 1000) : null;
}
