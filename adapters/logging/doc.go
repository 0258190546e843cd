// Package logging makes the slog.Logger to which every part of stream-monitor writes.
// logrus is behind it, and no other package knows logrus (docs/decisions/0002).
//
//	slog.Logger ──▶ handler ──▶ logrus ──▶ formatter ──▶ w
//	                 level       lock
//
// New writes the format of section 11.2, one JSON object per line:
//
//	{"timestamp":"2024-01-15T20:15:30.123+09:00","level":"INFO",
//	 "monitor_id":"mon-…","component":"segment_analyzer",
//	 "message":"Blackout detected","data":{"duration_sec":35}}
//
// The attributes monitor_id and component are members of the line itself. All others
// go into data in their order, groups as nested objects. Empty monitor_id and data
// are left out. The default component is DefaultComponent.
//
// NewText and NewServiceText write lines for people, coloured on a terminal.
// NewServiceRelay does so with the JSON lines of other processes.
//
// Guarantees:
//   - No value makes a line disappear: one that cannot be encoded, or that panics, is
//     written as a text that says so.
//   - No line shows a secret: user, password and query of every URL are removed. Only
//     the query of a stream's canonical URL stays, and that of a Verbatim. Of a URL whose path its source signs
//     (monitor.Source.SecretHosts) only the host stays.
//   - Loggers may be used concurrently; lines do not mix.
//   - When w fails, logrus reports it on standard error and the caller goes on.
package logging
