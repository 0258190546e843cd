// Package livestream generates live streams: moving pictures and a tone by ffmpeg, or a film
// clip. Black, silence, a still, colour bars, stalls, failures and the end are at known times.
//
//	Library                     Stream                        handler, or test/fake/youtube
//	encoded once, kept on disk  a timeline of cues
//	  a unit: some seconds ──▶   what is shown and listed ──▶  master, media playlists, MPD,
//	  of picture and sound       at which wall time            segments, keys
//
// Nothing runs in the background. A stream is a function of its edits and the clock. A playlist
// is written on request. A segment is one unit of media. ffmpeg encodes it in about 0.2 s; then
// the library has it.
//
// A [Packaging] selects HLS or DASH, the container, encryption and more. The
// package writes the playlists itself, because their window moves.
//
// # Expected times
//
// The clock is both wall clock and media clock: the frame captured at wall time T has program
// time T. A segment is listed when its last frame is past, as with a real encoder. An edit takes
// effect on a frame boundary, and the method that makes it returns that time. Pictures change
// exactly there. Sound changes on a sample, which the codec spreads over one or two of its
// frames (43 ms). [Stream.Available] returns when media became available.
//
// # Timestamps
//
// Timestamps are continuous from segment to segment, except where the encoder reconnects. Audio
// is in AAC frames of 1024 samples that do not end with a segment: a unit has the frames that
// begin in it. Every segment begins with a key frame.
package livestream
