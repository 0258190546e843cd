// Package corpus is material with known truth for the question how well black
// and silence are detected: short clips that look and sound like television as
// far as ffmpeg's own generators can, each with the instants at which it is
// black or silent and the verdict that is promised for them.
//
//	Items            Library                                     Clip
//	the table:  ──▶  ffmpeg: generators, grain, events ──▶ cut ──▶  segments and their
//	what is          encoded once, kept on disk            -f hls   durations, as bytes
//	shown, truth
//
// Nothing is downloaded and nothing is committed: a clip is made by script the
// first time it is asked for (one to two seconds), and kept in the user's cache
// under a name made of its whole recipe, so that a changed recipe is a new clip.
//
// # What black is
//
// The definition of section 6.3, and nothing else: a frame is black when 98 %
// of its pixels (pic_th) have a luma of at most 10 % of the range between black
// and white (pix_th) – at 8 bits 37 where the range is 16 to 235, and 25 where
// it is flagged as 0 to 255. From it follow the verdicts that could be argued
// about:
//
//   - a logo of less than 2 % of the picture on black is black; a lower third,
//     credits, or lamps at night of more than 2 % are not;
//   - a night scene is black when hardly anything in it is above 10 %, however
//     much a director sees in it: a viewer sees a dark screen;
//   - a fade is black from the instant at which it holds until the instant at
//     which it no longer does. A fade is linear, and leaves of luma y the part
//     y·f; where more than 2 % of the picture is white (y = 1), as in these
//     clips, it is black once f ≤ 0.1. So a fade out of d seconds that begins at
//     t is black from t + 0.9·d, and one back from t + 0.1·d on no longer;
//   - a flash of one frame ends the black: the threshold is about continuous
//     black. What is black for 8 s, flashes, and is black for 8 s has not been
//     black for 10 s, and no alert is promised however rarely one looks. An
//     operator who wants to hear of a picture that only flashes lowers the
//     threshold below the distance of the flashes;
//   - the range is what the stream says it is, as in every player: a dim picture
//     in full range that is not flagged as such is shown darker, and judged so.
//
// # What silence is
//
// The definition of section 6.4: no sample of any channel above −50 dBFS, the
// default of a registration, for 0.5 s. It is about peaks: hiss at −60 dBFS
// peak is silence, and room tone is not, because single samples of it stand
// out. One channel that still has sound is sound.
//
// A track that the container does not have, or has no packets of, is bad for
// as long as it is missing (decision S4).
package corpus
