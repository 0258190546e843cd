// Package teams sends messages to a workflow of Microsoft Teams as Adaptive Cards. The
// workflow answers before it posts, so an accepted message may still be lost there.
package teams

import (
	"context"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/notifier"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/message/plaintext"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Limits in bytes. Teams refuses a message of more than 28 KB.
const (
	maxTitle = 1 << 10
	maxLines = 12 << 10
	maxLabel = 128
	maxAlt   = 512
	maxURL   = 1500
	maxLinks = 6 // actions of a card
)

// Sender sends messages to Teams.
type Sender struct{ client *notifier.Client }

var _ message.Sender = (*Sender)(nil)

// New returns a sender.
func New(client *notifier.Client) *Sender { return &Sender{client: client} }

// Send implements message.Sender.
func (s *Sender) Send(ctx context.Context, d notify.Destination, m message.Message) message.Result {
	return s.client.Send(ctx, m, func(ctx context.Context, m message.Message) message.Result {
		reply := s.client.Do(ctx, d, notifier.Request{URL: d.Secrets["workflow_url"], JSON: newRequest(m)})
		var answer struct {
			Error struct{ Code, Message string }
		}
		if reply.Class != notify.NoFailure && reply.Decode(&answer) {
			reply.AddReason(strings.TrimSpace(answer.Error.Code + " " + answer.Error.Message))
		}
		return reply.Result
	})
}

type request struct {
	Type        string       `json:"type"`
	Summary     string       `json:"summary"`
	Attachments []attachment `json:"attachments"`
}

type attachment struct {
	ContentType string `json:"contentType"`
	Content     card   `json:"content"`
}

type card struct {
	Schema  string            `json:"$schema"`
	Type    string            `json:"type"`
	Version string            `json:"version"`
	Body    []element         `json:"body"`
	Actions []element         `json:"actions,omitempty"`
	MSTeams map[string]string `json:"msteams"`
}

type element struct {
	Type    string    `json:"type"`
	Inlines []element `json:"inlines,omitempty"`
	Text    string    `json:"text,omitempty"`
	Weight  string    `json:"weight,omitempty"`
	Size    string    `json:"size,omitempty"`
	Color   string    `json:"color,omitempty"`
	Title   string    `json:"title,omitempty"`
	URL     string    `json:"url,omitempty"`
	AltText string    `json:"altText,omitempty"`
}

// newRequest writes a message. Text is in runs of rich text, which know no Markdown.
func newRequest(m message.Message) request {
	title := cut(m.Title, maxTitle)
	c := card{
		Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.4",
		Body:    []element{paragraph(element{Type: "TextRun", Text: title, Weight: "Bolder", Size: "Medium", Color: color(m)})},
		MSTeams: map[string]string{"width": "Full"},
	}
	left := maxLines
	for _, l := range notifier.Lines(m) {
		if l = cut(l, left); l == "" {
			break
		}
		c.Body = append(c.Body, paragraph(element{Type: "TextRun", Text: l}))
		left -= size(l) + len(`{"type":"RichTextBlock","inlines":[{"type":"TextRun","text":""}]},`)
	}
	if p := m.Picture; p != nil && p.URL != "" && len(p.URL) <= maxURL {
		c.Body = append(c.Body, element{Type: "Image", URL: p.URL, AltText: cut(p.Alt, maxAlt)})
	}
	for _, l := range notifier.Links(m) {
		if len(c.Actions) < maxLinks && len(l.URL) <= maxURL {
			c.Actions = append(c.Actions, element{Type: "Action.OpenUrl", Title: cut(l.Text, maxLabel), URL: l.URL})
		}
	}
	return request{Type: "message", Summary: title, Attachments: []attachment{{ContentType: "application/vnd.microsoft.card.adaptive", Content: c}}}
}

func paragraph(run element) element {
	return element{Type: "RichTextBlock", Inlines: []element{run}}
}

// cut cleans a text, keeps it from naming a date by a macro, and cuts it to a size in JSON.
func cut(s string, most int) string {
	return plaintext.Cut(strings.ReplaceAll(plaintext.Clean(s), "{{", "{\u200b{"), most, size)
}

// size returns the bytes that a text takes in JSON.
func size(s string) int { return len(s) + strings.Count(s, `"`) + strings.Count(s, `\`) }

func color(m message.Message) string {
	switch {
	case !m.Open:
		return "Good"
	case m.Severity >= 2:
		return "Attention"
	}
	return "Warning"
}
