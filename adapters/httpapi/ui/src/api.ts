// Typed requests to the API of the gateway that served the page. The session cookie authenticates them.
import type { Broadcast, Change, CookieJar, Delivery, Evidence, EventRecord, Incident, IngestLogin, Monitor, Preview, Problem, Registration, Role, Timeline, Trial, Variant } from "./types";

export class APIError extends Error {
  constructor(
    readonly status: number, // 0: the gateway did not answer
    readonly code: string,
    message: string,
    readonly retryAfterSec: number | null = null,
    readonly problems: Problem[] = [], // with fields of the request
    readonly existing_id?: string, // of the monitor or channel that is there already
  ) {
    super(message);
  }
}

const timeoutMs = 15_000;

// These wait for a tool or for somebody else's server.
const slowTimeoutMs = 55_000;
const slow = ["/api/v1/preview", "/api/v1/channels/preview", "/api/v1/webhooks/test"];

export async function request<T>(method: string, path: string, body?: unknown, signal?: AbortSignal, headers: Record<string, string> = {}): Promise<T> {
  const limit = AbortSignal.timeout(slow.includes(path) ? slowTimeoutMs : timeoutMs);
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? headers : { ...headers, "Content-Type": body instanceof Blob ? body.type : "application/json" },
      body: body === undefined || body instanceof Blob ? body : JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new APIError(0, "UNREACHABLE", String(error));
  }
  if (!response.ok) throw await refusal(response);
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

async function refusal(response: Response): Promise<APIError> {
  const retry = Number(response.headers.get("Retry-After")) || null;
  try {
    const { error } = (await response.json()) as { error: Problem & { problems?: Problem[] } };
    return new APIError(response.status, error.code, error.message, retry, error.problems, error.existing_id);
  } catch {
    return new APIError(response.status, "UNKNOWN", `HTTP ${response.status}`, retry);
  }
}

type Query = Record<string, string | number | boolean | null | undefined | string[]>;

export function withParameters(path: string, parameters: Query): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (Array.isArray(value)) value.forEach((one) => query.append(name, one));
    else if (value !== null && value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

export function get<T>(path: string, parameters: Query = {}, signal?: AbortSignal): Promise<T> {
  return request<T>("GET", withParameters(path, parameters), undefined, signal);
}

export function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return request<T>("POST", path, body, signal);
}

const segment = encodeURIComponent;

export const session = {
  read: () => get<{ expires_at: string; sign_in_again_at: string; name: string; role: Role }>("/api/v1/session"),
  signIn: (apiKey: string) => post<void>("/api/v1/session", { api_key: apiKey }),
  signOut: () => request<void>("DELETE", "/api/v1/session"),
};

export const monitors = {
  read: (id: string, signal?: AbortSignal) => get<Monitor>(`/api/v1/monitors/${segment(id)}`, {}, signal),
  timeline: (id: string, from: string, to: string, buckets: number, signal?: AbortSignal) =>
    get<Timeline>(`/api/v1/monitors/${segment(id)}/timeline`, { from, to, buckets }, signal),
  events: (id: string, limit: number, signal?: AbortSignal) =>
    get<{ events: EventRecord[]; pagination: { total: number } }>(`/api/v1/monitors/${segment(id)}/events`, { limit }, signal),
  sessions: (id: string, signal?: AbortSignal) => get<{ sessions: Broadcast[] }>(`/api/v1/monitors/${segment(id)}/sessions`, {}, signal),
  register: (registration: Registration, operation: string) => request<{ monitor_id: string }>("POST", "/api/v1/monitors", registration, undefined, { "Idempotency-Key": operation }),
  change: (id: string, change: Change) => request<Monitor>("PATCH", `/api/v1/monitors/${segment(id)}`, change),
  preview: (registration: Partial<Registration>, signal?: AbortSignal) => post<Preview>("/api/v1/preview", registration, signal),
  stop: (id: string) => request<void>("DELETE", `/api/v1/monitors/${segment(id)}`),
};

// asText is a file as text, whatever its name.
const asText = (file: Blob) => new Blob([file], { type: "text/plain" });

export const cookieJars = {
  list: (signal?: AbortSignal) => get<{ cookie_jars: CookieJar[] }>("/api/v1/cookie-jars", {}, signal),
  create: (name: string, file: Blob) => post<CookieJar>(withParameters("/api/v1/cookie-jars", { name }), asText(file)),
  replace: (id: string, file: Blob) => request<CookieJar>("PUT", `/api/v1/cookie-jars/${segment(id)}`, asText(file)),
  remove: (id: string) => request<void>("DELETE", `/api/v1/cookie-jars/${segment(id)}`),
};

export const ingestLogins = {
  list: (signal?: AbortSignal) => get<{ enabled: boolean; ingest_logins: IngestLogin[] }>("/api/v1/ingest-logins", {}, signal),
  create: (name: string, token: string) => post<IngestLogin>("/api/v1/ingest-logins", { name, refresh_token: token }),
  replace: (id: string, token: string) => request<IngestLogin>("PUT", `/api/v1/ingest-logins/${segment(id)}`, { refresh_token: token }),
  remove: (id: string) => request<void>("DELETE", `/api/v1/ingest-logins/${segment(id)}`),
};

export interface IncidentFilter {
  state?: string | null;
  condition?: string | null;
  severity?: string | null;
  monitor_id?: string | null;
  label?: string[]; // NAME:VALUE
  from?: string | null;
  to?: string | null;
  after?: string | null;
  limit?: number;
}

export const incidents = {
  list: (filter: IncidentFilter, signal?: AbortSignal) =>
    get<{ incidents: Incident[]; next: string | null }>("/api/v1/incidents", { ...filter }, signal),
  read: (id: string, signal?: AbortSignal) => get<Incident>(`/api/v1/incidents/${segment(id)}`, {}, signal),
  acknowledge: (id: string, by: string) => post(`/api/v1/incidents/${segment(id)}/acknowledge`, { op_id: operationID(), by }),
  resolve: (id: string, by: string) => post(`/api/v1/incidents/${segment(id)}/resolve`, { op_id: operationID(), by }),
  note: (id: string, by: string, text: string) => post(`/api/v1/incidents/${segment(id)}/notes`, { op_id: operationID(), by, text }),
  label: (id: string, by: string, falsePositive: boolean | null) =>
    post(`/api/v1/incidents/${segment(id)}/label`, { op_id: operationID(), by, false_positive: falsePositive }),
};

export const evidence = {
  list: (filter: { incident_id?: string; monitor_id?: string; limit?: number }, signal?: AbortSignal) =>
    get<{ evidence: Evidence[]; next: string | null }>("/api/v1/evidence", filter, signal),
  link: (id: string, variant: Variant, ttlSec = 900) =>
    post<{ url: string; expires_at: string }>(`/api/v1/evidence/${segment(id)}/link`, { variant, ttl_sec: ttlSec }),
};

export interface DeliveryFilter {
  monitor_id?: string | null;
  event_id?: string | null;
  destination_id?: string | null;
  incident_id?: string | null;
  state?: string | null;
  cursor?: string | null;
  limit?: number;
}

export const testWebhook = (callbackURL: string) => post<Trial>("/api/v1/webhooks/test", { callback_url: callbackURL });

export const deliveries = {
  list: (filter: DeliveryFilter, signal?: AbortSignal) =>
    get<{ deliveries: Delivery[]; next: string | null }>("/api/v1/deliveries", { ...filter }, signal),
  // again sends a delivery again.
  again: (d: Delivery) =>
    d.delivery_id ? post<void>(`/api/v1/deliveries/${segment(d.delivery_id)}/replay`, undefined) : post<void>(`/api/v1/monitors/${segment(d.monitor_id!)}/events/${segment(d.event_id!)}/redeliver`, undefined),
  // againSince sends everything again that has failed since a time.
  againSince: (since: string, destinationID: string | null) => post<{ replayed: number }>("/api/v1/deliveries/replay", { since, ...(destinationID ? { destination_id: destinationID } : {}) }),
};

// operationID is chosen once for an action. crypto.randomUUID does not exist on plain http in a LAN.
export function operationID(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}
