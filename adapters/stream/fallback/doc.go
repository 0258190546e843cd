// Package fallback resolves a stream with two tools. It runs the second only if the
// primary fails to find the stream's state (section 5.2).
//
//	primary ──▶ knows the stream's state ─────────────▶ that
//	   │
//	   └─ blocked, unreachable, failed, circuit open
//	          └▶ secondary ─▶ a manifest, or a state ──▶ that
//	                  └─ neither ──────────────────────▶ what the primary reported
//
// Each tool has its own circuit breaker for each source and egress address: a tool that always fails is
// run only every 30 s (section 10.3). A Resolution is a failure if it gives neither the
// stream's state nor a manifest. cmd passes the tools, yt-dlp and streamlink.
//
// An Egress, if there is one, chooses the address of each question, and both tools use it.
//
// NewLister puts one way to list the streams of channels behind the same breakers. Which way is
// asked next, and through which address, is the caller's decision.
//
// The Resolvers of a gateway with inline workers share a Host. Its queue limits the runs at
// once, and the more urgent run begins first; its breakers open for all streams.
package fallback
