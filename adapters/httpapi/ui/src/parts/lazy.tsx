import { signal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { loadPageWords, text } from "../i18n";

const retryMs = 3000;

// lazy is a page whose code and words are loaded when it is first shown, so that the wall does not pay for it.
export function lazy(load: () => Promise<FunctionComponent>): FunctionComponent {
  const page = signal<FunctionComponent | null>(null);
  const failed = signal(false);
  let loading = false;
  const start = () => {
    loading = true;
    Promise.all([load(), loadPageWords()]).then(
      ([loaded]) => (page.value = loaded),
      () => {
        // The link may be lost for now; or the gateway is of another version and has other files.
        failed.value = true;
        setTimeout(start, retryMs);
      },
    );
  };
  return () => {
    if (!loading) start();
    const Page = page.value;
    if (Page) return <Page />;
    const words = text.value.common;
    return (
      <main class="main" id="main" aria-busy="true">
        <p>{failed.value ? words.unreachable : words.loading}</p>
        {failed.value && (
          <button class="btn" type="button" onClick={() => location.reload()}>
            {words.reload}
          </button>
        )}
      </main>
    );
  };
}
