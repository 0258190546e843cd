package event

import "time"

// Attempt is one attempt to send an event or a message, and what the receiver answered. It is stored as
// JSON, but for what only the next attempt depends on.
type Attempt struct {
	At         time.Time     `json:"at"`     // when it began
	Status     int           `json:"status"` // of HTTP or SMTP; 0: no answer
	Error      string        `json:"error"`  // one line for people, without secrets; empty: the receiver accepted it
	RetryAfter time.Duration `json:"-"`      // how long the receiver asked to wait; 0: it did not ask

	Exchange *Exchange `json:"exchange,omitempty"` // what was sent and answered; nil: nothing was sent
}

// Accepted reports whether the receiver accepted what was sent.
func (a Attempt) Accepted() bool { return a.Error == "" }

// MaxExchangeBody limits the part of a receiver's answer that is kept, in bytes.
const MaxExchangeBody = 2 << 10

// Exchange holds the request of one attempt and the receiver's answer, for operators. It
// is stored as JSON.
type Exchange struct {
	URL        string            `json:"url"`     // scheme and host: receivers keep tokens in the rest
	Header     map[string]string `json:"headers"` // of the request, the signatures included
	DurationMS int64             `json:"duration_ms"`
	Answer     *Answer           `json:"answer"` // nil: there was none

	// Message is what people were sent, as plain text without its links, of at most
	// MaxExchangeBody bytes; empty: it was a webhook.
	Message string `json:"message,omitempty"`
}

// Answer is the beginning of what a receiver answered.
type Answer struct {
	ContentType string `json:"content_type"`
	Body        string `json:"body"`      // at most MaxExchangeBody bytes, as text
	Truncated   bool   `json:"truncated"` // the body was longer
}
