// What the service says of itself, read once for the pages that need it.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get } from "./api";
import type { Service } from "./types";

const told = signal<Service | null | undefined>(undefined); // null: it did not answer
let asked = false;

// useService is undefined until it is read, and null where it cannot be read.
export function useService(): Service | null | undefined {
  useEffect(() => {
    if (asked) return;
    asked = true;
    get<Service>("/api/v1/service").then(
      (service) => (told.value = service),
      () => {
        told.value = null;
        asked = false;
      },
    );
  }, []);
  return told.value;
}
