// Package broadcast plays a recording out as if it were live, in any of the
// shapes that live streams have: HLS and DASH, one container or another,
// encrypted, of low latency, cut by an encoder that reconnects.
//
//	Shape ─▶ Library                     ─▶ Broadcast                ─▶ handler
//	         encoded and packaged once       which segment is out        master, media playlists,
//	         by ffmpeg, kept on disk         at what time of the wall    MPD, segments, keys
//
// What is shown is always the same [Program]: picture and sound, black, picture
// again, silence, sound again, the end. ffmpeg encodes and packages it, with the
// packagers that people use (its hls, dash and segment muxers), and what it
// wrote into its playlists is believed. Only the playlists of the broadcast are
// written here: windows that move, and what ffmpeg cannot say.
//
// Nothing runs in the background: a playlist is a function of the clock.
//
// # The truth
//
// The clock is wall clock and media clock in one: what the recording shows at
// an instant of its own is shown at [Broadcast.At] of that instant, and
// PROGRAM-DATE-TIME and availabilityStartTime say so. A segment is listed when
// its last frame is past. Picture changes exactly on a frame; sound on a sample,
// smeared by the codec over one or two of its frames (43 ms).
//
// What is only made here, because ffmpeg does not: packed audio's ID3
// timestamps, keys that rotate and encrypted MP4 (checked with ffmpeg's own
// decryption), an hour of history (the calm beginning, stamped anew), and the
// declaration of HE-AAC (see heaac.go).
package broadcast
