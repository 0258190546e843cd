// Package hls reads HLS playlists (RFC 8216): a master becomes renditions, a
// media playlist becomes segments with absolute URLs and times.
//
//	bytes ─▶ scan ─────────▶ m3u8 ───────────▶ check ──▶ watch.Playlist
//	         limits, tags,    URIs, durations,   counts and
//	         MAP, GAP, times  sequence, codecs   numbers agree
//
// Playlists come from outside and github.com/grafov/m3u8 trusts its input: it
// panics on some of it, takes seconds for 40 KB of it, and loses MAP, GAP and
// delta updates. So a scan of our own reads every line first, refuses what
// breaks a limit (see the Max constants), keeps what the library would lose,
// and hands the library a clean text with only the tags it is asked about. Its
// answer must agree with the scan entry by entry; otherwise the playlist is
// malformed.
//
// Whether a playlist is a master or a media playlist is told by its tags, never
// by its URL: a segment URL of YouTube contains "index.m3u8".
//
// Refused as malformed: delta updates, encrypted segments, variables
// (EXT-X-DEFINE), URIs that are not http or https, and a live playlist without
// a usable segment. A playlist that has ended may be empty.
package hls
