// Package detector is the table of detectors: one row for each condition of the
// media that stream-monitor detects.
//
//	          ┌─▶ domain/monitor      configuration, statistics, words of health
//	          ├─▶ domain/event        event types
//	Table ────┼─▶ domain/watch        thresholds; each detector judges there
//	          ├─▶ adapters/httpapi    fields, ranges and words that are accepted
//	          └─▶ adapters/postgres   counts that are stored
//
// To add a detector, add its row to Table, its judgement in domain/watch and
// its measurement in adapters/stream/ffmpeg. Every package above reads the
// table. A test compares openapi.yaml with it and names what to add there.
//
// The package describes detectors; it measures and decides nothing.
package detector
