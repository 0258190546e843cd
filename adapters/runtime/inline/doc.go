// Package inline runs each worker as a goroutine of the gateway, for the most
// streams on one machine (decision P2).
//
//	Launch ──▶ RunWorker(ctx, force, spec) ────────────────▶ returned ──▶ Exits
//	              ▲                                             ▲
//	    Stop ──▶ ctx done ──▶ 30 s ──▶ force done ──────────────┘
//
// A panic in RunWorker ends only that worker, and is logged with its stack. A goroutine
// cannot be killed, so RunWorker must return when force is done. All workers end with the
// gateway's process: by a crash, at a memory limit, or by a panic in another goroutine that
// RunWorker has started. Package localworkers has the rest.
package inline
