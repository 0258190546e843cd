// Package livestream generates live HLS streams in several renditions. ffmpeg
// generates moving pictures and a tone, or reads a film clip. Black, silence,
// stalls, failures and the end are at known times.
//
//	Library                      Stream                         handler or test/fake/youtube
//	encoded once, kept on disk   a timeline of cues
//	  picture, black, sound, ──▶   which frame is black,    ──▶  master, media playlist,
//	  silence                      what is published      MPEG-TS segments
//
// Nothing runs in the background. A stream is a function of its edits and the
// clock. A playlist is computed on request, and a segment is assembled on request
// from cached encoded frames. Only a segment in which the picture changes between
// black and not black needs an encoder run (about 0.1 s at 144p), which is cached
// too. Ten streams at a time need little CPU.
//
// # Expected times
//
// The clock is both wall clock and media clock: the frame captured at wall
// time T has program time T. A segment appears in the playlist when its last
// frame is past, as with a real encoder. An edit takes
// effect on a frame boundary, and the method that makes it returns that time.
// Pictures change exactly there. Sound changes on the nearest AAC frame, within
// 22 ms. [Stream.Available] returns when media became available.
//
// # Timestamps
//
// Timestamps are continuous from segment to segment, except at an
// EXT-X-DISCONTINUITY. Audio is in AAC frames of 1024 samples. Every segment begins
// with a key frame. This package writes the MPEG-TS itself, so that frames that were
// encoded once can get new timestamps.
package livestream
