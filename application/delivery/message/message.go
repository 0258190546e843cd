// Package message makes the messages that people read about incidents. A Message is
// neutral: each sender writes it in the format of its channel and escapes what strangers
// have written.
package message

import (
	"context"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Message is one message about an incident, in one language.
type Message struct {
	ID       string // a UUID, the same at every attempt: channels that know keys for repetitions get it
	ThreadID string // the incident or the storm: all messages about it have this ID
	Kind     notify.MessageKind
	Test     bool   // it is an example that a person asked for
	Push     bool   // it makes a sound
	Ref      string // the message to edit; empty: there is none

	Language notify.Language
	Open     bool // the incident is
	Severity int
	Title    string   // at most 60 characters, the state first
	Lines    []string // plain text; the first says since when
	Link     Link     // to the incident; the URL is empty without PUBLIC_URL
	Stream   Link     // to the stream
	Actions  []Link   // to acknowledge and to silence; they expire
	Picture  *Picture // nil: there is none
	At       time.Time
}

// Text returns the title and the lines, without the links: those of actions are secret.
func (m Message) Text() string { return strings.Join(append([]string{m.Title}, m.Lines...), "\n") }

// Link is a URL with the text that shows it.
type Link struct{ Text, URL string }

// Picture shows the incident.
type Picture struct {
	Alt       string // what it shows, in the language of the message
	URL       string // signed and expiring; empty without PUBLIC_URL
	MediaType string
	Bytes     []byte // nil: too large

	RenditionHeight int // lines of the quality that it was taken from, which Alt names; 0: unknown
}

// Result is an attempt with what it means to the channel.
type Result struct {
	event.Attempt

	Class notify.FailureClass // of the failure
	Ref   string              // names the message at the channel, for edits; empty: it cannot be edited

	// EditedAndPushed is set if the message took two requests, so the rate limit counts it twice.
	EditedAndPushed bool

	// Note is what else the channel said about a test, for people; empty: nothing.
	Note string
}

// Accepted reports whether the channel accepted the message.
func (r Result) Accepted() bool { return r.Class == notify.NoFailure }

// Sender sends messages to the destinations of one kind. It may be used concurrently.
type Sender interface {
	// Send sends a message once, or edits the message of its Ref. It blocks for at most
	// delivery.SendTimeout.
	Send(ctx context.Context, d notify.Destination, m Message) Result
}
