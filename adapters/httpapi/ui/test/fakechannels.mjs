// Channels of the fake gateway, which finds what they schedule.
import { monitor } from "./fakegateway.mjs";

const at = (sec) => new Date(Date.now() + sec * 1000).toISOString();

export const channelID = "0190a5d9-1c2b-7d8a-9c1d-000000000001";

export function found(n, more = {}) {
  return {
    stream_url: `https://www.youtube.com/watch?v=found${String(n).padStart(6, "0")}`, title: `Stream ${n}`, state: "upcoming", members_only: false, scheduled_start_at: at(7200 * n), found_at: at(-9000), seen_at: at(-200),
    standing: "watched", why: null, detail: null, monitor_id: monitor(n).monitor_id, monitor_status: "waiting", adopted: false, ...more,
  };
}

const none = { monitor_id: null, monitor_status: null };

export const streams = (title) => [
  found(1, { title, state: "live", scheduled_start_at: null, monitor_status: "monitoring" }),
  found(2, { title: "朝の雑談", adopted: true }),
  found(3, { ...none, standing: "wanted", why: "no_room" }),
  found(4, { ...none, standing: "pending", why: "beyond_horizon", scheduled_start_at: at(900_000) }),
  found(5, { ...none, standing: "pending", why: "gone" }),
  found(6, { ...none, standing: "skipped", why: "members_only", members_only: true, state: "live", scheduled_start_at: null }),
  found(8, { ...none, standing: "wanted", why: "refused", stream_url: monitor(2).stream_url, detail: `monitor ${monitor(2).monitor_id} is reserved for a later start at the same place; stop it, or change its scheduled start` }),
  found(7, { standing: "over", why: "monitor_failed", detail: "video_private", monitor_status: "error" }),
];

export function channel(n, more = {}) {
  return {
    channel_id: channelID.slice(0, -1) + n, channel_url: `https://www.youtube.com/@channel${n}`, source_id: "UCabcdefghijklmnopqrstuv", owner: "live-ops", handle: `@channel${n}`, title: `Channel ${n}`,
    config: { ...monitor(1).config, preset: "music", on_callback_failure: "continue", detectors: { made_up: { threshold_sec: 60, above_db: -12 } } },
    metadata: { team: "night" }, cookie_jar: null, created_at: at(-90_000), stopped_at: null,
    reading: { read_at: at(-200), by: "browse", next_at: at(250), failures: 0, failing_since: null, failure: null, last_error: null, unreadable_since: null },
    counts: { pending: 2, wanted: 1, no_room: 1, watched: 2, skipped: 1, over: 1 }, ...more,
  };
}

// failing is a reading that fails for so long.
export const failing = (sec) => ({ reading: { ...channel(1).reading, failures: 7, failing_since: at(-sec), failure: "refused", last_error: "a page of consent", unreadable_since: sec < 3600 ? null : at(-sec) } });

const event = (n, event_type, sec, data) => ({ event_id: channelID.slice(0, -1) + n, event_type, channel_id: channelID, channel_url: channel(1).channel_url, timestamp: at(sec), data, metadata: {} });
const gap = { since: at(-9000), failure: "refused", error_details: "a page of consent" };

export const events = (title) => [
  event(3, "channel.readable", -60, { ...gap, until: at(-60) }),
  event(2, "channel.unreadable", -5400, gap),
  event(1, "channel.stream_found", -9000, { stream_url: found(3).stream_url, title: "Third", state: "upcoming", scheduled_start_time: null, standing: "wanted", why: "no_room", adopted: false }),
  event(0, "channel.stream_found", -9000, { stream_url: found(1).stream_url, title, state: "live", scheduled_start_time: null, standing: "watched", monitor_id: monitor(1).monitor_id, adopted: false }),
];

export function fillChannels(gateway, title = "Evening show") {
  const all = [channel(1, { title, streams: streams(title) }), channel(2, failing(7200)), channel(3, failing(60)), channel(4, { stopped_at: at(-60), reading: { ...channel(1).reading, next_at: null } })];
  const sent = [];
  const say = (what, answer) => gateway.routes.set(what, (body, request) => (what.startsWith("GET") || sent.push([`${request.method} ${request.url}`, body]), answer(body, request)));
  say("GET /api/v1/channels", (_, request) => {
    const listed = all.filter((c) => !c.stopped_at || request.url.includes("stopped=true")).map(({ streams: _, ...c }) => c);
    return [200, { channels: listed, pagination: { total: listed.length, limit: 200, offset: 0 } }];
  });
  say(`GET /api/v1/channels/${channelID}`, () => [200, all[0]]);
  say(`GET /api/v1/channels/${channelID}/events`, () => [200, { events: events(title) }]);
  say(`PATCH /api/v1/channels/${channelID}`, () => [200, all[0]]);
  say(`DELETE /api/v1/channels/${channelID}`, () => (Object.assign(all[0], { stopped_at: at(0) }), [200, all[0]]));
  say("POST /api/v1/channels", () => [201, all[0]]);
  say("POST /api/v1/channels/preview", ({ channel: address }) => {
    const preview = { channel_url: null, source_id: null, handle: null, title: null, streams: [], failure: null, detail: null, problems: [] };
    if (!address) return [200, { ...preview, problems: [{ field: "channel", code: "INVALID_URL", message: "channel: is missing" }] }];
    const { channel_url, source_id, handle } = all[0];
    return [200, { ...preview, channel_url, source_id, handle, title, streams: [found(1, { ...none, title, standing: "wanted" }), ...streams(title).slice(3, 6)] }];
  });
  return { all, sent };
}
