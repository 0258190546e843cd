// The streams that somebody has selected on the wall, to do something with all of them. (The one that j and k have chosen is
// selected of wallmodel.ts.)
import { signal } from "@preact/signals";

export const chosen = signal<ReadonlySet<string> | null>(null); // ids of monitors; null: nobody is selecting
