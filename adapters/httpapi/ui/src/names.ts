// How a stream is called. Metadata are texts of strangers: they are shown as text, one line, in their own direction.
import type { Labels, Metadata } from "./types";

export interface Named {
  stream_url: string;
  number?: number;
  metadata?: Metadata;
  labels?: Labels;
  channel_id?: string;
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

const ownScheme = /^(hls|dash|icy)\+/;

// isOwn reports whether a stream is on a server of one's own, so that no platform says how it is.
export const isOwn = (streamURL: string) => ownScheme.test(streamURL);

// pageOf is the address of a stream where people see or hear it.
export const pageOf = (streamURL: string) => streamURL.replace(ownScheme, "");

export const shortURL = (streamURL: string) => pageOf(streamURL).replace(/^https?:\/\/(www\.)?/, "");

// nameOf is never empty: channel, else title, else the id of the video, else the address.
export const nameOf = (m: Named) => channelOf(m) || titleOf(m) || videoOf(m.stream_url) || shortURL(m.stream_url);

// lineOf stands below nameOf and is never empty either: the title unless that is the name already, else the address.
export const lineOf = (m: Named) => (channelOf(m) && titleOf(m)) || shortURL(m.stream_url);

function videoOf(streamURL: string): string {
  try {
    return new URL(streamURL).searchParams.get("v") ?? "";
  } catch {
    return "";
  }
}

// isolated keeps the direction of a stranger's text from the text beside it, where no markup can.
export const isolated = (text: string) => `\u2068${text}\u2069`;
