// Package httpfault makes the HTTP server of a fake misbehave.
//
//	request ──▶ Fault ──▶ no response, a wrong one, a part of the real one, or all of it
//
// A Fault gets the request before the fake's own handler. It decides whether, how
// fast and how much of the real response is sent. Faults hold no state, so requests
// may share them.
package httpfault
