// Package hls decodes HLS playlists (RFC 8216): a master playlist into renditions, a
// media playlist into segments with absolute URLs and times.
//
//	bytes ─▶ scan ───┬─ EXTINF, EXT-X-STREAM-INF, URIs ─▶ m3u8 ─┬─▶ watch.Playlist
//	         limits  └─ all other tags ─────────────────────────┘
//
// A playlist is scanned once, line by line, within the Max limits. github.com/grafov/m3u8
// decodes segments (EXTINF and URI), variants (EXT-X-STREAM-INF and URI) and program times.
// Playlists are untrusted. Given whole ones, the library panics on some, needs seconds for 40 KB
// of others, and loses EXT-X-MAP, EXT-X-KEY, gaps and delta updates. So it gets the lines that it
// decodes right, and the scan decodes all other tags. Numbers and attribute lists are checked here: the library takes
// any text for them.
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
// Captions are those that a variant declares (CLOSED-CAPTIONS), and one rendition of TYPE=SUBTITLES: the
// default, otherwise the first. I-frame playlists, further subtitles and other camera angles are left out.
//
// # Media playlists
//
// Only whole segments are returned: parts of a low-latency playlist are ignored.
// Gaps and segments skipped by a delta update (EXT-X-SKIP) are left out but keep
// their sequence numbers. A segment names its AES-128 key and IV (RFC 8216, 5.2);
// adapters/stream/media fetches and decrypts. Container is never set. A segment that a site marks as its own
// advertisement, in an EXT-X-DATERANGE, a title or a name, is an Ad.
//
// # Odd entries
//
// A segment, variant or EXT-X-MEDIA that cannot be used is left out, and the rest is used.
// Reasons are a length that is not positive, a URI that is not http or https, a variable
// (EXT-X-DEFINE), and DRM: SAMPLE-AES, or a KEYFORMAT other than identity without an AES-128 key.
// A segment that is left out keeps its sequence number. Repaired are CODECS without quotes, a
// BANDWIDTH that is no number, names that net/url refuses, and a missing EXT-X-TARGETDURATION.
// Tags of the other kind of playlist are ignored. Playlist.Defect names the first such entry.
//
// An unreadable EXT-X-MEDIA-SEQUENCE or EXT-X-SKIP costs the numbers of all segments, and those
// segments whose IV is their number.
//
// Malformed is a playlist without any usable entry, beyond a limit, or with segments and variants.
package hls
