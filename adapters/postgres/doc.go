// Package postgres stores monitors, their statistics and their events in
// PostgreSQL (section 9.1). Store implements every port of the application that
// needs the database, by one type for each concept:
//
//	type               file            implements            tables
//	MonitorStore       monitors.go     registry.MonitorStore monitors, monitor_stats
//	IdempotencyStore   idempotency.go  registry.MonitorStore idempotency_keys
//	ReportStore        reports.go      registry.ReportStore  monitors, monitor_stats, monitor_events
//	EventStore         events.go       registry.EventStore   monitor_events
//	RateLimiter        ratelimit.go    registry.RateLimiter  rate_limits
//	SupervisorStore    supervisor.go   supervisor.Store      monitors, monitor_events
//	ReservationStore   reservations.go supervisor.Store      monitors
//	LeaderElection     leader.go       supervisor.Store      (an advisory lock)
//	Outbox             leases.go       callback.Outbox       monitor_events, monitors
//	DestinationOutbox  destinationlease.go destination.Outbox deliveries, destinations, storms
//	EvidenceStore      evidence.go     record.EvidenceStore  evidence, evidence_files, evidence_blobs
//	BlobStore          blobs.go        record.BlobStore      blobs, blob_chunks
//	IncidentStore      incidentstore.go record.IncidentStore incidents, incident_log
//	ExpiryStore        expiry.go      record.ExpiryStore    monitor_events, incidents
//	Listener           listener.go     (wakes a dispatcher)  NOTIFY monitor_events
//	FeedStore          feedstore.go    record.FeedStore      feed, feed_head, monitors
//	RoutingStore  routing.go      routing.Store         destinations, routes, silences, routing_version
//
// Guarantees:
//
//   - The database enforces the rules that hold across gateways: one active monitor
//     per stream, the maximum and the rate limits (decision A5), one registration
//     per idempotency key (A9), one newest generation (O2), one promotion of a
//     reservation (A10), one lease per event, one leased event per monitor (W2).
//   - The events of a monitor are leased in the order in which they were committed.
//     Every transaction locks the monitor's row, then events or evidence, then its newest
//     incident, then the version of the routing, destinations, deliveries, and feed_head last.
//   - Every method may be repeated after an error, and stores nothing twice. Methods repeat
//     broken transactions up to three times. After a loss during COMMIT the outcome is unknown.
//   - Times follow the database's clock. If it is set back, a retry waits at most 70 s,
//     and a lease and a rate limit last at most twice their length.
//
// Failure behaviour: a call ends with its context, even if the server does not answer
// (conn.go). A part of the record that the server refuses, or for which it gives no lock
// within 3 s, is left out and logged. Errors of the caller are *monitor.Error. Other
// errors are wrapped with the operation and, if ctx is done, with its error.
package postgres
