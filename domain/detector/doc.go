// Package detector is the table of detectors: one row for each condition of the
// media that stream-monitor detects.
//
//	          ┌─▶ domain/monitor      configuration, statistics, words of health
//	          ├─▶ domain/event        event types
//	          ├─▶ domain/incident     conditions, severity
//	          ├─▶ domain/evidence     which picture shows a condition, how clearly
//	Table ────┼─▶ domain/watch        thresholds; which media are looked at
//	          ├─▶ application/delivery/message   words of messages
//	          ├─▶ adapters/httpapi    fields, ranges and words that are accepted; the table for
//	          │                       the dashboard, whose words are those of the rows
//	          └─▶ adapters/postgres   counts that are stored
//
// To add a detector, add a file with its row and its Rule, a file with its words, and the row to
// Table. Every package above reads the table. A test in adapters/httpapi compares openapi.yaml with
// it, and writes its part of that file with WRITE_DOCS=1.
//
// The analyser measures (Measured), a Rule judges one sample after another (Verdict), and domain/watch
// decides what is alerted. A Rule is a pure function without a clock: what it remembers is a part of
// the watch's snapshot. Blackout and Silence have none: the analyser finds their bad parts.
package detector
