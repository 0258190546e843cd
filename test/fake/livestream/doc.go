// Package livestream makes a live HLS stream out of nothing: moving pictures
// and a tone that ffmpeg generates (or a film clip), in several renditions,
// with black, silence, stalls, failures and an end at known instants.
//
//	Library                      Stream                         handler or test/fake/youtube
//	encoded once, kept on disk   a timeline of edits
//	  picture, black, sound, ──▶   which frame is black,    ──▶  master, media playlist,
//	  silence                      what is published by now      MPEG-TS segments
//
// Nothing runs in the background. A stream is a function of its edits and the
// clock: a playlist is computed when asked for, and a segment is put together
// when it is fetched, from encoded frames that are cached. Only a segment in
// which the picture goes black or comes back in the middle takes an encoder
// run (about 0.1 s at 144p), and that is cached too. So ten streams at once
// cost next to nothing.
//
// # The truth
//
// The clock is both wall clock and media clock: the frame captured at wall
// time T has program time T. A segment appears in the playlist when its last
// frame is past, plus [Config.Latency], as with a real encoder. An edit takes
// effect on a frame boundary, and the method that makes it returns that
// instant. Pictures change exactly there; sound changes on the nearest AAC
// frame, within 22 ms. [Stream.Available] tells when media became available.
//
// # Timestamps
//
// Timestamps run on from segment to segment, video at fps and audio in AAC
// frames of 1024 samples, and jump only at an EXT-X-DISCONTINUITY. Every
// segment begins with a key frame. The MPEG-TS is written here rather than by
// ffmpeg, so that frames encoded once can be stamped again and again.
package livestream
