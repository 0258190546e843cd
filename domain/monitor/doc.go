// Package monitor is the registration of a stream and its state. It defines
// identifiers, the table of sources, the configuration with defaults and ranges, the
// statuses and their transitions, and the reports of workers.
//
//	            ┌──────────────┐
//	register ──▶│ initializing │──┐
//	            └──────┬───────┘  │
//	                   ▼          ▼
//	             ┌─────────┐  ┌────────────┐
//	             │ waiting │─▶│ monitoring │
//	             └────┬────┘  └─────┬──────┘
//	                  ▼             ▼
//	        completed · stopped · error          (final: nothing follows)
//
// An active monitor (the upper three) has exactly one worker and counts
// against the duplicate rule and the maximum; an ended one has none.
//
// Mistakes of a caller are returned as *Error, with the code and the message that
// the API shows. The package reads no clock and does no I/O.
package monitor
