// Package streamlink finds a stream's master playlist when yt-dlp could not
// answer (section 5.2).
//
//	streamlink --no-config --stream-url -- URL
//	   ├─ one line, a URL ─────────▶ FoundUnproven with Manifest
//	   ├─ error: … HTTP 403, 429 ──▶ Blocked
//	   ├─ error: … ────────────────▶ Unreachable
//	   └─ did not run to its end, or printed something else ▶ ToolFailed, Unreachable
//
// It is a fallback, not a second opinion. streamlink resolves the archive of an ended
// stream like a live one, and it prints one text for every reason YouTube may have not
// to show a stream. So a manifest does not prove that the stream is live, and a
// failure says nothing about the stream.
//
// --stream-url without a stream's name prints the master playlist, also where
// picture and sound come separately ("hls-multi"); --json leaves it out in that
// case, and with a stream's name it prints one of the two playlists, or fails.
// A DASH stream has no such URL: streamlink says that it "cannot be translated",
// and its plugin for YouTube reads no DASH to begin with. An MPD's URL would be
// taken like any other.
package streamlink
