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
// use (one to two seconds) and kept in the user's cache. Its name there is a hash of
// its whole recipe, so a changed recipe is a new clip.
//
// # The definition of black
//
// Section 6.3 defines it: in a black frame at least 98 % of the pixels (pic_th) have
// a luma of at most 10 % of the range between black and white (pix_th). At 8 bits
// that is 37 in the range 16 to 235, and 25 in the range 0 to 255. The verdicts on
// the disputable cases follow from it:
//
//   - a logo of less than 2 % of the picture on black is black; a lower third,
//     credits, or lamps at night of more than 2 % are not;
//   - a night scene is black when hardly anything in it is above 10 %, however
//     much it shows to a trained eye: a viewer sees a dark screen;
//   - a fade is black from the instant at which it holds until the instant at
//     which it no longer does. A fade is linear, and leaves of luma y the part
//     y·f; where more than 2 % of the picture is white (y = 1), as in these
//     clips, it is black once f ≤ 0.1. So a fade out of d seconds that begins at
//     t is black from t + 0.9·d, and one back from t + 0.1·d on no longer;
//   - a flash of one frame ends the black, because the threshold is for continuous
//     black. Two blacks of 8 s with a flash between are not a black of 10 s, so no
//     alert is expected. For an alert on a picture that only flashes, an operator
//     sets the threshold below the time between the flashes;
//   - the stream declares its range, as for every player: a dim picture in full
//     range without that flag is shown darker, and is judged as shown.
//
// # The definition of silence
//
// Section 6.4 defines it: no sample of any channel is above −50 dBFS (the default of
// a registration) for 0.5 s. Peaks count: hiss at −60 dBFS peak is silence. Room tone
// is not silence, because some of its samples are louder. Sound in one channel is
// sound.
//
// A track that the container does not have, or has no packets of, is bad for
// as long as it is missing (decision S4).
package corpus
