// Package delivery sends the events of monitors as webhooks (section 4, decisions
// W1 to W4), and events and messages to destinations (section 19). It leases what is
// pending from an outbox, sends each, and records the result. Both dispatchers have one
// loop; below is that of callbacks, and DestinationOutcome shows the states of the other.
//
//	            Lease                 Send              RecordAttempt
//	pending ───────────▶ leased ───────────▶ attempted ──accepted (2xx)──▶ sent
//	   ▲                   │                     │
//	   ├── lease expires ──┘                     ├──attempts left──▶ pending again, due after
//	   │                                         │    1 s, 2 s, 4 s, or Retry-After ≤ 60 s
//	   └──────────────── retry ──────────────────┤
//	                                             └──fourth failure──▶ failed; the monitor ends
//	                                                                  with callback_failed
//
// Guarantees:
//
//   - Every event is delivered at least once. An event stays pending until an
//     attempt with its result is stored. If a failure cannot be stored, the lease
//     expires and the event is sent again, with the same id and the same payload. Only evidence
//     that was stored meanwhile is added to it.
//   - A dispatcher does not send an event again after the receiver accepted it, even
//     if the success can be stored only much later. Another gateway may send the
//     event again, because only this process knows of the success.
//   - The events of one monitor are delivered in order, one at a time, across all
//     gateways: the Outbox never leases an event while an earlier one of the
//     same monitor is pending.
//   - A delivery in flight is not sent a second time when its lease expires early,
//     which happens when the database's clock jumps ahead.
//
// Failure behaviour:
//
//   - A receiver that does not answer delays only the monitors with its callback
//     URL, while fewer than Config.MaxInFlight deliveries wait for an answer.
//   - While the database does not answer, the dispatcher leases nothing; it tries
//     again after at most a second. When the database answers again, it records the
//     attempts that were in flight.
package delivery
