// Package manifest reads a manifest of any format. It fetches the bytes once, recognizes
// HLS or DASH by them, and lets the package of the format decode them.
//
//	URL ─ Fetch ─▶ bytes ─ Format.Recognises ─▶ Format.Decode ─▶ watch.Playlist
//
// cmd passes the formats and the HTTP client, so a new format needs no change here. A
// Playlist contains the failure of its reading, which never contains the signed URL.
package manifest
