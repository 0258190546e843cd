// Package hls reads HLS playlists (RFC 8216): a master becomes renditions, a
// media playlist becomes segments with absolute URLs and times.
//
//	bytes ─▶ scan ─────────▶ m3u8 ───────────▶ check ──▶ watch.Playlist
//	         limits, tags,    URIs, durations,   counts and
//	         MAP, KEY, GAP,   sequence, codecs   numbers agree
//	         MEDIA, times
//
// Playlists come from outside and github.com/grafov/m3u8 trusts its input: it
// panics on some of it, takes seconds for 40 KB of it, and loses maps, keys,
// gaps and delta updates. So a scan of our own reads every line first, refuses
// what breaks a limit (see the Max constants), keeps what the library would
// lose, and hands the library a clean text with only the tags it is asked
// about. Its answer must agree with the scan entry by entry; otherwise the
// playlist is malformed.
//
// Whether a playlist is a master or a media playlist is told by its tags, never
// by its URL: a segment URL of YouTube contains "index.m3u8".
//
// # What a master comes to
//
// Every variant is a rendition, in the master's order. After them comes every
// sound with a playlist of its own (EXT-X-MEDIA of TYPE=AUDIO with a URI), once
// for each URL. A variant with pictures whose sounds are all apart has pictures
// alone. A sound is the stream's own if it is its group's default (DEFAULT=YES,
// else the group's first), and an alternate otherwise. Left out: I-frame
// playlists, subtitles, and other angles (TYPE=VIDEO).
//
// # What a media playlist comes to
//
// Whole segments. The parts of a low-latency playlist are passed over: a part
// is there again within its segment, a few seconds later. A gap is left out but
// keeps its number; so do the segments that a delta update (EXT-X-SKIP) leaves
// out, though nobody asks for one. Of AES-128 each segment says with which key
// and initialisation vector it is encrypted (RFC 8216, 5.2); fetching the key
// and decrypting is the business of whoever fetches the segment. No Container
// is stated: a name proves nothing, the bytes do.
//
// # Refused as malformed
//
// Segments that only a licensed player can read (SAMPLE-AES, or a KEYFORMAT
// other than identity without an AES-128 key beside it); URIs that are not http
// or https; a live playlist without a usable segment. A playlist that has ended
// may be empty.
//
// Variables (EXT-X-DEFINE) are refused too. Their common use is to hand values
// from a master to its media playlists (IMPORT) or from a URL (QUERYPARAM),
// which takes more than the one playlist that is read at a time; and values
// that the playlist holds itself (NAME and VALUE) would let 8 MB of it unfold to
// hundreds.
package hls
