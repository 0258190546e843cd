// Channels whose streams are watched, as their pages show them.
import { get, post, request, withParameters } from "./api";
import { text } from "./i18n";
import { shortURL } from "./names";
import type { Change, Channel, ChannelChange, ChannelEvent, ChannelPreview, ChannelRegistration, FoundStanding, FoundStream } from "./types";

const one = (id: string) => `/api/v1/channels/${encodeURIComponent(id)}`;

export const channels = {
  list: (filter: { stopped: boolean; limit: number; offset: number }, signal?: AbortSignal) => get<{ channels: Channel[]; pagination: { total: number } }>("/api/v1/channels", filter, signal),
  read: (id: string, signal?: AbortSignal) => get<Channel>(one(id), {}, signal),
  events: (id: string, limit: number, signal?: AbortSignal) => get<{ events: ChannelEvent[] }>(`${one(id)}/events`, { limit }, signal),
  preview: (registration: Partial<ChannelRegistration>, signal?: AbortSignal) => post<ChannelPreview>("/api/v1/channels/preview", registration, signal),
  register: (registration: ChannelRegistration) => post<Channel>("/api/v1/channels", registration),
  change: (id: string, change: ChannelChange) => request<Channel>("PATCH", one(id), change),
  // stop ends the reservations, too. running is what becomes of streams that are being watched; null: nobody was asked.
  stop: (id: string, running: "keep" | "stop" | null) => request<Channel>("DELETE", withParameters(one(id), { running })),
};

// channelChangeOf is the change of a form for monitors: the login of a channel stands beside its config.
export function channelChangeOf({ config = {}, ...change }: Change): ChannelChange {
  const { cookie_jar, ...others } = config;
  return { ...change, ...(Object.keys(others).length > 0 ? { config: others } : {}), ...(cookie_jar === undefined ? {} : { cookie_jar }) };
}

export type ReadingState = "stopped" | "unreadable" | "failing" | "unread" | "readable";

// readingOf says how the page of a channel was read. What has failed for less than an hour was told to nobody yet.
export function readingOf({ stopped_at, reading }: Pick<Channel, "stopped_at" | "reading">): ReadingState {
  if (stopped_at) return "stopped";
  if (reading.unreadable_since) return "unreadable";
  if (reading.failures > 0) return "failing";
  return reading.read_at ? "readable" : "unread";
}

// nameOfChannel is never empty.
export const nameOfChannel = (of: Pick<Channel, "title" | "handle" | "channel_url">): string => of.title || of.handle || shortURL(of.channel_url);

export const standings: readonly FoundStanding[] = ["watched", "wanted", "pending", "skipped", "over"];

// hasRunning reports whether streams are known to be watched, so that a stop has to say what becomes of them. A reservation is
// not; the gateway knows whether it has a worker already.
export const hasRunning = (streams: readonly FoundStream[]): boolean => streams.some((s) => s.standing === "watched" && s.monitor_status !== "waiting");

// channelEvents are the types of the events of channels, with their words.
export const channelEvents = (): [string, string][] => Object.entries(text.value.channels.events);

const pageSize = 200; // the most that the API gives at once

export interface ChannelList {
  channels: Channel[];
  total: number;
}

// readChannels reads the newest channels, as many as most.
export async function readChannels(stopped: boolean, most: number, abort: AbortSignal): Promise<ChannelList> {
  const list: ChannelList = { channels: [], total: 0 };
  do {
    const { channels: more, pagination } = await channels.list({ stopped, limit: pageSize, offset: list.channels.length }, abort);
    list.channels.push(...more);
    list.total = more.length > 0 ? pagination.total : list.channels.length;
  } while (list.channels.length < Math.min(most, list.total));
  return list;
}
