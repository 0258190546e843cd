// The pictures that detectors look for: the requests of the API.
import { get, post, request, withParameters } from "./api";
import type { Reference } from "./types";

// Owner is what references belong to: a monitor, or a channel, in each of whose streams they are looked for.
export interface Owner {
  kind: "monitors" | "channels";
  id: string;
}

const referencesOf = ({ kind, id }: Owner) => `/api/v1/${kind}/${encodeURIComponent(id)}/references`;

export const references = {
  list: (of: Owner, signal?: AbortSignal) => get<{ references: Reference[] }>(referencesOf(of), {}, signal),
  add: (of: Owner, name: string, unwanted: string, similarity: string, picture: Blob) =>
    post<Reference>(withParameters(referencesOf(of), { name, unwanted, similarity }), picture),
  remove: (of: Owner, reference: string) => request<void>("DELETE", `${referencesOf(of)}/${encodeURIComponent(reference)}`),
  image: (of: Owner, reference: string) => `${referencesOf(of)}/${encodeURIComponent(reference)}/image`,
};
