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
// beside the loop: a gateway that is away delays no check, and an event is kept,
// in order, until the gateway has said that it is on disk (decision W1). Tries
// are at most 2 s apart and, at first, no longer than 4 s each, so that an alert
// leaves within 5 s of the gateway's return. Reports may be repeated and answers
// be lost; what was reported in vain is reported again. Every report is true by
// itself: its snapshot knows of the events up to it and of none behind, so a
// successor (decision S11) neither repeats nor misses any. Without a snapshot are
// the parts of a report that was refused as a whole, and all but the last report
// of a step that tells of more than 200 events: a successor that begins between
// them repeats some.
//
// A worker ends when the stream has ended, when the gateway orders it to stop,
// when another worker has taken over (decision O2) or its monitor is unknown, when
// nothing has been heard of the gateway for too long (ErrAlone), when something in
// it panics, or when its context is done. At the stream's end, at the order and
// with the context it takes the steps of section 8.3: nothing new is begun, a
// segment being analysed is finished, what is not yet reported is reported, and
// only then does Run return. It leaves no goroutine and no child process behind.
//
// It may share its process with others and with the gateway: a panic in any of
// its goroutines ends it alone, with an error that names it, and it can be
// forced to end at once (RunUntil). What it cannot contain is a panic in a
// goroutine of an adapter's.
package worker
