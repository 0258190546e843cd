package channel

import (
	"fmt"
	"strings"
	"time"
)

// Message is a message as people see it.
type Message struct {
	ID       string
	Text     string // with the marks of formatting applied and without what nobody sees
	Links    []Link
	Mentions int    // of people and groups, which it would notify
	Picture  string // its URL, or its size in bytes; empty: it has none
	Alt      string // of the picture
	Sound    bool   // it notified people when it was posted
	ReplyTo  string // the ID of the message that it answers; empty: none
	Edits    int    // how often it was changed
	State    string // of an alert: triggered, acknowledged, resolved; empty elsewhere
	Priority string // as the provider calls it; empty where it knows none

	PostedAt time.Time
	Posted   string // Text as it was posted, before edits
	Changes  []Change
}

// Change is an edit after which people see something else.
type Change struct {
	At    time.Time
	Text  string // from then on
	State string
}

// Link is text that leads somewhere.
type Link struct{ Text, URL string }

// String returns the message as one block of text for people.
func (m Message) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "[%s]", m.ID)
	for _, note := range []struct{ name, value string }{
		{"answers", m.ReplyTo}, {"state", m.State}, {"priority", m.Priority}, {"picture", m.Picture},
	} {
		if note.value != "" {
			fmt.Fprintf(&s, " %s %s", note.name, note.value)
		}
	}
	if m.Edits > 0 {
		fmt.Fprintf(&s, " edited %d×", m.Edits)
	}
	if m.Sound {
		s.WriteString(" 🔔")
	}
	s.WriteString("\n  " + strings.ReplaceAll(m.Text, "\n", "\n  ") + "\n")
	for _, l := range m.Links {
		fmt.Fprintf(&s, "  ▸ %s <%s>\n", l.Text, l.URL)
	}
	return s.String()
}

// invisible are the characters without width that break up what a provider would format.
var invisible = strings.NewReplacer("\u200b", "", "\u2060", "")

// Visible returns a text as people see it.
func Visible(s string) string { return invisible.Replace(s) }
