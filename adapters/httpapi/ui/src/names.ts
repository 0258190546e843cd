// How a stream is called. Metadata are texts of strangers: they are shown as text, one line, in their own direction.
import type { Metadata } from "./types";

export interface Named {
  stream_url: string;
  metadata?: Metadata;
}

const longest = 300;

function first(metadata: Metadata | undefined, keys: string[]): string {
  for (const key of keys) {
    const value = metadata?.[key];
    if (typeof value === "string" && value.trim()) return value.trim().slice(0, longest);
  }
  return "";
}

export const channelOf = (m: Named) => first(m.metadata, ["channel_name", "channel", "name"]);
export const titleOf = (m: Named) => first(m.metadata, ["stream_title", "title"]);
export const groupOf = (m: Named) => first(m.metadata, ["group", "agency", "category"]);

// nameOf is never empty: channel, else title, else the id of the video.
export const nameOf = (m: Named) => channelOf(m) || titleOf(m) || videoOf(m.stream_url);

export function videoOf(streamURL: string): string {
  try {
    return new URL(streamURL).searchParams.get("v") ?? streamURL;
  } catch {
    return streamURL;
  }
}

export const shortURL = (streamURL: string) => streamURL.replace(/^https?:\/\/(www\.)?/, "");
