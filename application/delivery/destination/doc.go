// Package destination sends events and messages to destinations (section 19). It leases what is
// due from an outbox, chooses the message from the present situation, sends it, and records
// the result. Outcome shows the states of a delivery.
//
//	            Lease            notify.Next            Send              RecordAttempt
//	pending ───────────▶ leased ─────────────▶ message ───────▶ attempted ─────────────▶ delivered
//	   ▲                                │                            │
//	   └──── nothing is due before ─────┘                            └──▶ pending again, or failed
//
// Guarantees, with those of package delivery:
//
//   - Every event and every message is sent until it is accepted or its attempts are used up.
//   - The events of a monitor reach a webhook in order, one at a time. An event that has failed
//     for a minute no longer blocks those behind it.
//   - The database's clock decides when a message is due.
//
// Failure behaviour: a destination that hangs or fails delays no other one. It has at most
// MaxPerDestination deliveries in flight and a circuit breaker of its own.
package destination
