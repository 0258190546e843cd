// What the fake gateway has for each page that people work with: monitors, an incident, a delivery, settings.
import { channelID, fillChannels } from "./fakechannels.mjs";
import { evidence, incident, monitor } from "./fakegateway.mjs";

export const at = (sec) => new Date(Date.now() + sec * 1000).toISOString();
export const id = monitor(1).monitor_id;
export const eventID = "0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c7d";
export const hostile = "<img src=x onerror=alert(1)> \u202eevil " + "🎈".repeat(300);

const attempt = { at: at(-50), status: 503, error: "HTTP 503 Service Unavailable", request: { url: "https://example.com/…", headers: { "X-Signature-256": "sha256=4b6ac1ed" }, duration_ms: 120 }, response: { content_type: "text/html", body: hostile, truncated: true } };
export const delivery = { event_id: eventID, event_type: "alert.blackout", monitor_id: id, stream_url: monitor(1).stream_url, incident_id: null, created_at: at(-60), state: "failed", tried: 1, next_attempt_at: null, delivered_at: null, last_error: attempt.error, body: '{"event_type":"alert.blackout"}', attempts: [attempt] };
export const service = {
  version: "1.2.3", timezone: "Asia/Tokyo", worker_runtime: "process", tools: { ffmpeg: { version: "7.1", age_days: null, outdated: false, error: null } }, limits: { max_monitors: 50, schedule_lead_sec: 600 }, retention: { events_sec: 7776000 },
  youtube_api: { units_used: 7001, units_per_day: 10000, resets_at: at(18000), streams: 120, asked_at: at(-60), next_at: at(18000), failure: { kind: "quota_exceeded", detail: hostile } },
  twitch_api: { streams: 12, asked_at: at(-20), next_at: at(10), failure: { kind: "key_refused", detail: hostile } },
  settings: [["check_interval_sec", 10], ["blackout_threshold_sec", 30], ["silence_threshold_sec", 30], ["silence_db_threshold", -50], ["start_delay_tolerance_sec", 300]].map(([field, value]) => ({ field, min: 0, max: 100, default: value, whole: true, help: "" })),
  presets: [{ name: "talk", config: {} }, { name: "music", config: { silence_threshold_sec: 60, silence_db_threshold: -60, detectors: { made_up: { threshold_sec: 60, above_db: -12 } } } }],
  sources: [{ name: "youtube", title: "YouTube", prefix: "https://www.youtube.com/watch?v=", takes: ["cookie_jar"] }, { name: "icy", title: "Icecast", prefix: "icy+", takes: ["http_headers"] }, { name: "hls", title: "HLS", prefix: "hls+", takes: ["cookie_jar", "copy_query", "http_headers", "token_url"] }],
};
const cookieJar = { jar_id: eventID, signed_in: true, monitors: 0, channels: 0, uploaded_at: at(-86400), accepted_at: null, rejected_at: null };
export const cookieJars = [
  { ...cookieJar, name: "members", state: "accepted", monitors: 3, accepted_at: at(-240) },
  { ...cookieJar, jar_id: "2", name: hostile.slice(0, 60), state: "rejected", monitors: 1, channels: 2, accepted_at: at(-9000), rejected_at: at(-7200) },
  { ...cookieJar, jar_id: "3", name: "ボット確認用", state: "unused", signed_in: false },
  { ...cookieJar, jar_id: "4", name: "of before", state: "unreadable" },
];
const login = { login_id: eventID, streams: 2, accepted_at: at(-40), rejected_at: null, failure: null };
export const ingestLogins = [
  { ...login, name: "studio", state: "accepted" },
  { ...login, login_id: "2", name: hostile.slice(0, 60), state: "rejected", rejected_at: at(-7200), failure: { kind: "login_rejected", detail: "HTTP 400: invalid_grant: Token has been expired or revoked." } },
];
const issue = (type, severity, en, ja, description) => ({ type, severity, reason: "Check it", description, words: { en: { says: en, do: "Check the audio source and the audio track of the encoder." }, ja: { says: ja, do: "エンコーダーの音声入力と音声トラックを確認してください。" } } });
const noAudio = issue("noAudioStream", "error", "The signal has no audio.", "信号に音声がありません。", hostile);
export const ingest = { broadcast: "live", stream: "active", signal: "bad", no_data: false, judged_at: at(-60), asked_at: at(-30), issues: [noAudio, issue("somethingNew", "warning", "YouTube finds something wrong with the signal (somethingNew: Check it).", "YouTubeが信号の問題を報告しています（somethingNew: Check it）。")] };
export const preview = { source: "youtube", stream_url: monitor(9).stream_url, title: hostile, channel: null, state: "upcoming", reason: "upcoming", detail: null, scheduled_start_at: at(7200), problems: [] };
const trial = { event_id: eventID, delivered: false, status: 302, error: "HTTP 302 Found", body: "{}", request: attempt.request, response: null };

function timeline() {
  const good = { state: "live", share: { live: 1 } };
  const ok = { state: "ok", share: { ok: 1 } };
  const buckets = Array.from({ length: 240 }, (_, i) => ({ from: at(-3600 + i * 15), stream: good, video: i === 100 ? { state: "black", share: { black: 1 } } : ok, audio: ok, segments: ok, luma: { min: 0, mean: 99, max: 120 }, level: null }));
  return { monitor_id: id, from: buckets[0].from, to: at(0), bucket_sec: 15, buckets };
}

export function fill(gateway) {
  for (let n = 1; n <= 3; n++) gateway.monitors.set(monitor(n).monitor_id, monitor(n, { metadata: { channel_name: n === 1 ? hostile : `Channel ${n}` }, labels: { team: n === 1 ? hostile.slice(0, 100) : "a", show: "朝" } }));
  const watched = gateway.monitors.get(id);
  watched.config = { ...watched.config, preset: "music", detectors: { made_up: { threshold_sec: 60, above_db: -12 } } };
  watched.health.conditions = [{ detector: "made_up", condition: "made_up_heard", track: "audio", state: "made_up", since: at(-90), alerted: true, values: { level_db: -3.456, left_of_the_stage_dbfs: -15.6, right_of_the_stage_dbfs: -120 } }];
  const rendition = (height, bandwidth, state, age) => ({ height, bandwidth, state, looked_at: age === null ? null : at(-age) });
  watched.health.renditions = [rendition(1080, 4_500_000, "ok", 200), rendition(720, 2_800_000, "black", 20), rendition(480, 0, "gone", 20), rendition(0, 0, "unknown", null)];
  watched.ingest = ingest;
  watched.owner = "live-ops";
  const [black] = incident(2).conditions;
  gateway.incidents.set(incident(2).incident_id, incident(2, { conditions: [black, { ...black, name: "silent", alert: { event_id: null, at: at(-30), duration_sec: 30, threshold_sec: 30, criteria: null, reason: null, detail: null, cause: noAudio } }] }));
  gateway.evidence = [evidence(2)];
  gateway.version = 1;
  const say = (what, answer, status = 200) => gateway.routes.set(what, () => [status, typeof answer === "function" ? answer() : answer]);
  say(`GET /api/v1/monitors/${id}`, () => gateway.monitors.get(id));
  say(`GET /api/v1/monitors/${id}/timeline`, timeline);
  say(`GET /api/v1/monitors/${id}/sessions`, { sessions: [] });
  say(`GET /api/v1/monitors/${id}/events`, { events: [], pagination: { total: 0 } });
  for (const of of [`monitors/${id}`, `channels/${channelID}`]) say(`GET /api/v1/${of}/references`, { references: [{ reference_id: eventID, name: hostile.slice(0, 60), unwanted: "after_start", similarity: 0.92 }] });
  const paused = gateway.monitors.get(monitor(3).monitor_id);
  Object.assign(paused, { paused_until: at(3600), paused_by: hostile.slice(0, 60), health: { ...paused.health, video: "unknown", audio: "unknown" } });
  say(`GET /api/v1/monitors/${paused.monitor_id}`, paused);
  const pausedTime = (bucket, i) => (i < 200 ? bucket : { ...bucket, ...Object.fromEntries(["stream", "video", "audio", "segments"].map((lane) => [lane, { state: "paused", share: { paused: 1 } }])) });
  say(`GET /api/v1/monitors/${paused.monitor_id}/timeline`, () => ({ ...timeline(), buckets: timeline().buckets.map(pausedTime) }));
  say(`GET /api/v1/monitors/${paused.monitor_id}/sessions`, { sessions: [] });
  say(`GET /api/v1/monitors/${paused.monitor_id}/events`, { events: [], pagination: { total: 0 } });
  say(`GET /api/v1/monitors/${paused.monitor_id}/references`, { references: [] });
  say("GET /api/v1/cookie-jars", { cookie_jars: cookieJars });
  say("GET /api/v1/ingest-logins", { enabled: true, ingest_logins: ingestLogins });
  say("GET /api/v1/monitors", { monitors: [...gateway.monitors.values()].map((m, n) => ({ ...m, status: n ? "stopped" : "error", reason: n ? undefined : "worker_lost", ended_at: at(-90_000 * n) })), pagination: { total: 3, limit: 100, offset: 0 }, next: null });
  say("GET /api/v1/service", service);
  say("GET /api/v1/deliveries", { deliveries: [delivery], next: null });
  say("POST /api/v1/preview", preview);
  say("POST /api/v1/webhooks/test", trial);
  fillChannels(gateway, hostile);
}

export const pages = { wall: "/", rows: "/?view=rows", "the room": "/?view=room&size=27", "a view": "/?view=rows&group=team&label=show%3A朝", incidents: "/incidents", "incidents by label": "/incidents?group=team", "ended streams": "/ended?label=show%3A朝", incident: `/incidents/${incident(2).incident_id}`, monitor: `/monitors/${id}`, "a paused monitor": `/monitors/${monitor(3).monitor_id}`, deliveries: "/deliveries", register: `/register?url=${encodeURIComponent(monitor(9).stream_url)}`, channels: "/channels?stopped=true", channel: `/channels/${channelID}`, "register a channel": "/channels/register?channel=@channel1", settings: "/settings", signin: "/signin?link=expired" };

// typeWebhook chooses a webhook beside the routes, and types its address.
export async function typeWebhook(page, url) {
  await page.locator("input[name=told]").nth(1).check();
  await page.locator("#callback").fill(url);
}
