package notify

import "time"

// Kind is the kind of a destination. It is stored and shown, so it never changes.
type Kind string

// The kinds of destinations.
const (
	Webhook   Kind = "webhook"
	Slack     Kind = "slack"
	Discord   Kind = "discord"
	Teams     Kind = "teams"
	LINE      Kind = "line"
	Telegram  Kind = "telegram"
	PagerDuty Kind = "pagerduty"
	Ntfy      Kind = "ntfy"
	Email     Kind = "email"
)

// Channel describes what all destinations of a kind have in common.
type Channel struct {
	Kind Kind

	// GetsEvents marks a channel that gets every event as a webhook. The others get
	// messages about incidents.
	GetsEvents bool

	// Edits marks a channel whose messages can be changed after they were sent. Slack does
	// that only for bots: see Destination.Edits.
	Edits bool

	// KeepsAlerts marks a channel where a message opens an alert that stays until its end is told.
	// It gets no hints, because their end is not told.
	KeepsAlerts bool

	// PictureWait is how long a first message waits for a picture of the incident. It
	// is 0 for channels that can add one later. See Destination.PictureWait, too.
	PictureWait time.Duration

	// RateLimit is what the provider allows for one destination.
	RateLimit RateLimit

	Fields []Field // of the configuration
}

// RateLimit allows Burst messages at once, and then one in each Interval. The zero value
// limits nothing.
type RateLimit struct {
	Burst    int
	Interval time.Duration
}

// Field is one field of a destination's configuration.
type Field struct {
	Name     string
	Secret   bool // stored encrypted, never answered or logged
	Required bool
	Words    FieldWords
	Example  string // a value of reserved names, in every language the same

	// NamesServer marks the field that says which server gets the secrets: see
	// Destination.MovedFrom.
	NamesServer bool

	// check returns why it refuses a value, or ""; nil accepts every line of text.
	check func(value string) (why string)
}

// FieldWords are the words of a field for people. The API gives them, and the dashboard's form shows them.
type FieldWords struct {
	English  FieldPhrases `json:"en"`
	Japanese FieldPhrases `json:"ja"`
}

// FieldPhrases are the words of a field in one language.
type FieldPhrases struct {
	Label string `json:"label"`
	Hint  string `json:"hint"` // sentences: where the value is to be found
}

// words makes FieldWords of a label and a hint in English, and the same in Japanese.
func words(label, hint, labelJa, hintJa string) FieldWords {
	return FieldWords{FieldPhrases{label, hint}, FieldPhrases{labelJa, hintJa}}
}
