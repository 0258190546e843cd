// Package egress decides through which address the requests about each stream leave
// (section 10.3).
//
//	         10 failures in a row
//	in use ────────────────────────▶ resting ─ 30 minutes, or an answer ─▶ in use
//
// Guarantees:
//
//   - What a source refuses to an address counts for the streams of that source alone: each has its Pool.
//   - A stream keeps its address until the address rests. It moves at its next question, and
//     its media with the URLs of the answer.
//   - A stream without an address gets the one with the fewest streams.
//   - A failure that all addresses share makes none rest: a question always has an address.
//   - A budget holds back polls only, for all streams equally, and never for so long that a
//     stream would count as blind (decision S15).
package egress
