// Package callback sends the events of monitors to their callbacks (section 4, decisions
// W1 to W4). It leases what is pending from an outbox, sends each, and records the result.
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
// Guarantees, with those of package delivery:
//
//   - An event that is sent again has the same payload. Only evidence that was stored
//     meanwhile is added to it.
//   - The events of one monitor are delivered in order, one at a time, across all
//     gateways: the Outbox never leases an event while an earlier one of the
//     same monitor is pending.
//
// Failure behaviour: a receiver that does not answer delays only the monitors with its
// callback URL, while fewer than Config.MaxInFlight deliveries wait for an answer.
package callback
