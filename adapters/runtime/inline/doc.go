// Package inline runs each worker as a goroutine of the gateway, for the most
// streams on one machine (decision P2).
//
//	Launch ──▶ RunWorker(ctx, force, spec) ────────────────▶ returned ──▶ Exits
//	              ▲                                             ▲
//	    Stop ──▶ ctx done ──▶ 30 s ──▶ force done ──────────────┘
//
// A worker that is stopped gets the time of section 8.3; one that a newer generation
// replaces gets 5 s. A panic in RunWorker ends that worker alone: it is logged with
// its stack.
//
// A goroutine cannot be killed. After force, Stop and Launch of a newer generation wait
// until it returns or their context is done. So a gateway never runs two workers of one
// monitor. Close leaves it running 5 s after its
// context is done. RunWorker must therefore return when force is done.
//
// A goroutine shares the gateway's fate. A memory limit, a panic in a goroutine that
// RunWorker has started, or a crash ends all workers. Nothing is ever adopted: a later
// gateway with the same runtime finds none of its workers.
package inline
