// Package monitor is the registration: what a caller asked to have watched,
// and where that stands. It owns the identifiers, what counts as a YouTube
// watch URL, the configuration with its defaults and ranges, the statuses and
// which may follow which, and what a worker and the gateway say to each other.
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
// Whatever a caller may get wrong comes back as an *Error with the code and
// message the API shows; nothing here reads a clock or touches the world.
package monitor
