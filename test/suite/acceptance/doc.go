// Package acceptance proves the whole product: the built binary with the real
// yt-dlp, streamlink, ffmpeg and PostgreSQL, on streams that really go black
// and silent. Each test is a timeline with tolerances; an unexpected event
// fails it.
//
//	livestream, broadcast ──▶ youtube ◀── yt-dlp, streamlink, workers ── gateway ── webhooks ──▶ receiver
//
// All timelines share one gateway, one database, one stand-in for YouTube and
// one webhook receiver; each watches a video of its own. A test that stops the
// gateway or the database, or that configures the gateway, starts a set of its
// own with startEnv. Timelines run side by side (schedule_test.go).
package acceptance
