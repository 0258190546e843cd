// Package decoder decodes segments in processes that stay up. Its caller, the package
// ffmpeg, judges what they saw.
//
//	Decode ─ wait for a process ─ start one if none is idle ─▶ segment-decoder
//	            │                                                request, answer
//	            ├─ answer: decoded, or unusual ──────▶ the caller (program/segment-decoder.c)
//	            ├─ too slow ─────────────────────────▶ the caller runs the command ffmpeg
//	            └─ crash, wrong answer: once more in a fresh process, then the command
//
// Most of what the command ffmpeg costs for a small segment is its start. The program
// segment-decoder is written for this package on the libraries of FFmpeg and starts once
// for a thousand segments.
//
// # Guarantees
//
// One process has one segment at a time, and keeps nothing of it. A segment may crash a
// process, stop it or make it grow. That costs this segment time, and the next one the
// start of a process. A segment has a process for Timeout, but only for Share of CPU time while
// others wait. So a few that hang do not hold up those of other streams. Each reaches the
// command after one try, or two if it ended a process that others had used. A stream with two
// segments within 10 minutes that no process could decode is left to the command for as
// long.
//
// An overload ends no process and leaves nothing to the command, because both would make it
// worse. A segment that waits for too long fails. One that has a process is decoded to its end.
//
// After each error the caller runs the command, so a missing or defective program costs
// CPU time and no verdict. A process proves that it works before it gets a segment. If it
// does not, Decode fails at once for a minute. A process is replaced after maxSegments, and
// when it has more than maxResident of memory after an answer.
//
// # Untrusted segments
//
// The processes get none of the worker's environment except the path of libraries.
// Before they get a byte, the kernel limits their memory, CPU time and open files, and
// forbids them to write any. They die with this process. Their answers are limited and
// checked like the bytes of a stranger.
package decoder
