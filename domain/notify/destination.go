package notify

import "time"

// Language is the language of the messages to a destination.
type Language string

// The languages of messages.
const (
	English  Language = "en"
	Japanese Language = "ja"
)

// Destination is a place that is told.
type Destination struct {
	ID       string // a UUIDv7
	Name     string // unique, 1 to 100 characters
	Kind     Kind
	Language Language
	Config   map[string]string // the fields that are no secrets
	Secrets  map[string]string // the others
	Fallback string            // ID of the destination that is told when this one is disabled; empty: none
	Enabled  bool

	// DisabledReason says why the gateway has disabled the destination; empty: it has not.
	DisabledReason string

	// PreviousUntil ends a rotation of a webhook's signing key: until then, the key
	// before signs, too. Zero: there is no rotation.
	PreviousUntil time.Time

	Owner string // of the file that the destination is kept in; empty: none
}
