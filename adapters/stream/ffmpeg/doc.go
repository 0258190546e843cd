// Package ffmpeg sees and hears one segment: which tracks it has, how far each
// can be decoded, and where it is black or silent (sections 6.3 and 6.4).
//
//	bytes ─ sniff ─▶ ffmpeg: one process, one decode, one thread a decoder (decision S9)
//	                   │ video: blackdetect ── metadata=print ─▶ stdout ─┐
//	                   │ audio: silencedetect ─ ametadata=print ▶ stderr ┼─▶ parse ─▶ watch.Analysis
//	                   └ log: which tracks are announced, what broke ────┘
//
// Every decoded frame leaves a line with its time, and the detectors tag the
// frame on which a stretch begins or ends. That is exact to the frame, and it
// leaves nothing to be undone at the end of the segment, where the detectors'
// own log lines are wrong: blackdetect logs an open stretch as if it ended when
// the last frame began, and drops a short one. Here a stretch without an end is
// one that goes on. The two tracks print to two places because newer versions
// of ffmpeg run them in two threads, whose lines would mix in one. It works the
// same in ffmpeg 5.1 and 9.0, and costs 3 ms of CPU in 85.
//
// A track that is announced but cannot be decoded makes ffmpeg fail, after it
// has printed everything about the other one. So a failing exit code decides
// nothing: what was printed does.
//
// What a hostile segment can do: ffmpeg reads its bytes from a pipe, as MPEG-TS,
// MP4, ADTS or MP3 and nothing else, with no protocol but that pipe: it opens no
// file and no address. It gets none of our environment's secrets, and before it
// gets a byte of the segment the kernel limits its memory, CPU time and open
// files, and keeps it from writing any. Input, output and time have limits as
// well (Config). Past that of input or time the process group is ended; output
// past its limit is dropped, and the analysis refused. When memory or CPU time
// was too short the analysis is refused too, whatever was seen: it is a failure
// of the tool, not a black stream. Analyse returns when the process is gone.
//
// Within one segment, MPEG-TS timestamps that jump back, or on by more than ten
// seconds, are ffmpeg's to mend: what comes after goes on where the last frame
// ended. A smaller jump is a gap. In MP4 what jumps back is not seen.
package ffmpeg
