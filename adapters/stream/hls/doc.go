// Package hls decodes HLS playlists (RFC 8216): a master playlist into renditions, a
// media playlist into segments with absolute URLs and times.
//
//	bytes ─▶ scan ─────────▶ m3u8 ───────────▶ check ──▶ watch.Playlist
//	         limits, tags,    URIs, durations,   counts and
//	         MAP, KEY, GAP,   sequence, codecs   numbers agree
//	         MEDIA, times
//
// Playlists are untrusted, and github.com/grafov/m3u8 panics on some, needs seconds
// for 40 KB of others, and loses EXT-X-MAP, EXT-X-KEY, gaps and delta updates. So
// this package scans every line first, enforces the Max limits, and keeps those tags
// itself. The library decodes a reduced playlist, and both results have to agree;
// otherwise the playlist is malformed.
//
// The tags decide whether a playlist is a master or a media playlist, never its URL:
// segment URLs of YouTube contain "index.m3u8".
//
// # Master playlists
//
// Every variant is a rendition, in order. Every EXT-X-MEDIA of TYPE=AUDIO with a URI
// follows as a rendition, once for each URL. A variant with video has no audio if all
// renditions of its audio group have playlists of their own. The default of a group
// (DEFAULT=YES, otherwise the first) is the main audio; the others are alternates.
// I-frame playlists, subtitles and other camera angles are left out.
//
// # Media playlists
//
// Only whole segments are returned: parts of a low-latency playlist are ignored.
// Gaps and segments skipped by a delta update (EXT-X-SKIP) are left out but keep
// their sequence numbers. A segment names its AES-128 key and IV (RFC 8216, 5.2);
// adapters/stream/media fetches and decrypts. Container is never set.
//
// # Refused as malformed
//
// Segments with DRM (SAMPLE-AES, or a KEYFORMAT other than identity without an
// AES-128 key beside it); URIs that are not http or https; a live playlist without a
// usable segment; variables (EXT-X-DEFINE), whose values may be in another playlist,
// or expand 8 MB to hundreds.
package hls
