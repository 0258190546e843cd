// The page's part of the document's title.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

export const pageTitle = signal("");

export function useTitle(title: string): void {
  useEffect(() => {
    pageTitle.value = title;
    return () => (pageTitle.value = "");
  }, [title]);
}
