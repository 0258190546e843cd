// Package delivery sends the events of monitors as webhooks (section 4, decisions
// W1 to W4). It leases pending events from the outbox, sends each to its callback
// URL, and records the result.
//
//	            Lease                 Send              RecordAttempt
//	pending ───────────▶ leased ───────────▶ attempted ─────────────▶ sent      accepted (2xx)
//	   ▲                   │                     │
//	   │  lease expired    │                     ├──────────────────▶ pending   1 s, 2 s, 4 s later,
//	   └───────────────────┘                     │                              or Retry-After ≤ 60 s
//	                                             └──────────────────▶ failed    after four attempts;
//	                                                                            the monitor ends with
//	                                                                            callback_failed
//
// Guarantees:
//
//   - Every event is delivered at least once. It leaves the outbox only when the
//     decision about it is stored. If a failure cannot be stored, the lease
//     expires and the event is sent again, with the same id and the same bytes.
//   - An event that this dispatcher has delivered is not sent again by it, even if
//     the success can be stored only much later. Another gateway may send it
//     again, because only this process knows of the success.
//   - The events of one monitor are delivered in order, one at a time, across all
//     gateways: the Outbox never leases an event while an earlier one of the
//     same monitor is pending.
//   - A delivery in flight is not sent a second time when its lease ends early,
//     which happens when the outbox's clock jumps ahead.
//
// Failure behaviour:
//
//   - A receiver that does not answer delays only its own monitors, as long as
//     fewer than Config.MaxInFlight deliveries wait for an answer.
//   - While the database does not answer, nothing is leased; the dispatcher asks
//     again after at most a second. Attempts that were in flight are recorded
//     when the database is back.
package delivery
