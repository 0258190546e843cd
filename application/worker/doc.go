// Package worker runs domain/watch for one stream. It owns time and goroutines and
// decides nothing about streams.
//
//	       ┌──────────── Next ◀───────────┐
//	       ▼                              │
//	wait for the earliest task      watch.Watcher ──effects──▶ reporter ──▶ Gateway
//	       │                              ▲
//	       ├─ resolving lane ── Resolver, Prober ──────────────┤ Step(now, observation)
//	       └─ media lane ────── PlaylistReader,                │
//	                            SegmentFetcher + Analyser ─────┘
//
// Guarantees:
//
//   - At most one task is in flight in each lane (decision S16).
//   - A gateway that does not answer delays no check. Events are kept, in order,
//     until the gateway has stored them (decision W1). An alert leaves within 5 s of
//     the gateway's return.
//   - A report may arrive twice, and its answer may be lost: it is sent again.
//   - The snapshot of a report includes the events up to it and none after, so a
//     successor (decision S11) neither repeats nor misses one. Exceptions are the
//     parts of a rejected report, and a step with more than 200 events.
//   - Times are those of the wall clock, also after it was set (clock). Waiting and
//     limits are monotonic.
//
// A worker ends when the stream has ended, the gateway orders a stop, another worker
// has taken over (decision O2), the monitor is unknown, the gateway is gone
// (ErrGatewayGone) or rejects the key (ErrKeyRejected), a goroutine panics, or its
// context is done. At the end of the stream, the order and the context it follows
// section 8.3: it starts nothing, finishes a segment being analysed and reports what
// is left. It leaves no goroutine and no subprocess behind.
//
// A worker may share its process with others and with the gateway. A panic in its
// goroutines ends it alone, and RunUntil can end it at once. A panic in a goroutine
// that an adapter started ends the process.
package worker
