// The types of the words of the interface.
import type { en } from "./en";
import type { pages } from "./en/pages";

// Same is the shape of the English words: the compiler finds what another language lacks.
export type Same<T> = T extends string ? string : T extends (...args: infer A) => string ? (...args: A) => string : { [K in keyof T]: Same<T[K]> };
export type WallWords = Same<typeof en>;
export type PageWords = Same<typeof pages>;
export type Words = WallWords & PageWords;
export type NotificationWords = PageWords["notifications"];
