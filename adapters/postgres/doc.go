// Package postgres stores what the gateways share in PostgreSQL (section 9.1). Store
// implements every port of the application that needs the database, by one type for each
// concept.
//
//	port                    types
//	monitors.Store          MonitorStore, IdempotencyStore, SettingsStore, EventStore, RateLimitStore
//	intake.ReportStore      ReportStore, MonitorStore, ReferenceStore
//	references.Store        ReferenceStore
//	cookiejars.Store        CookieJarStore
//	supervisor.Store        SupervisorStore, ReservationStore, MembershipStore, LeaderElection (an advisory lock)
//	delivery.Outbox         Outbox
//	routing.Store           DestinationStore, RouteStore, SilenceStore, SubjectStore
//	routing.SubjectReader   SubjectStore
//	ports of evidence       EvidenceStore, BlobStore, ThumbnailStore
//	ports of history        HistoryStore, ExpiryStore
//	incidents.Store         IncidentStore
//	feed.Store              FeedStore
//
// database is the connection pool that they share, with what several of them store:
// history, incidents and the deliveries of events. A Listener
// wakes the dispatchers and the readers of the feed.
//
// The name of a file begins with what it is about: access, conn(ection), database, delivery, event,
// evidence, feed, gateway, history, incident, intake, monitor, routing.
//
// Guarantees:
//
//   - The database enforces the rules that hold across gateways: one active monitor
//     per stream, the maximum and the rate limits (decision A5), one registration
//     per idempotency key (A9), one newest generation (O2), one promotion of a
//     reservation (A10), one lease per event, one leased event per monitor (W2).
//
//   - The events of a monitor are leased in the order in which they were committed.
//
//   - Locks are taken in one order: monitors by id, the newest incidents in the order of their monitors,
//     deliveries. So they are where an attempt ends its monitor. A cookie jar comes after the monitors that use it. The version of the routing comes before destinations, and a destination before its
//     deliveries, which only the dispatcher and changes of the routing lock so. A lease passes over what is
//     locked. The inbox of the feed only gets rows; the gateway that gives versions locks nothing but feed_head.
//
//   - Every method may be repeated after an error, and stores nothing twice. Methods repeat
//     broken transactions up to three times. After a loss during COMMIT the outcome is unknown.
//
//   - What limits the rows that it changes selects them with = ANY (ARRAY(SELECT … LIMIT n FOR UPDATE SKIP LOCKED)): an array
//     is computed once, while IN may run its query for each row, and then changes more than n.
//
//   - Times follow the database's clock. If it is set back by more than
//     seconds, what is due waits until it shows that time again (docs/recovery.md).
//
//   - A server that takes no changes, such as a standby, is not used: connections to it are
//     ended when it says so, and new ones are refused.
//
// Failure behaviour: a call ends with its context, even if the server does not answer (conn.go). What the
// server refuses of the history or the incident of a monitor parks these two (intakerecord.go). Errors
// of the caller are *monitor.Error. Other errors are wrapped with the operation and, if ctx is done,
// with its error.
package postgres
