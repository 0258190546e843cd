// Package fault is what a test stand-in does instead of answering properly.
//
//	request ──▶ Fault ──▶ (nothing, rubbish, part of, or all of) the real answer
//
// A Fault sees the request before the stand-in's own handler does and decides
// whether, how fast and how much of the real answer gets through. Faults hold
// no state and may be shared between requests.
package httpfault
