// Package localworkers launches workers that end with their gateway: its processes, or
// goroutines of it.
//
//	Launch ──▶ Start ──▶ Worker.Run ──────────────────────▶ returned ──▶ Exits
//	                        ▲                                  ▲
//	              Stop ──▶ Ask ──▶ 30 s, or 5 s ──▶ Force ─────┘
//
// Stop gives a worker the grace period of section 8.3. A worker that a newer generation
// replaces gets 5 s. Until a worker has ended, Stop and the Launch of a newer generation wait,
// or fail when their context is done. So a gateway never runs two workers of one monitor.
// Close waits 5 s for workers that it has forced, and then leaves them.
//
// A later gateway adopts no worker. It has the same runtime ID, which a file holds, so it finds
// its monitors without a worker at once (decision O4). Other gateways take over the monitors of
// a gateway that has died (supervisor.Membership).
package localworkers
