// Package streamlink finds a stream's master playlist when yt-dlp could not
// answer (section 5.2).
//
//	streamlink --no-config --stream-url -- URL
//	   ├─ one line, a URL ─────────▶ ManifestFound with Manifest
//	   ├─ error: … HTTP 403 ───────▶ Blocked
//	   ├─ error: … HTTP 429 ───────▶ RateLimited
//	   ├─ error: … ────────────────▶ Unreachable
//	   └─ did not run to its end, or printed something else ▶ ToolFailed, Unreachable
//
// It is only a fallback: streamlink resolves the archive of an ended stream like a live
// one, and prints the same text for every refusal. So a manifest does not prove that the
// stream is live, and a failure says nothing about the stream.
//
// A site whose media need headers (Site.MediaHeaders) is asked with --json. Its list of streams has them, with cookies: it is
// neither logged nor quoted.
//
// --stream-url without a stream name prints the master playlist, also for separate video
// and audio ("hls-multi"). With --json or a stream name it does not. For DASH it prints
// no URL ("cannot be translated"), and the YouTube plugin reads no DASH. The URL of an
// MPD would be accepted.
package streamlink
