package notify

import "time"

// Silence keeps messages about incidents back. It never keeps back the end of what a
// destination was told, and no webhook.
type Silence struct {
	ID      string // a UUIDv7
	Match   Match
	From    time.Time
	To      time.Time // zero: see UntilRecovered and Window
	By      string    // 1 to 100 characters
	Comment string    // at most 500 characters

	// UntilRecovered ends the silence when an incident that it matches is resolved.
	// Match then names exactly one monitor.
	UntilRecovered bool

	// Window repeats the silence; nil: it lasts from From to To.
	Window *Window

	Owner string // of the file that the silence is kept in; empty: none
}

// Window is a recurring time of maintenance.
type Window struct {
	Weekdays []time.Weekday `json:"weekdays"` // on which it begins; empty: every day
	Start    string         `json:"start"`    // "02:00", by the clock of Timezone
	End      string         `json:"end"`      // "04:00"; not after Start: of the next day
	Timezone string         `json:"timezone"` // IANA name
}
