// Package fallback resolves a stream with two tools: the primary, and another when
// the primary could not find out (section 5.2).
//
//	primary ──▶ knows the stream's state ─────────────▶ that
//	   │
//	   └─ blocked, unreachable, failed, circuit open
//	          └▶ secondary ─▶ a manifest, or a state ──▶ that
//	                  └─ neither ──────────────────────▶ what the primary reported
//
// Each tool has a circuit breaker of its own, so that one that fails all the time
// costs a process only every half minute (section 10.3). A failure is an answer
// from which nothing was learned: a private video is knowledge, a manifest is a
// success. The package knows no tool: cmd passes yt-dlp and streamlink.
package fallback
