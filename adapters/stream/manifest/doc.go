// Package manifest reads a manifest of any format: it fetches the bytes once, tells
// HLS from DASH by them, and has the format's own package decode them.
//
//	URL ─ Fetch ─▶ bytes ─ Format.Recognises ─▶ Format.Decode ─▶ watch.Playlist
//
// It knows no format and no HTTP client: cmd passes both. So a format is added
// without a change here. A failure is part of the Playlist and never holds the
// signed URL.
package manifest
