// Package registry answers callers and workers. A caller registers, stops, reads
// and lists monitors and reads their events; a worker fetches its assignment and
// reports.
//
//	caller ──▶ Allow, CountRefusal ─────────▶ RateLimiter  ─┐
//	           Register, RegisterIdempotent,                │
//	           Stop, Get, List ─────────────▶ MonitorStore ─┤
//	           Events, Redeliver ───────────▶ EventStore   ─┤ one Store
//	worker ──▶ Assign, Report ──────────────▶ ReportStore  ─┘
//	           Register, Stop ──────────────▶ WorkerManager (starts and stops workers)
//	           TestWebhook ─────────────────▶ TestSender    (sends one signed test webhook)
//
// Guarantees:
//
//   - A monitor is stored before Register answers. The request to start its worker
//     follows, and Register does not wait for it. A reservation gets no worker yet
//     (decision A10); package supervisor promotes it.
//   - Requests with one idempotency key register one monitor (decision A9), and a
//     client has one rate limit (A5), however many gateways they reach.
//   - A caller that disconnects half way leaves either nothing or a monitor with a
//     worker: changes to the store do not end with the caller's context.
//   - Stop is idempotent (decision A6).
//   - When Report returns, the whole report is stored. A report of an older
//     generation changes nothing (decision O2).
//
// Errors that callers and workers may see are *monitor.Error and
// monitor.ErrSuperseded. Every other error is internal and wrapped with what was
// being done. The package keeps no state in memory, so any number of gateways may
// run side by side.
package registry
