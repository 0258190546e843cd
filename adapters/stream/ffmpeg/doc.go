// Package ffmpeg decodes one segment with ffmpeg and runs the detectors on it
// (sections 6.3 and 6.4). It reports the tracks, how far each can be decoded, and
// the intervals that the detectors found.
//
//	bytes ─ sniff ─▶ ffmpeg: one process, one decode, one thread for each decoder (decision S9)
//	                   │ video: detectors ── metadata=print ─▶ stdout ─┐
//	                   │ audio: detectors ─ ametadata=print ─▶ stderr ─┼─▶ parse ─▶ watch.Analysis
//	                   └ log: announced tracks, errors ────────────────┘
//
// The rows of detector.Table without a Rule have a filter here, which tags frames with metadata. The
// other detectors judge what only a Decoder measures (package decoder): with the command most know nothing.
//
// Luma and sound level are measured in the same run, for the record: one picture a second, and one
// sound frame in six. They do not change what the detectors find.
//
// Every decoded frame is printed with its time and tags. An interval without an end
// lasts until the end of the track. The detectors' own log lines are not used.
// blackdetect logs an open interval as if it ended where the last frame began, and
// omits a short one. The tracks print to different pipes because newer versions of
// ffmpeg run them in two threads. Versions 5.1 and 9.0 are tested.
//
// While a track is calm (decision S18), not every frame is decoded: key frames of the picture, and
// some of the sound. If they are dark or silent, damaged, or too far apart for what the caller
// asks, every frame of that track is decoded, in the same call. For the command, key frames are the same
// run, in which the video decoder skips all others; its sound is always decoded whole. At 144p
// key frames cost a quarter less with Debian's ffmpeg, whose start costs most of it, and at 1080p a
// seventh of every frame.
//
// If an announced track cannot be decoded, ffmpeg fails after it has printed the
// other one. Its exit code therefore decides nothing; its output does.
//
// With a Decoder (package decoder), processes that stay up decode most segments. The same
// code judges their answers. The command decides about all other segments.
//
// # Untrusted segments
//
// ffmpeg reads a pipe, as MPEG-TS, MP4, ADTS or MP3; it may open no other protocol
// and no file. It does not get the worker's environment. In the product it is confined: it has no
// network and writes nothing. Before it runs, the kernel limits its memory, CPU time and open files, and forbids it to write any.
// Input, output and time are limited as well (Config). Beyond the limits of input or
// time the process group is killed; output beyond its limit is dropped. An analysis
// that exceeds any limit fails: it is never reported as black or silent.
//
// # Timestamps
//
// ffmpeg corrects MPEG-TS timestamps that jump back, or forward by more than ten
// seconds: the next frame follows the last one. A smaller jump is a gap. In MP4 it
// drops frames whose timestamps jump back.
package ffmpeg
