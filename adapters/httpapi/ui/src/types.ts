// The objects of the API (openapi.yaml), as far as the dashboard reads them. Times are RFC 3339.

export type Status = "initializing" | "waiting" | "monitoring" | "completed" | "stopped" | "error";
export type StreamStatus = "unknown" | "upcoming" | "live" | "ended";
export type ConditionName = string; // late, no_media, blind, error, or that of a detector
export type Variant = "before" | "onset" | "recovery" | "level" | "levels" | "clip";
export type Role = "view" | "operate" | "admin"; // of a key; each includes the one before it
export type Metadata = Record<string, unknown>;
export type Labels = Record<string, string>; // by name

export interface Config {
  check_interval_sec: number;
  blackout_threshold_sec: number;
  silence_threshold_sec: number;
  silence_db_threshold: number;
  scheduled_start_time: string | null;
  start_delay_tolerance_sec: number;
  scheduled_end_time?: string | null;
  on_callback_failure?: "error" | "continue"; // left out: error
  detectors?: Record<string, Record<string, number> | null>; // optional ones, with their settings; null: off
  cookie_jar?: string | null; // the name of the login that questions about the stream use
  http_headers?: Record<string, string | null> | null; // of requests for the stream; no answer has a value
  token_url?: string | null; // no answer has it
  copy_query?: boolean; // the secret query of the address goes with every request
  preset?: string | null; // whose values it was registered with
}

// Detectors are optional detectors that run, with their settings.
export type Detectors = Record<string, Record<string, number>>;

// DetectorState is what one detector makes of the newest media.
export interface DetectorState {
  detector: string;
  condition: ConditionName;
  track: "video" | "audio";
  state: string;
  since: string | null;
  alerted: boolean;
  values: Record<string, number>;
}

// RenditionState is what the newest look at a rendition has found that is not the watched one.
export interface RenditionState {
  height: number; // lines; 0: unknown
  bandwidth: number; // bits per second; 0: unknown
  state: "ok" | "failed" | "stalled" | "black" | "gone" | "unknown";
  looked_at: string | null;
}

export interface Health {
  video: string;
  audio: string;
  last_check_at: string | null;
  conditions?: DetectorState[];
  renditions?: RenditionState[];
}

export type HintKind = "quieter" | "recurring" | "late_starts";

// Hint is what the recorded history suggests about a stream; no alert.
export interface Hint {
  kind: HintKind;
  condition?: ConditionName; // of recurring
  since: string;
  numbers: Record<string, number>;
}

// Reference is an uploaded picture that detectors look for.
export interface Reference {
  reference_id: string;
  name: string;
  unwanted: "after_start" | "before_start" | "always";
  similarity: number;
}

// CookieJar is an uploaded login. Its cookies are never told.
export interface CookieJar {
  jar_id: string;
  name: string;
  state: "unused" | "accepted" | "rejected" | "unreadable";
  signed_in: boolean;
  monitors: number;
  channels: number;
  uploaded_at: string;
  accepted_at: string | null;
  rejected_at: string | null;
}

// IngestLogin is the login of an owner. Its token is never told.
export interface IngestLogin {
  login_id: string;
  name: string;
  state: CookieJar["state"];
  streams: number;
  accepted_at: string | null;
  rejected_at: string | null;
  failure: { kind: APIFailureKind | "login_rejected"; detail: string } | null;
}

// APIFailureKind is why an official API gives no answer.
export type APIFailureKind = "quota_exceeded" | "key_refused" | "rate_limited" | "unreachable" | "malformed";

// IngestIssue is what YouTube finds wrong with the signal of an encoder.
export interface IngestIssue {
  type: string;
  severity: "info" | "warning" | "error";
  description?: string; // in English, with numbers
  words: Record<"en" | "ja", { says: string; do: string }>;
}

// Ingest is what YouTube thinks of the signal of an encoder, in its words.
export interface Ingest {
  broadcast: string;
  stream: string;
  signal: string;
  no_data: boolean;
  issues: IngestIssue[];
  asked_at: string;
}

export interface Monitor {
  monitor_id: string;
  number: number;
  stream_url: string;
  status: Status;
  reason?: string;
  stream_status: StreamStatus;
  health: Health;
  last_error: string | null;
  blind_since: string | null;
  paused_until: string | null; // it may have passed since
  paused_by: string | null;
  last_observed_at: string | null;
  statistics: Record<string, number>;
  config: Config;
  metadata: Metadata;
  labels: Labels;
  created_at: string;
  ended_at?: string;
  record_parked_since?: string; // incidents and history cannot be stored
  hints?: Hint[]; // that hold
  ingest?: Ingest; // missing: nothing is known
  callback_url?: null; // routes alone tell somebody; left out: it has one
  untold?: boolean; // routes alone, and none leads its alerts to anybody
  channel_id?: string; // that has found or adopted it
  owner?: string; // the file that keeps it
}

// Alert has the numbers that made the event of a condition's newest episode.
export interface Alert {
  event_id: string | null;
  at: string;
  duration_sec: number | null;
  threshold_sec: number | null;
  criteria: Record<string, number> | null; // luma_below_percent, area_percent, level_below_db
  reason: string | null;
  detail: string | null;
  cause?: IngestIssue; // the likely one; missing: nothing explains it
  opinion?: Opinion; // missing: nobody was to be asked
}

export type Verdict = "asked" | "keep" | "drop" | "label" | "unknown" | "not_asked";

// Opinion is a second opinion about an alert. label, confidence (0 to 1) and severity are those of the verdict label.
export interface Opinion {
  verdict: Verdict;
  asked_at: string | null;
  answered_at: string | null;
  label: string | null;
  confidence: number | null;
  severity: number | null;
  reason: string | null;
}

// Span is a time that a condition was there. ended_at null: it lasts.
export interface Span {
  started_at: string;
  ended_at: string | null;
}

export interface Condition {
  name: ConditionName;
  started_at: string;
  last_started_at: string;
  ended_at: string | null;
  count: number;
  longest_sec: number;
  spans: Span[]; // ascending and apart
  alert?: Alert | null;
}

export interface Acknowledgement {
  by: string;
  at: string;
  severity: number;
}

export interface Incident {
  incident_id: string;
  monitor_id: string;
  stream_url: string;
  labels?: Labels; // of the monitor; the feed has none
  state: "open" | "resolved";
  severity: number; // the worst so far
  severity_now: number | null; // of what lasts; null: nothing does, or it is resolved
  conditions: Condition[];
  started_at: string;
  opened_at: string;
  resolved_at: string | null;
  resolved_by: string | null; // null: by itself
  resolved_by_pause?: boolean; // its stream was paused, by resolved_by
  quiet_sec: number;
  reopened: number;
  acknowledged_by: string | null;
  acknowledged_at: string | null;
  acknowledged_severity: number | null;
  acknowledgements: Acknowledgement[]; // all, also those before a reopening
  false_positive: boolean | null;
  picture: { evidence_id: string; variant: Variant } | null;
  updated_at: string;
  log?: LogEntry[];
  hints?: Hint[]; // of its time
}

export interface LogEntry {
  kind: "opened" | "reopened" | "severity_raised" | "resolved" | "paused" | "acknowledged" | "note" | "label" | "opinion";
  at: string;
  by: string | null;
  text: string | null;
  false_positive: boolean | null;
  severity: number | null;
  verdict?: Verdict; // of an opinion
}

export interface EvidenceFile {
  variant: Variant;
  media_type: string;
  size: number;
  width: number | null;
  height: number | null;
  taken_at: string;
  measure: number | null;
  rendition_height?: number | null;
}

export interface Evidence {
  evidence_id: string;
  monitor_id: string;
  event_id: string;
  incident_id: string | null;
  condition: string;
  phase: "alert" | "recovery";
  class: "normal" | "quarantine" | "case";
  note: string | null;
  created_at: string;
  expires_at: string | null;
  variants: EvidenceFile[];
}

export interface Lane {
  state: string;
  share: Record<string, number>;
}

export interface Measured {
  min: number;
  mean: number;
  max: number;
}

export interface Bucket {
  from: string;
  stream: Lane | null;
  video: Lane | null;
  audio: Lane | null;
  segments: Lane | null;
  luma: Measured | null;
  level: Measured | null;
}

export interface Timeline {
  monitor_id: string;
  from: string;
  to: string;
  bucket_sec: number;
  buckets: Bucket[];
}

export interface EventRecord {
  event_id: string;
  event_type: string;
  created_at: string;
  webhook_status: "pending" | "sent" | "failed" | "none";
  webhook_last_error: string | null;
  sent_at: string | null;
  attempts: { at: string; status: number | null; error: string | null }[];
  payload: Record<string, unknown>;
}

export interface DeliveryAttempt {
  at: string;
  status: number | null;
  error: string | null;
  request: { url: string; headers: Record<string, string>; duration_ms: number; message?: string | null } | null;
  response: { content_type: string | null; body: string; truncated: boolean } | null;
}

// Delivery is what was sent to a monitor's webhook, or to a destination: an event, or the messages about an incident.
export interface Delivery {
  delivery_id?: string | null; // null: to the monitor's webhook
  destination?: { destination_id: string; name: string; kind: string } | null;
  event_id: string | null; // null: messages
  event_type: string | null; // null: messages that are not about channels
  monitor_id: string | null; // null: about a storm, another destination, or channels
  stream_url: string | null;
  channel_id: string | null; // null: about no channel, or several
  channel_url: string | null;
  incident_id: string | null;
  created_at: string;
  state: "pending" | "delivered" | "failed" | "dropped";
  tried: number;
  next_attempt_at: string | null;
  delivered_at: string | null;
  last_error: string | null;
  long_schedule?: boolean; // its monitor goes on, and it blocks nothing
  body: string; // empty: messages
  attempts: DeliveryAttempt[];
}

export interface Broadcast {
  started_at: string;
  ended_at: string | null;
  seconds: Record<string, number>;
  alerts: number;
  incidents: number;
  time_to_alert_sec: { mean: number; max: number } | null;
}

export interface Registration {
  stream_url: string;
  callback_url: string | null; // null: routes alone tell somebody
  config: Partial<Config>;
  metadata: Metadata;
  labels?: Labels;
}

export interface ChannelRegistration {
  channel: string; // an ID, an @handle or a URL
  callback_url: string | null;
  config: Partial<Config>;
  labels?: Labels;
  cookie_jar?: string; // without one, streams for members are skipped
}

// ChannelChange has the fields that are changed of a template.
export type ChannelChange = Omit<Change, "config"> & { config?: Omit<Partial<Config>, "cookie_jar">; cookie_jar?: string | null };

export type ChannelFailure = "not_found" | "no_streams" | "refused" | "rate_limited" | "network" | "unreadable" | "tool_failed";

export type FoundStanding = "watched" | "wanted" | "pending" | "skipped" | "over";

// FoundStream is a stream of a channel, and what becomes of it.
export interface FoundStream {
  stream_url: string;
  broadcast_id: string | null; // which of those that come and go under the URL; null: there is one only, or it is not known
  title: string | null;
  state: "upcoming" | "live";
  members_only: boolean;
  scheduled_start_at: string | null;
  found_at: string;
  seen_at: string;
  standing: FoundStanding;
  why: string | null;
  detail: string | null;
  monitor_id: string | null;
  monitor_status: Status | null;
  adopted: boolean; // a person had registered it
}

// Channel is a registered channel. config and metadata are what its streams are registered with.
export interface Channel {
  channel_id: string;
  channel_url: string;
  source_id: string | null;
  handle: string | null;
  title: string | null;
  config: Config;
  metadata: Metadata;
  labels: Labels;
  cookie_jar: string | null;
  owner?: string; // the file that keeps it
  created_at: string;
  stopped_at: string | null;
  reading: {
    read_at: string | null; // null: not yet
    by: string | null;
    next_at: string | null; // null: it was stopped
    failures: number; // in a row
    failing_since: string | null;
    failure: ChannelFailure | null;
    last_error: string | null;
    unreadable_since: string | null; // once that was told
  };
  counts: Record<FoundStanding | "no_room", number>; // no_room: those of wanted that wait for room
  streams?: FoundStream[]; // of one channel, not of a list
}

// ChannelEvent is an event of a channel, as webhooks get it.
export type ChannelEvent = { event_id: string; timestamp: string } & ({ event_type: "channel.stream_found"; data: StreamFound } | { event_type: "channel.unreadable" | "channel.readable"; data: ChannelGap });

export interface StreamFound {
  stream_url: string;
  title: string;
  standing: FoundStanding;
  why?: string;
  detail?: string;
  monitor_id?: string;
  adopted: boolean;
}

// ChannelGap is a time in which the channel could not be read; without until it lasts.
export interface ChannelGap {
  since: string;
  until?: string;
  failure: ChannelFailure;
  error_details: string;
}

// ChannelPreview is what the system sees of a channel that nobody has registered yet.
export interface ChannelPreview {
  channel_url: string | null;
  source_id: string | null;
  handle: string | null;
  title: string | null;
  streams: FoundStream[];
  failure: ChannelFailure | null;
  detail: string | null;
  problems: Problem[];
}

export interface Change {
  callback_url?: string | null;
  config?: Partial<Config>;
  metadata?: Metadata;
  labels?: Record<string, string | null>; // to set; null: removed
  paused_until?: string | null; // null: the pause ends now
}

// Service is what a gateway says of itself.
export interface Service {
  version: string;
  timezone: string;
  worker_runtime: string;
  tools: Record<string, { version: string | null; age_days: number | null; outdated: boolean; error: string | null }>;
  limits: Record<string, number>;
  retention: Record<string, number>;
  egress?: { name: string; source: string; rest_sec: number; streams: number; questions: number }[] | null; // null: it chooses no addresses
  youtube_api?: YouTubeAPI | null; // null: there is no key
  twitch_api?: OfficialRounds | null; // null: there are no credentials
  eventsub?: Pushes | null; // null: there are no credentials
  settings: Setting[];
  presets: { name: string; config: Partial<Config> }[];
  sources: { name: string; title: string; prefix: string; takes: string[] }[]; // takes: fields of config that others refuse
}

// Pushes is what Twitch pushes to all gateways.
export interface Pushes {
  transport: "conduit" | "webhook";
  connected_at: string | null; // null: there is no socket, as with webhooks
  subscriptions: number;
  missing: number;
  unknown_logins: string[];
  message_at: string | null;
  failure: string | null;
}

// OfficialRounds is how the official API of a source is asked by all gateways.
export interface OfficialRounds {
  streams: number; // of the newest round of questions
  asked_at: string | null;
  next_at: string | null;
  failure: { kind: APIFailureKind; detail: string } | null;
}

// YouTubeAPI is the use of the YouTube Data API by all gateways.
export interface YouTubeAPI extends OfficialRounds {
  units_used: number;
  units_per_day: number;
  resets_at: string;
}

export interface Setting {
  field: string;
  min: number;
  max: number;
  default: number;
  whole: boolean;
  help: string;
}

// Detector is a row of the table of detectors.
export interface Detector {
  name: string;
  track: "video" | "audio";
  condition: ConditionName;
  health: string; // of the track while the condition lasts
  events: { alert: string; recovered: string };
  optional: boolean;
  threshold: Setting;
  settings: Setting[];
  statistic: string;
  criteria: { name: string; value: number | null; setting: string | null }[];
  severity: { after_sec: number; severity: number }[];
  words: { en: DetectorWords; ja: DetectorWords };
}

// DetectorWords name a duration by {lasted}, and the values of criteria by their names in braces.
export interface DetectorWords {
  title: string;
  state: string;
  lasts: string;
  alert: string;
  recovered: string;
  means: string;
  first: string;
  check: string;
  settings: Record<string, string>; // labels, by field of config
  values?: Record<string, string>; // labels of what it measures
}

// Problem is why a registration would be refused.
export interface Problem {
  field: string | null;
  code: string;
  message: string;
  existing_id?: string; // of the monitor or channel that is there already
}

// Preview is what the system sees of a stream that nobody has registered yet.
export interface Preview {
  source: string | null;
  stream_url: string | null;
  title: string | null;
  channel: string | null;
  state: "live" | "upcoming" | "ended" | "unavailable" | "unknown";
  reason: string | null;
  detail: string | null;
  scheduled_start_at: string | null;
  problems: Problem[];
}

// Trial is the outcome of a test webhook.
export interface Trial {
  event_id: string;
  delivered: boolean;
  status: number | null;
  error: string | null;
  body: string;
  request: DeliveryAttempt["request"];
  response: DeliveryAttempt["response"];
}

// DeliveryUpdate is the data of delivery.updated.
export interface DeliveryUpdate {
  event_id: string;
  monitor_id: string;
  event_type: string;
  created_at: string;
  webhook_status: "pending" | "sent" | "failed";
  webhook_attempts: number;
  webhook_last_error: string | null;
  next_attempt_at: string | null;
  sent_at: string | null;
}

export interface Checker {
  watched: number;
  blind: number;
  late: number;
  late_monitors: string[];
  failing: number;
  failures: { error: string; monitors: number }[];
  blind_spot: BlindSpot | null;
}

// BlindSpot is what the checker cannot see, if that has one cause.
export interface BlindSpot {
  monitors: number;
  watched: number;
  since: string;
  class: "refused" | "dns" | "proxy" | "network" | "tool" | "login" | "unknown" | null; // null: several
  egress: string | null; // "": there is no choice; null: several
}

// Message is one line of the feed. heartbeat, bye and thumbnail.updated have no id.
export type Message = {
  id?: string;
  version?: number;
  at: string;
  heardAt?: number; // when this browser got it, in ms since 1970
} & (
  | { type: "monitor.updated"; data: Monitor }
  | { type: "incident.updated"; data: Incident }
  | { type: "delivery.updated"; data: DeliveryUpdate }
  | { type: "evidence.added"; data: Evidence }
  | { type: "thumbnail.updated"; data: { monitor_id: string; taken_at: string } }
  | { type: "state.replace"; data: { monitors: Monitor[]; incidents: Incident[]; deliveries: DeliveryUpdate[] } } // deliveries: newest first
  | { type: "heartbeat"; data: { checker: Checker | null } }
  | { type: "bye"; data: { reason: "shutdown" | "too_slow" } }
);
