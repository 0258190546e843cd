// Package migrations contains the database schema as numbered goose files, embedded
// in the binary.
//
//	00001_specification.sql  the tables and indexes of section 9.1, nothing else
//	00002_monitors.sql       monitors, their numbers and counts, gateways, what an official API says of streams
//	00003_events.sql         the queue of each monitor's callback
//	00004_incidents.sql      incidents, their log, storms
//	00005_history.sql        lanes, spans, minutes
//	00006_evidence.sql       evidence, its files and their bytes, thumbnails
//	00007_feed.sql           the feed
//	00008_notifications.sql  destinations, routes, silences, deliveries
//	00009_access.sql         API keys, audit, sessions, rate limits, idempotency keys
//	00010_channels.sql       channels, their streams and events
//	00011_ingest.sql         logins of owners, what YouTube thinks of the signals of encoders
//	00012_eventsub.sql       what Twitch pushes, and the subscriptions to it
//
// Nothing has been released: until version 1.0 a change of the schema is made in the file of its
// concept. From then on a released file never changes; further changes are new files, by the rules of
// CONTRIBUTING.md. No file has a down migration, because it would delete what is stored.
package migrations
