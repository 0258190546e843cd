// Package corpus generates test clips for the detection of black and silence.
// ffmpeg's generators make pictures and sound that resemble television. Each clip
// lists when it is black or silent, and the verdict that the product must reach.
//
//	Items            Library                                     Clip
//	the table:  ──▶  ffmpeg: generators, grain, events ──▶ cut ──▶  segments and their
//	what is          encoded once, kept on disk            -f hls   durations, as bytes
//	shown, truth
//
// Nothing is downloaded and nothing is committed. A clip is generated at its first
// use (one to two seconds) and kept in the user's cache. Its name there has a hash of
// ffmpeg's arguments, so changed arguments make a new clip.
//
// # The definition of black
//
// Section 6.3 defines it. In a black frame at least 98 % of the pixels (pic_th) are
// dark. The luma of a dark pixel is at most 10 % of the range from black to white
// (pix_th). At 8 bits that is 37 in the range 16 to 235, and 25 in the range 0 to 255.
// The verdicts on doubtful cases follow from it:
//
//   - a logo of less than 2 % of the picture on black is black; a lower third,
//     credits, or lamps at night of more than 2 % are not;
//   - a night scene is black when less than 2 % of it is above 10 %;
//   - a linear fade reduces a luma y to y·f, and more than 2 % of these clips is
//     white (y = 1), so a frame is black when f ≤ 0.1. A fade out of d seconds
//     that begins at t is black from t + 0.9·d. A fade in is black until t + 0.1·d;
//   - a flash of one frame ends the black, because the threshold is for continuous
//     black. Two black intervals of 8 s with a flash between them cause no alert;
//   - the range is the one that the stream declares, as for every player.
//
// # The definition of silence
//
// Section 6.4 defines it: no sample of any channel is above −50 dBFS (the default of
// a registration) for 0.5 s. Hiss at −60 dBFS peak is silence. Room tone is not, because
// some of its samples are louder. Sound in one channel is sound.
//
// A track that the container does not have, or has no packets of, is bad for
// as long as it is missing (decision S4).
package corpus
