// Package postgres stores what the gateways share in PostgreSQL (section 9.1). Store
// implements every port of the application that needs the database, by one type for each
// concept.
//
//	port                    types
//	registry.Store          MonitorStore, IdempotencyStore, SettingsStore, ReportStore, EventStore, RateLimitStore
//	supervisor.Store        SupervisorStore, ReservationStore, MembershipStore, LeaderElection (an advisory lock)
//	callback.Outbox         Outbox
//	destination.Outbox      DestinationOutbox
//	routing.Store           DestinationStore, RouteStore, SilenceStore
//	routing.SubjectReader   SubjectStore
//	ports of record         EvidenceStore, BlobStore, HistoryStore, IncidentStore, ThumbnailStore, ExpiryStore, FeedStore
//
// database is the connection pool that they share, with what several of them store:
// incidents, history, the fan-out to destinations, and the feed (feedWriter). A Listener
// wakes the dispatchers and the readers of the feed.
//
// Guarantees:
//
//   - The database enforces the rules that hold across gateways: one active monitor
//     per stream, the maximum and the rate limits (decision A5), one registration
//     per idempotency key (A9), one newest generation (O2), one promotion of a
//     reservation (A10), one lease per event, one leased event per monitor (W2).
//
//   - The events of a monitor are leased in the order in which they were committed.
//     Every transaction locks the monitor's row, then events or evidence, then its newest
//     incident, then the version of the routing, destinations, deliveries, and feed_head last.
//
//   - Every method may be repeated after an error, and stores nothing twice. Methods repeat
//     broken transactions up to three times. After a loss during COMMIT the outcome is unknown.
//
//   - Times follow the database's clock. If it is set back, a retry waits at most 70 s,
//     and a lease and a rate limit last at most twice their length.
//
//   - A server that takes no changes, such as a standby, is not used: connections to it are
//     ended when it says so, and new ones are refused.
//
// Failure behaviour: a call ends with its context, even if the server does not answer
// (conn.go). A part of the record that the server refuses, or for which it gives no lock
// within 3 s, is left out and logged. Errors of the caller are *monitor.Error. Other
// errors are wrapped with the operation and, if ctx is done, with its error.
package postgres
