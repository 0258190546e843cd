// Package inline runs each worker as a goroutine of the gateway, for the most
// streams on one machine (decision P2).
//
//	Launch ──▶ RunWorker(ctx, force, spec) ────────────────▶ returned ──▶ Exits
//	              ▲                                             ▲
//	    Stop ──▶ ctx done ──▶ 30 s ──▶ force done ──────────────┘
//
// Stop gives a worker the grace period of section 8.3. A worker that a newer generation
// replaces gets 5 s. A panic in RunWorker ends only that worker, and is logged with its
// stack.
//
// A goroutine cannot be killed, so RunWorker must return when force is done. Until it
// returns, Stop and Launch of a newer generation wait, or fail when their context is done.
// So a gateway never runs two workers of one monitor. Close waits 5 s for the goroutines
// that it has forced, and then leaves them running.
//
// All workers end with the gateway's process: by a crash, at a memory limit, or by a panic
// in another goroutine that RunWorker has started. The next gateway adopts no worker. Other gateways
// take over the monitors of a gateway that has died (supervisor.Membership).
package inline
