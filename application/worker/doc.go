// Package worker runs domain/watch for one stream. It owns time and goroutines; all
// decisions about the stream are in domain/watch.
//
//	       ┌──────────── Next ◀───────────┐
//	       ▼                              │
//	wait for the earliest task      watch.Watcher ──effects──▶ reporter ──▶ Gateway
//	       │                              ▲
//	       ├─ resolving lane ── Resolver, Prober ──────────────┤ Step(now, observation)
//	       ├─ media lane ────── PlaylistReader,                │
//	       └─ others lane       SegmentFetcher + Analyser ─────┘
//
// Guarantees:
//
//   - At most one task is in flight in each lane (decision S16).
//   - A gateway that does not answer delays no check. Events are kept, in order,
//     until the gateway has stored them (decision W1). An alert is sent within 5 s
//     of the gateway's return.
//   - A report whose answer is lost is sent again, so it may arrive twice.
//   - The newest snapshot that the gateway has accepted includes exactly the events that
//     it has accepted. So the next worker (decision S11) neither repeats nor misses an
//     event. Exceptions are the parts of a rejected report, and a step with more than 200
//     events.
//   - Event times follow the wall clock, also after somebody sets it. Waits and limits
//     use the monotonic clock.
//
// A worker ends normally when the stream has ended, the gateway orders a stop, or its
// context is done. It then follows section 8.3: it starts no task, waits for a segment
// being analysed and sends the remaining reports. It ends with an error when another
// worker has taken over (decision O2), the monitor is unknown, or a goroutine panics.
// It also ends with an error when the gateway rejects the key. No goroutine or subprocess
// is left behind.
//
// A worker may share its process with other workers and with the gateway. A panic in its
// own goroutines ends only this worker, and RunUntil can end it at once. A panic in a
// goroutine that an adapter started ends the process.
package worker
