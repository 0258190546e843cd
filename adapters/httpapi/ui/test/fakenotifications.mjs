// Destinations, routes and silences of the fake gateway. Changes are kept in memory.
import { readFileSync } from "node:fs";
import { monitor } from "./fakegateway.mjs";

const id = (group, n) => `0190a5d${group}-2a3b-7d8a-9c1d-${String(n).padStart(12, "0")}`;
const ago = (sec) => new Date(Date.now() - sec * 1000).toISOString();
const hours = (f) => Array.from({ length: 24 }, (_, i) => f(i));

// kinds is what a gateway lists. A test of adapters/httpapi writes it (WRITE_DOCS=1).
const { kinds } = JSON.parse(readFileSync(new URL("../../testdata/bodies.json", import.meta.url), "utf8"))["kinds valid"];

const health = (more = {}) => ({ state: "working", failing_since: null, last_error: null, delivered_at: ago(300), retry_at: null, pending: 0, delivered_24h: hours((i) => (i * 7) % 5), failed_24h: hours(() => 0), ...more });

export function destination(n, more = {}) {
  return { destination_id: id(1, n), name: `Destination ${n}`, kind: "slack", language: "en", config: { channel: "#live-ops" }, secrets: ["bot_token"], fallback: null, enabled: true, disabled_reason: null, owner: null, health: health(), created_at: ago(90_000), updated_at: ago(90_000), ...more };
}

export function route(n, more = {}) {
  return { route_id: id(2, n), name: `Route ${n}`, match: {}, windows: [], destinations: [destination(1).destination_id], on_duty: false, delay_sec: 0, repeat_sec: 0, continue: false, default: false, owner: null, ...more };
}

export function silence(n, more = {}) {
  return { silence_id: id(3, n), match: { monitors: [monitor(1).monitor_id] }, from: ago(600), to: null, until_recovered: true, window: null, skip_until: null, everything: false, by: "Ann", comment: "the session has no fixed time", state: "active", next_at: null, owner: null, ...more };
}

// fillNotifications gives the gateway what the page of destinations reads and changes. It returns the state.
export function fillNotifications(gateway) {
  const state = {
    destinations: [
      destination(1, { name: "Slack #live-ops" }),
      destination(2, { name: "LINE 当番グループ", kind: "line", language: "ja", config: { to: "C0123" }, secrets: ["channel_access_token"], health: health({ state: "unused", delivered_at: null, delivered_24h: hours(() => 0) }) }),
      destination(3, { name: "Northline automation", kind: "webhook", config: {}, secrets: ["url", "signing_key"], health: health({ state: "failing", failing_since: ago(420), last_error: "HTTP 503 Service Unavailable", retry_at: ago(-100), pending: 6, failed_24h: hours((i) => (i > 21 ? 4 : 0)) }) }),
      destination(4, { name: "Night desk", kind: "email", config: { host: "mail.example", to: "nightdesk@orbit.example" }, secrets: [], enabled: false, disabled_reason: "failed_for_days", owner: "live-ops", health: health({ state: "disabled" }) }),
    ],
    routes: [
      route(1, { name: "automation", destinations: [id(1, 3)], continue: true }),
      route(2, { name: "night", match: { min_severity: 2, labels: { team: "night" }, metadata: { channel_name: "Orbit Live" } }, destinations: [id(1, 2)], delay_sec: 300, repeat_sec: 600, continue: true }),
      route(3, { name: "default", default: true }),
    ],
    duty: {
      on_duty: ["Ann"],
      handover_at: ago(-3600),
      next: ["Ben"],
      people: [
        { name: "Ann", destination_id: id(1, 2), windows: [{ weekdays: ["mon", "tue"], start: "22:00", end: "06:00", timezone: "Asia/Tokyo" }] },
        { name: "Ben", destination_id: id(1, 1), windows: [] },
      ],
      overrides: [{ override_id: id(4, 1), person: "Ben", from: ago(-3600), to: ago(-7200), by: "Ann" }],
      owner: null,
    },
    silences: [silence(1), silence(2, { match: { min_severity: 1, conditions: ["late"] }, until_recovered: false, window: { weekdays: [], start: "02:00", end: "04:00", timezone: "Asia/Tokyo" }, state: "scheduled", next_at: ago(-20_000), comment: "" })],
    sent: [],
  };
  const reasons = [
    { criterion: "labels.team", wanted: "night", got: "", ok: false },
    { criterion: "metadata.channel_name", wanted: "Orbit Live", got: "", ok: false },
    { criterion: "min_severity", wanted: "2", got: "1", ok: false },
    { criterion: "conditions", wanted: "black, no_media", got: "late", ok: false },
    { criterion: "events", wanted: "channel.stream_found", got: "stream.delayed", ok: false },
    { criterion: "monitors", wanted: monitor(2).monitor_id, got: monitor(1).monitor_id, ok: false },
    { criterion: "hints", wanted: "late_starts", got: "", ok: false },
  ];
  const hook = { destination_id: id(1, 9), name: "Night hook", delay_sec: 0, gets: "events", enabled: true, result: "not_matched", reasons: [{ criterion: "min_severity", wanted: "2", got: "1", ok: false }] };
  const answers = {
    "GET /api/v1/destination-kinds": () => ({ kinds }),
    "GET /api/v1/destinations": () => ({ destinations: state.destinations }),
    "GET /api/v1/routes": () => ({ routes: state.routes }),
    "GET /api/v1/duty": () => state.duty,
    "PATCH /api/v1/duty": (sent) => Object.assign(state.duty, sent),
    "POST /api/v1/duty/overrides": (sent) => (state.duty.overrides.push({ override_id: id(4, 9), from: ago(0), ...sent }), state.duty),
    [`DELETE /api/v1/duty/overrides/${id(4, 1)}`]: () => ((state.duty.overrides = []), {}),
    "GET /api/v1/silences": () => ({ silences: state.silences }),
    "POST /api/v1/destinations": (sent) => push(state.destinations, destination(9, { ...sent, secrets: Object.keys(sent.secrets) })),
    "POST /api/v1/routes": (sent) => insert(state.routes, route(9, sent)),
    "POST /api/v1/silences": (sent) => push(state.silences, silence(9, sent)),
    "PUT /api/v1/routes/order": ({ routes }) => {
      const last = state.routes.at(-1);
      state.routes = [...routes.map((wanted) => state.routes.find((r) => r.route_id === wanted)), last];
      return { routes: state.routes };
    },
    "POST /api/v1/routes/explain": (sent) => ({
      routes: state.routes.map((r, i) => ({ route_id: r.route_id, name: r.name, result: i === 1 ? "not_matched" : "matched", reasons: i === 1 ? reasons : [], destinations: i === 0 ? [hook] : [] })),
      silences: [],
      destinations: [{ destination_id: id(1, 1), name: "Slack #live-ops", route_id: id(2, 3), delay_sec: 0, silenced: false }],
      paused_until: sent.monitor_id ? ago(-3600) : null,
    }),
  };
  for (const d of state.destinations) {
    answers[`POST /api/v1/destinations/${d.destination_id}/test`] = () => ({ delivered: d.kind !== "webhook", attempt: { at: ago(0), status: d.kind === "webhook" ? 503 : 200, error: d.kind === "webhook" ? "HTTP 503" : null, request: { url: "https://slack.com/…", headers: { "Content-Type": "application/json" }, duration_ms: 30 }, response: { content_type: "application/json", body: '{"ok":true}', truncated: false } } });
    answers[`PATCH /api/v1/destinations/${d.destination_id}`] = (sent) => Object.assign(d, { ...sent, config: d.config, secrets: d.secrets, fallback: sent.fallback ?? d.fallback });
    answers[`DELETE /api/v1/destinations/${d.destination_id}`] = () => ((state.destinations = state.destinations.filter((other) => other !== d)), {});
  }
  for (const r of state.routes) answers[`PATCH /api/v1/routes/${r.route_id}`] = (sent) => Object.assign(r, sent);
  for (const s of state.silences) answers[`PATCH /api/v1/silences/${s.silence_id}`] = (sent) => Object.assign(s, sent);
  for (const s of state.silences) answers[`DELETE /api/v1/silences/${s.silence_id}`] = () => ((s.state = "ended"), {});
  for (const [what, answer] of Object.entries(answers)) {
    gateway.routes.set(what, (sent) => {
      if (!what.startsWith("GET")) state.sent.push([what, sent]);
      return [200, answer(sent)];
    });
  }
  return state;
}

const push = (list, one) => (list.push(one), one);
const insert = (list, one) => (list.splice(list.length - 1, 0, one), one); // before the default route
