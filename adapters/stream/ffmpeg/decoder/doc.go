// Package decoder decodes segments in processes that stay up. Its caller, the package
// ffmpeg, judges what they saw.
//
//	Decode ─ wait for a free process ─ start one if there is none ─▶ segment-decoder
//	            │                                                       request, answer
//	            ├─ answer: decoded, or unusual ───────────▶ the caller   (program/segment-decoder.c)
//	            └─ crash, hang, wrong answer: once more in a fresh process, then an error
//
// Most of what the command ffmpeg costs for a small segment is its start. The program
// segment-decoder is written for this package on the libraries of FFmpeg and starts once
// for a thousand segments.
//
// # Guarantees
//
// One process has one segment at a time, and keeps nothing of it. A segment may crash a
// process, stop it or make it grow. That costs this segment one retry, and the next one
// the start of a process. After each error the caller runs the command, so a missing or
// defective program costs CPU time and no verdict.
//
// A process is replaced after MaxSegments, and when it has more than MaxResident of memory
// after an answer. If the program is missing, or fails for four segments in a row, Decode
// fails at once for a minute.
//
// # Untrusted segments
//
// The processes get none of the worker's environment except the path of libraries.
// Before they get a byte, the kernel limits their memory, CPU time and open files, and
// forbids them to write any. They die with this process. Their answers are limited and
// checked as those of a stranger.
package decoder
