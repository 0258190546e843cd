// Package detector is the table of detectors: one row for each condition of the
// media that stream-monitor detects, with the rule that judges what was measured.
//
//	          ┌─▶ domain/monitor      configuration, statistics, words of health
//	          ├─▶ domain/event        event types
//	          ├─▶ domain/incident     conditions, severity
//	          ├─▶ domain/evidence     which picture shows a condition, how clearly
//	Table ────┼─▶ domain/watch        samples that the rules judge, thresholds
//	          ├─▶ application/delivery/message   words of messages
//	          ├─▶ adapters/httpapi    fields, ranges and words that are accepted; the table for
//	          │                       the dashboard, whose words are those of the rows
//	          └─▶ adapters/postgres   counts that are stored
//
// To add a detector, write a file with its row and its Rule, one with its words, its
// line in Table and in the presets, and its clips in test/harness/corpus. What no
// detector has judged before is a Measurement, which segment-decoder takes. Every package
// above reads the table. Tests compare openapi.yaml, docs/webhooks.md and the dashboard's
// fixture with it, and write them with WRITE_DOCS=1.
//
// The rules are pure functions. Blackout and Silence have none: for them the analyser says
// which parts of a segment are bad.
package detector
