// Package worker is the loop around domain/watch: one goroutine, one stream. It
// owns time and goroutines and decides nothing about streams.
//
//	       ┌──────────── Next ◀───────────┐
//	       ▼                              │
//	wait for the earliest task      watch.Watcher ──effects──▶ reporter ──▶ Gateway
//	       │                              ▲
//	       ├─ resolving lane ── Resolver, Prober ──────────────┤ Step(now, observation)
//	       └─ media lane ────── PlaylistReader,                │
//	                            SegmentFetcher + Analyser ─────┘
//
// At most one task is in flight in each lane (decision S16). The reporter runs
// beside the loop: a gateway that is away delays no check, and an event is kept
// until the gateway has said that it is on disk (decision W1).
//
// A worker ends when the stream has ended, when the gateway orders it to stop,
// when another worker has taken over (decision O2), or when its context is
// done; in every case but the third in the order of section 8.3: nothing new is
// begun, a segment being analysed is finished, what is not yet reported is
// reported, and only then does Run return. It leaves no goroutine and no child
// process behind.
package worker
