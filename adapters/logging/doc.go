// Package logging makes the logger that every part of stream-monitor writes
// to: slog in front, so that nothing else knows a logging library, logrus
// behind it.
//
//	slog.Logger ──▶ handler ──▶ logrus ──▶ line ──▶ w
//	                 level       lock      shape
//
// New writes the shape of section 11.2, one JSON object a line:
//
//	{"timestamp":"2024-01-15T20:15:30.123+09:00","level":"INFO",
//	 "monitor_id":"mon-…","component":"segment_analyzer",
//	 "message":"Blackout detected","data":{"duration_sec":35}}
//
// The attributes monitor_id and component are members of the line itself; all
// others go into data, groups as nested objects, in the order they were given.
// monitor_id and data are left out when there is nothing to say; component is
// DefaultComponent when nobody set one.
//
// NewText writes the same for people, one line each, coloured on a terminal.
//
// A line is never lost to what is in it: a value that cannot be encoded, or
// that panics when asked, is written as text saying so. And it never gives a
// secret away: of every URL in it the user name and password, and the query
// unless it is a YouTube watch page's, are left out, and of a media URL of
// googlevideo.com, whose path is signed too, everything after the host.
//
// Loggers may be used concurrently; lines do not mix. When w fails, logrus
// says so on the standard error, and the caller is not troubled.
package logging
