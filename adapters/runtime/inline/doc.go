// Package inline runs each worker as a goroutine of the gateway, for the most
// streams on one machine (decision P2).
//
//	Launch ──▶ Work(ctx, force, job) ──────────────────────▶ returned ──▶ Exits
//	              ▲                                             ▲
//	    Stop ──▶ ctx done ──▶ 30 s ──▶ force done ──────────────┘
//
// A worker that is asked to end gets the time of section 8.3; one that a newer
// generation replaces has nothing more to say and gets 5 s at most. A panic in
// Work ends that worker alone: it is logged with its stack, and its exit says
// so.
//
// What a goroutine is not. It cannot be killed: after force it is waited for,
// and Stop and Launch of a newer generation last until it returns or their
// context is done; there are never two workers of one monitor in this gateway.
// Close leaves it behind 5 s after its context is done: it ends with the process. Work must therefore heed force wherever it waits. It
// has no memory of its own: what takes the process down takes all workers down,
// be it the memory limit, a panic in a goroutine that Work did not contain, or a
// race that the runtime finds. It dies with its gateway: nothing is ever adopted,
// and a later gateway of the same place finds none of its workers.
package inline
