// Package evidence describes the files that prove an alert or a recovery: pictures, sound
// levels and a clip. It states their limits and retention, and signs the links that show
// them (section 16.2).
//
//	event ──▶ Record ──▶ before, onset, recovery   JPEG
//	                 ├─▶ level, levels             PNG, JSON
//	                 └─▶ clip                      MP4
//
// A Record belongs to one event of one monitor. Each of its files is content
// addressed: the Record names a digest, and a blob store holds the bytes once.
//
// A Link shows one file of one Record until it expires. The signature covers the
// record, the variant and the time of expiry, so no part of a link can be exchanged.
// Signing and checking are pure functions of a key and a time.
package evidence
