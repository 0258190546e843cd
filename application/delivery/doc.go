// Package deliver gets word out: it takes pending events from the outbox,
// sends each to its callback URL, and records what came of it (chapter 4,
// decisions W1 to W4).
//
//	            Lease                 Send                 Record
//	pending ───────────▶ leased ───────────▶ answered ───────────────▶ sent      2xx
//	   ▲                   │                    │
//	   │   lease ran out   │                    ├────────────────────▶ pending   1 s, 2 s, 4 s later,
//	   └───────────────────┘                    │                                or Retry-After ≤ 60 s
//	                                            └────────────────────▶ failed    after four attempts:
//	                                                                             monitor ended, callback_failed
//
// What is guaranteed:
//
//   - At least once. An event leaves the outbox only when a verdict about it is
//     on disk. When a failure cannot be stored the lease runs out, and the event
//     is sent again with the same id and the same bytes. That it was sent is
//     stored as soon as that can be, however late, unless the dispatcher ends
//     before; until then it does not send it again, though another one may.
//   - First in, first out for each monitor. The Outbox never leases a letter
//     behind another pending one of its monitor, so at most one letter of a
//     monitor is in flight, in however many gateways.
//   - A letter in flight is not sent beside itself: when its lease ends early,
//     because the outbox's clock jumped ahead, the flight goes on under the next.
//   - A receiver that hangs holds up its own monitors and no others, as long as
//     fewer than Config.Workers of them are hanging at once.
//   - A database that does not answer stops the dispatcher from leasing, with
//     pauses of up to a second; nothing is dropped, and what is in flight is recorded
//     when the database is back; a failure whose lease is over is tried again.
//
// Decide judges and touches nothing; Dispatcher owns the goroutines and the
// clock; what an attempt is, is the Sender's business.
package delivery
