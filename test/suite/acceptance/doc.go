// Package acceptance proves the whole product: the built binary with the real
// yt-dlp, streamlink, ffmpeg and PostgreSQL, on streams that go black and
// silent. Each test is a timeline with tolerances; an unexpected event
// fails it. A guarantee that one part shows alone is tested with that part.
//
//	livestream, broadcast ──▶ youtube ◀── yt-dlp, streamlink, workers ── gateway ── webhooks ──▶ receiver
//
// All timelines share one gateway, one database, one fake YouTube and one
// webhook receiver. Each timeline watches another video. A test that stops the
// gateway or the database, or that configures the gateway, starts separate ones
// with startEnv. Timelines run side by side (runTimeline). A recording of
// this run's real yt-dlp answers for timelines that are not about yt-dlp (youtube.Recording).
package acceptance
