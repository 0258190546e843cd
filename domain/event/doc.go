// Package event is the webhook contract: the nine event types of the
// specification (section 4.1), the data each carries (4.3, decision W7) and
// the payload they travel in (4.2).
//
//	watch.EventEmitted ──▶ Event (id given by the worker) ──▶ Payload (stored, signed, sent)
//
// An Event is what happened to one stream; a Payload is an Event together with
// what the registration knows: whose stream it is and the caller's metadata.
// The ID is given once, by whoever saw the event happen, and never changes: it
// is what makes a repeated report store one event and what lets a receiver
// drop a repeated delivery (decision W2).
//
// The package only describes; it never sends, stores or signs.
package event
