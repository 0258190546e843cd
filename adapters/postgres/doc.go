// Package postgres stores monitors, their statistics and their events in
// PostgreSQL (section 9.1). Store implements every port of the application that
// needs the database, as several types over one connection pool:
//
//	type               file            implements            tables
//	MonitorStore       monitors.go     registry.MonitorStore monitors, monitor_stats
//	IdempotencyStore   idempotency.go  registry.MonitorStore idempotency_keys
//	ReportStore        reports.go      registry.ReportStore  monitors, monitor_stats, monitor_events
//	EventStore         events.go       registry.EventStore   monitor_events
//	RateLimiter        ratelimit.go    registry.RateLimiter  rate_limits
//	WorkerStore        workers.go      supervisor.Store      monitors, monitor_events
//	ReservationStore   reservations.go supervisor.Store      monitors
//	LeaderElection     leader.go       supervisor.Store      (an advisory lock)
//	Outbox             leases.go       delivery.Outbox       monitor_events, monitors
//	Listener           listener.go     (wakes a dispatcher)  NOTIFY monitor_events
//
// Guarantees:
//
//   - Rules across gateways are enforced in the database: one active monitor per
//     stream, the maximum and the rate limits (decision A5), one registration
//     per idempotency key (A9), one newest generation (O2), one promotion of a
//     reservation (A10), one lease per event, one leased event per monitor (W2).
//   - The events of a monitor are leased in the order in which they were
//     committed: every transaction that adds one locks the monitor's row first.
//   - Every method may be repeated after an error. If the connection is lost
//     during COMMIT, the outcome is unknown; repeating stores nothing twice.
//     Methods repeat broken transactions themselves, up to three times.
//   - Rows are locked in the order monitor, then events.
//   - Times follow the database's clock: leases, retries, reservations, rate
//     limits and idempotency keys. NextDue, ClaimDue and Decision convert between
//     it and this process's clock. If the database's clock is set back, a retry
//     waits 70 s at most, a lease and a rate limit once their full length.
//
// Failure behaviour: a context ends every call, even when the server or the
// network does not answer (conn.go). Without one, a call ends 1 s after
// statement_timeout. A connection counts as lost when sent data is unacknowledged for
// 3 s; that of the listener also after 10 s of silence. The server ends an abandoned transaction after 5 s
// and a lost connection after 11 s. Errors of the caller are *monitor.Error;
// others are wrapped with the operation and, if it ended, with the context's error.
package postgres
