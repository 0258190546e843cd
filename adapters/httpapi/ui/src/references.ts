// The pictures that detectors look for: the requests of the API.
import { get, post, request, withParameters } from "./api";
import type { Reference } from "./types";

const referencesOf = (id: string) => `/api/v1/monitors/${encodeURIComponent(id)}/references`;

export const references = {
  list: (id: string, signal?: AbortSignal) => get<{ references: Reference[] }>(referencesOf(id), {}, signal),
  add: (id: string, name: string, unwanted: string, similarity: string, picture: Blob) =>
    post<Reference>(withParameters(referencesOf(id), { name, unwanted, similarity }), picture),
  remove: (id: string, reference: string) => request<void>("DELETE", `${referencesOf(id)}/${encodeURIComponent(reference)}`),
  image: (id: string, reference: string) => `${referencesOf(id)}/${encodeURIComponent(reference)}/image`,
};
