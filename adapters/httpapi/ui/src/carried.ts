// What the requests for a stream of one's own carry: header fields, a token, the query.
import type { Config, Service } from "./types";

// HeaderField is one of a form. value null: it is stored, is kept, and is never shown.
export interface HeaderField {
  name: string;
  value: string | null;
}

export interface Carried {
  headers: HeaderField[];
  tokenURL: string | null; // null: it is stored and kept; "": none
  copyQuery: boolean;
}

export const nothingCarried: Carried = { headers: [], tokenURL: "", copyQuery: false };

// takenBy are the fields of config that only some sources take, and that of a stream does; undefined: that is not known. name is
// that of its source, if a look at it has said so.
export function takenBy(service: Pick<Service, "sources"> | null | undefined, streamURL: string, name?: string | null): string[] | undefined {
  const sources = service?.sources ?? [];
  return (sources.find((s) => s.name === name) ?? sources.find((s) => streamURL.startsWith(s.prefix)))?.takes;
}

// carriedOf is what a config says of it: names without values.
export const carriedOf = (config: Partial<Config>): Carried => ({
  headers: Object.keys(config.http_headers ?? {}).map((name) => ({ name, value: null })),
  tokenURL: config.token_url ? null : "",
  copyQuery: config.copy_query ?? false,
});

// only leaves out what the source does not take.
export const only = (of: Carried, takes: string[]): Carried => ({
  headers: takes.includes("http_headers") ? of.headers : [],
  tokenURL: takes.includes("token_url") ? of.tokenURL : "",
  copyQuery: takes.includes("copy_query") && of.copyQuery,
});

const headersOf = (fields: HeaderField[]) => Object.fromEntries(fields.filter(({ name, value }) => name.trim() || value).map(({ name, value }) => [name.trim(), value]));

// isTwice reports whether an earlier field has the same name, whose value would be lost.
export const isTwice = (fields: HeaderField[], at: number): boolean => {
  const key = (i: number) => fields[i]?.name.trim().toLowerCase();
  return key(at) !== "" && fields.findIndex((_, i) => key(i) === key(at)) < at;
};

// carriedChange is config of a change: what differs, with null for values that are kept.
export function carriedChange(before: Carried, after: Carried): Partial<Config> {
  const change: Partial<Config> = {};
  const headers = headersOf(after.headers);
  if (JSON.stringify(headersOf(before.headers)) !== JSON.stringify(headers)) change.http_headers = headers;
  const token = after.tokenURL?.trim();
  if (token !== undefined && token !== before.tokenURL) change.token_url = token;
  if (after.copyQuery !== before.copyQuery) change.copy_query = after.copyQuery;
  return change;
}
