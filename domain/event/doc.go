// Package event is the webhook contract: the event types (section 4.1), the data
// of each (4.3, decision W7) and the payload (4.2).
//
//	watch.EventEmitted ──▶ Event (id given by the worker) ──▶ Payload (stored, signed, sent)
//
// An Event is one thing that happened to one stream. A Payload is an Event together
// with the URL of the stream and the caller's metadata.
//
// The component that sees an event gives it its ID, and the ID never changes. It
// makes a repeated report store one event, and lets a receiver drop a repeated
// delivery (decision W2).
//
// Evidence may be added to the payload of an alert or recovery that is sent after its
// pictures were stored.
//
// The package only describes events; it never sends, stores or signs them.
package event
