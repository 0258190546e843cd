import { common } from "./en/common";
import { shell } from "./en/shell";
import { wall } from "./en/wall";
import { why } from "./en/why";

// en has the words that the wall needs; those of the other pages are in en/pages.ts.
export const en = { common, shell, wall, why };
