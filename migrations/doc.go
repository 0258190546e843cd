// Package migrations contains the database schema as numbered goose files, embedded
// in the binary.
//
//	00001_specification.sql   the tables and indexes of section 9.1, nothing else
//	00002_decisions.sql       columns and indexes for the decisions, each with its reason
//	00003_clients.sql         reservations, rate limits, idempotency keys
//	00004_recovery.sql        the runtime of a worker
//	00005_leases.sql          the lease of an event
//	00006_observations.sql    counts of further detectors, blindness
//
// A released file never changes; further changes are new files. No file has a down
// migration, because the history is never deleted (decision W4).
package migrations
