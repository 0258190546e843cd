// Package detector is the table of detectors: one row for each condition of the
// media that stream-monitor detects.
//
//	          ┌─▶ domain/monitor      configuration, statistics, words of health
//	          ├─▶ domain/event        event types
//	          ├─▶ domain/incident     conditions, severity
//	          ├─▶ domain/evidence     which picture shows a condition, how clearly
//	Table ────┼─▶ domain/watch        thresholds; each detector judges there
//	          ├─▶ application/delivery/message   words of messages
//	          ├─▶ adapters/httpapi    fields, ranges and words that are accepted; the table for
//	          │                       the dashboard, whose words are those of the rows
//	          └─▶ adapters/postgres   counts that are stored
//
// To add a detector, add its row to Table and its filter in adapters/stream/ffmpeg;
// in domain/watch only a judgement that differs from the default. Every package
// above reads the table. A test in adapters/httpapi compares openapi.yaml with it,
// and writes its part of that file with WRITE_DOCS=1.
//
// The package describes detectors; it measures and decides nothing.
package detector
