// Package control is what can be asked of stream-monitor: a caller registers,
// stops, reads and lists monitors and looks at their events; a worker fetches
// its assignment and reports.
//
//	caller ──▶ Allow ───────────────────────▶ Limiter  ─┐
//	           Register, RegisterIdempotent,
//	           Stop, Get, List ─────────────▶ Registry ─┤
//	           Events, Redeliver ───────────▶ History  ─┤ one Store
//	worker ──▶ Assign, Report ──────────────▶ Desk     ─┘
//	           Register, Stop ──────────────▶ Crew      (starts and stops workers)
//	           Try ─────────────────────────▶ Courier   (one signed test webhook)
//
// Guarantees:
//
//   - A monitor is on disk before Register answers; its worker is asked for
//     after that and never waited for. A reservation gets none yet (decision
//     A10); supervise promotes it.
//   - Of a registration under one key there is one (decision A9), and a client
//     has one budget (A5), however many gateways are asked.
//   - A caller that hangs up half way leaves either nothing or a monitor with a
//     worker: what changes the store is not cut short by the caller's context.
//   - Stop is idempotent (decision A6).
//   - When Report answers, everything in the report is on disk; a report of an
//     older generation changes nothing (decision O2).
//
// What a caller or a worker may see of a failure is a *monitor.Error or
// monitor.ErrSuperseded; every other error is ours, wrapped with what was being
// done. Nothing is held in memory, so any number of gateways may run this side
// by side.
package registry
