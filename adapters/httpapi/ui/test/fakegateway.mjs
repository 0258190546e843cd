// A gateway made of memory: the built pages, a feed with as many monitors and changes as asked for, and hostile moods.
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

// detectors is what a gateway lists that has a made-up third detector. A test of adapters/httpapi writes it (WRITE_DOCS=1).
const detectors = JSON.parse(readFileSync(new URL("detectors.json", import.meta.url), "utf8"));

const dist = fileURLToPath(new URL("../dist", import.meta.url));
const types = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; worker-src 'self'; img-src 'self' blob:; media-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types feed";

const iso = (ms) => new Date(ms).toISOString();

export function monitor(n, more = {}) {
  const id = `mon-${String(n).padStart(32, "0")}`;
  return {
    monitor_id: id,
    number: n,
    stream_url: `https://www.youtube.com/watch?v=video${String(n).padStart(6, "0")}`,
    status: "monitoring",
    stream_status: "live",
    health: { video: "ok", audio: "ok", last_check_at: iso(Date.now()) },
    last_error: null,
    blind_since: null,
    paused_until: null,
    paused_by: null,
    last_observed_at: iso(Date.now()),
    statistics: { total_segments_analyzed: 1, blackout_events: 0, silence_events: 0 },
    config: { check_interval_sec: 10, blackout_threshold_sec: 30, silence_threshold_sec: 30, silence_db_threshold: -50, scheduled_start_time: null, start_delay_tolerance_sec: 300, scheduled_end_time: null },
    metadata: { channel_name: `Channel ${n}`, stream_title: `Title of stream ${n}` },
    created_at: iso(1_700_000_000_000 + n * 1000),
    ...more,
  };
}

export function incident(n, more = {}) {
  const began = iso(Date.now() - 60_000);
  return {
    incident_id: `0190a5d3-4b5c-7d8a-9c1d-${String(n).padStart(12, "0")}`,
    monitor_id: monitor(n).monitor_id,
    stream_url: monitor(n).stream_url,
    state: "open",
    severity: 1,
    severity_now: 1,
    conditions: [{ name: "black", started_at: began, last_started_at: began, ended_at: null, count: 1, longest_sec: 0, spans: [{ started_at: began, ended_at: null }], alert: null }],
    started_at: began,
    opened_at: iso(Date.now() - 30_000),
    resolved_at: null,
    resolved_by: null,
    quiet_sec: 60,
    reopened: 0,
    acknowledged_by: null,
    acknowledged_at: null,
    acknowledged_severity: null,
    acknowledgements: [],
    false_positive: null,
    picture: null,
    updated_at: iso(Date.now() - 30_000),
    ...more,
  };
}

export function evidence(n, more = {}) {
  const file = (variant) => ({ variant, media_type: "image/jpeg", sha256: "0".repeat(64), size: 1000, width: 640, height: 360, taken_at: iso(Date.now() - 60_000), measure: 12 });
  return {
    evidence_id: `0190a5d1-2a3b-7d8a-9c1d-${String(n).padStart(12, "0")}`,
    monitor_id: monitor(n).monitor_id,
    event_id: `0190a5d2-2a3b-7d8a-9c1d-${String(n).padStart(12, "0")}`,
    incident_id: incident(n).incident_id,
    condition: "black",
    phase: "alert",
    class: "normal",
    note: "clip: too large",
    created_at: iso(Date.now() - 30_000),
    expires_at: null,
    variants: [file("before"), file("onset")],
    ...more,
  };
}

const roles = ["view", "operate", "admin"];

// neededFor is the role that a request needs (section 12.4).
function neededFor(method, path) {
  if (method === "GET" || /^\/api\/v1\/(session|evidence\/[^/]+\/link|thumbnails\/watch|routes\/explain)$/.test(path)) return "view";
  return /^\/api\/v1\/(monitors|channels|incidents|silences|duty\/overrides|deliveries|preview|webhooks|evidence)\b/.test(path) ? "operate" : "admin";
}

export class FakeGateway {
  monitors = new Map();
  incidents = new Map();
  checker = { watched: 0, blind: 0, late: 0, late_monitors: [], failing: 0, failures: [], blind_spot: null };
  hung = false; // connections stay open and say nothing
  refuse = 0; // status of every answer to the feed; 0: it works
  noWorker = false; // no answer to requests for the worker of the feed
  signedOut = false;
  sessionMs = 6 * 86_400_000; // until signing in again is necessary
  role = "admin"; // of the key that has signed in
  forbidden = []; // requests that this role may not make
  evidence = []; // what every list of evidence has
  thumbnails = new Map(); // when the newest thumbnail of a monitor was taken
  skewMs = 0; // the clock of this gateway is ahead by it
  readers = new Set();
  opened = 0; // connections to the feed so far
  requests = [];
  routes = new Map(); // a test's own answers: "POST /api/v1/preview" to (sent, request) => [status, answer]
  version = 0;
  epoch = "fake";

  static async start() {
    const gateway = new FakeGateway();
    gateway.server = createServer((request, response) => gateway.answer(request, response));
    await gateway.listen(0);
    gateway.beat = setInterval(() => gateway.heartbeat(), 5000);
    return gateway;
  }

  listen(port) {
    return new Promise((done) => this.server.listen(port, "127.0.0.1", () => ((this.port = this.server.address().port), done())));
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  // vanish closes everything, as a gateway that is killed; comeBack listens at the same port.
  async vanish() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
    this.readers.clear();
  }

  async comeBack() {
    this.server = createServer((request, response) => this.answer(request, response));
    await this.listen(this.port);
  }

  async stop() {
    clearInterval(this.beat);
    await this.vanish();
  }

  now() {
    return Date.now() + this.skewMs;
  }

  updateMonitor(m) {
    this.monitors.set(m.monitor_id, m);
    this.append("monitor.updated", m);
  }

  updateIncident(i) {
    this.incidents.set(i.incident_id, i);
    this.append("incident.updated", i);
  }

  addThumbnail(m, ageSec = 0) {
    const taken = iso(this.now() - ageSec * 1000);
    this.thumbnails.set(m.monitor_id, taken);
    this.say(`event: thumbnail.updated\ndata: ${JSON.stringify({ type: "thumbnail.updated", at: taken, data: { monitor_id: m.monitor_id, taken_at: taken } })}\n\n`);
  }

  append(type, data) {
    const id = `${this.epoch}-${++this.version}`;
    this.say(`id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ id, version: this.version, type, at: iso(this.now()), data })}\n\n`);
  }

  heartbeat(to = null) {
    const line = `event: heartbeat\ndata: ${JSON.stringify({ type: "heartbeat", at: iso(this.now()), data: { checker: this.checker && { ...this.checker, watched: this.monitors.size } } })}\n\n`;
    if (to) to.write(line);
    else this.say(line);
  }

  say(line) {
    if (!this.hung) for (const reader of this.readers) reader.write(line);
  }

  answer(request, response) {
    const { pathname, searchParams } = new URL(request.url, this.url);
    this.requests.push(`${request.method} ${pathname}`);
    if (pathname === "/api/v1/feed") return this.feed(searchParams, response);
    if (pathname.startsWith("/api/") || pathname.startsWith("/evidence/")) return this.api(request, pathname, response);
    this.file(pathname, response);
  }

  feed(parameters, response) {
    this.opened++;
    if (this.signedOut) return json(response, 401, { error: { code: "UNAUTHORIZED", message: "sign in" } });
    if (this.refuse) return json(response, this.refuse, { error: { code: "UNAVAILABLE", message: "later" } });
    response.writeHead(200, { "Content-Type": "text/event-stream", "X-Accel-Buffering": "no" });
    response.write("retry: 1000\n\n");
    this.readers.add(response);
    response.on("close", () => this.readers.delete(response));
    if (this.hung) return;
    const id = `${this.epoch}-${this.version}`;
    if (parameters.get("after") !== id) {
      const data = { monitors: [...this.monitors.values()], incidents: [...this.incidents.values()].filter((i) => i.state === "open"), deliveries: [] };
      response.write(`id: ${id}\nevent: state.replace\ndata: ${JSON.stringify({ id, version: this.version, type: "state.replace", at: iso(this.now()), data })}\n\n`);
    }
    this.heartbeat(response);
  }

  api(request, pathname, response) {
    if (roles.indexOf(neededFor(request.method, pathname)) > roles.indexOf(this.role)) {
      this.forbidden.push(`${request.method} ${pathname}`);
      return json(response, 403, { error: { code: "FORBIDDEN", message: "the role of the key does not include it" } });
    }
    const own = this.routes.get(`${request.method} ${pathname}`);
    if (own) return body(request).then((sent) => json(response, ...own(sent, request)));
    const incident = pathname.match(/^\/api\/v1\/incidents\/([^/]+)(\/acknowledge)?$/);
    if (this.signedOut) return json(response, 401, { error: { code: "UNAUTHORIZED", message: "sign in" } });
    if (pathname === "/api/v1/session") return json(response, 200, { expires_at: iso(this.now() + 3_600_000), sign_in_again_at: iso(this.now() + this.sessionMs), name: this.role === "admin" ? "API_KEY" : "ann", role: this.role });
    if (pathname === "/api/v1/incidents") return json(response, 200, { incidents: [...this.incidents.values()].reverse(), next: null });
    if (incident && this.incidents.has(incident[1])) {
      const one = this.incidents.get(incident[1]);
      if (!incident[2]) return json(response, 200, { ...one, log: one.log ?? [] });
      return body(request).then(({ by }) => {
        this.updateIncident({ ...one, acknowledged_by: by, acknowledged_at: iso(this.now()), acknowledged_severity: one.severity, updated_at: iso(this.now()) });
        json(response, 200, { kind: "acknowledged", by });
      });
    }
    if (pathname === "/api/v1/detectors") return json(response, 200, detectors);
    if (pathname === "/api/v1/evidence") return json(response, 200, { evidence: this.evidence, next: null });
    if (pathname.endsWith("/link")) return json(response, 200, { url: "/evidence/picture?signature=x", expires_at: iso(this.now() + 900_000) });
    if (pathname.startsWith("/evidence/") || pathname.endsWith("/image")) return this.file("/assets/" + this.icon(), response);
    if (pathname === "/api/v1/deliveries") return json(response, 200, { deliveries: [], next: null });
    if (pathname === "/api/v1/thumbnails/watch") return json(response, 200, { expires_in_sec: 30 });
    const taken = pathname.endsWith("/thumbnail") && this.thumbnails.get(pathname.split("/")[4]);
    if (taken) return this.file("/assets/" + this.icon(), response.setHeader("X-Taken-At", taken), "no-store");
    json(response, 404, { error: { code: "ROUTE_NOT_FOUND", message: pathname } });
  }

  icon() {
    return readdirSync(join(dist, "assets")).find((name) => name.endsWith(".svg"));
  }

  file(pathname, response, cache) {
    if (this.noWorker && pathname.includes("feed.worker")) return response.destroy();
    const asset = pathname.startsWith("/assets/");
    try {
      const name = asset ? pathname : "/index.html";
      const content = readFileSync(join(dist, name));
      response.writeHead(200, { "Content-Type": types[extname(name)] ?? "application/octet-stream", "Content-Security-Policy": policy, "Cache-Control": cache ?? (asset ? "immutable, max-age=31536000" : "no-cache") });
      response.end(content);
    } catch {
      response.writeHead(404).end();
    }
  }
}

function json(response, status, value) {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify(value));
}

async function body(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const sent = Buffer.concat(chunks);
  return request.headers["content-type"]?.match(/^(image|text)\//) ? sent : JSON.parse(sent.toString() || "{}");
}
