// Package migrations contains the database schema as numbered goose files, embedded
// in the binary.
//
//	00001_specification.sql   the tables and indexes of section 9.1, nothing else
//	00002_decisions.sql       columns and indexes for the decisions, each with its reason
//	00003_clients.sql         reservations, rate limits, idempotency keys
//	00004_recovery.sql        the runtime of a worker
//	00005_leases.sql          the lease of an event
//	00006_observations.sql    counts of further detectors, blindness
//	00007_incidents.sql       incidents and their log
//	00008_feed.sql            the feed
//	00009_history.sql         spans and minutes of the history
//	00010_evidence.sql        evidence, its files and their bytes
//	00011_revisions.sql       changes of running monitors
//	00012_retention.sql       which ended monitors may have expired events
//	00013_history_indexes.sql indexes for timelines and statistics
//	00014_history_sums.sql    sums of the history over ten minutes
//	00015_quarantine.sql      indexes for the evidence of severe incidents
//	00016_dashboard.sql       what the dashboard needs
//	00017_thumbnails.sql      thumbnails
//	00018_feed_state.sql      an index for the state of the feed
//	00020_notifications.sql   destinations, routes, silences, storms, deliveries
//	00021_incident_severity.sql the severity that a line of the log says
//	00022_callback_failure.sql the long schedule of an event
//	00023_deliveries.sql      leases and the order of deliveries, storms that last
//	00024_deleted_destinations.sql destinations whose deliveries are being deleted
//	00025_acknowledged_severity.sql the severity at which an incident was acknowledged
//	00026_destination_hours.sql how many deliveries succeeded and failed in each hour
//	00027_missed_ends.sql     an index for resolved incidents whose end was not sent
//	00028_missed_deliveries.sql events whose deliveries were refused
//	00029_destination_pauses.sql since when a destination pauses
//	00030_refusals.sql        incidents that were refused, or not counted for a storm
//	00031_turns.sql           whose turn it is at a destination, and an index for it
//	00032_gateways.sql        which gateways with inline workers run
//	00034_keys.sql            API keys of people, and what they did
//	00035_heads.sql           an index for the next events of all monitors
//	00036_ended_monitors.sql  how many monitors have ended, counted by a trigger
//	00037_ended_before.sql    those that had ended before
//	00038_blind.sql           an index for monitors that cannot observe their stream
//	00039_active_monitors.sql how many monitors are active, and how many of their streams are live
//	00040_active_before.sql   those that had been active before
//	00041_live_monitors.sql   an index for monitors whose stream is live
//	00042_deliveries_ahead.sql an index for deliveries planned before the clock was set back
//	00043_unused_indexes.sql  drops two indexes that serve nothing
//	00048_storms_of_a_condition.sql what a storm is of
//	00045_incident_spans.sql  all acknowledgements of an incident, its severity now
//
// A released file never changes; further changes are new files. No file has a down
// migration, because it would delete what is stored. CONTRIBUTING.md has the rules by which a
// gateway of the version before runs beside the new schema.
package migrations
