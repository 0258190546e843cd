// Package migrations is the schema of the database, as numbered goose files
// that are part of the binary.
//
//	00001_specification.sql   the tables and indexes of section 9.1, nothing else
//	00002_decisions.sql       what the decisions need beyond it, with the reason for each
//	00003_clients.sql         reservations, limits, and creates that may be repeated
//	00004_recovery.sql        where a worker runs
//	00005_leases.sql          which lease an event is under
//	00006_observations.sql    counts of further detectors, blindness
//
// Files are only ever added: one that has been released never changes, and
// none has a way down, because nothing is deleted from history (decision W4).
package migrations
