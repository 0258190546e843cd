// Package broadcast plays a recording as a live stream. A [Shape] selects HLS or
// DASH, container, codecs, encryption, low latency, and encoder restarts.
//
//	Shape ─▶ Library                     ─▶ Broadcast                ─▶ handler
//	         encoded and packaged once       which segment is listed      master, media playlists,
//	         by ffmpeg, kept on disk         at which wall time          MPD, segments, keys
//
// Every broadcast has the same [Program]: picture and sound, black, picture again,
// silence, sound again, the end. ffmpeg encodes and packages it with its hls, dash
// and segment muxers. The package takes segment durations from ffmpeg's playlists
// and writes the live playlists itself, because their window moves.
//
// Nothing runs in the background: a playlist is a function of the clock.
//
// # Expected times
//
// Wall clock and media clock are the same: [Broadcast.At] converts a time of the
// recording to the wall time at which it is on the air. PROGRAM-DATE-TIME and
// availabilityStartTime agree with it. A segment is listed when its last frame is
// past. The picture changes exactly on a frame. Sound changes on a sample, which
// the codec spreads over one or two of its frames (43 ms).
//
// # Features that ffmpeg lacks
//
//   - ID3 timestamps of packed audio
//   - key rotation, and encrypted MP4
//   - an hour of history: the start of the program, repeated with new timestamps
//   - the declaration of HE-AAC (heaac.go)
package broadcast
