// Package line pushes messages to a user, a group or a room of LINE. A message that is sent
// again with the same ID is not shown again.
package line

import (
	"context"
	"net/http"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/notifier"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const defaultAPI = "https://api.line.me"

// Limits of LINE.
const (
	maxText  = 5000 // units of UTF-16
	maxTitle = 500
	maxLabel = 100
	maxURL   = 2000
)

// Sender pushes messages.
type Sender struct{ client *notifier.Client }

var _ message.Sender = (*Sender)(nil)

// New returns a sender.
func New(client *notifier.Client) *Sender { return &Sender{client: client} }

// Send implements message.Sender.
func (s *Sender) Send(ctx context.Context, d notify.Destination, m message.Message) message.Result {
	return s.client.Send(ctx, m, func(ctx context.Context, m message.Message) message.Result {
		api := strings.TrimSuffix(d.Config["api_url"], "/")
		if api == "" {
			api = defaultAPI
		}
		reply := s.client.Do(ctx, d, notifier.Request{
			URL: api + "/v2/bot/message/push",
			Header: map[string]string{
				"Authorization":    "Bearer " + d.Secrets["channel_access_token"],
				"X-Line-Retry-Key": m.ID,
			},
			JSON: push{To: d.Config["to"], Messages: newObjects(m), NotificationDisabled: !m.Push},
		})
		var answer struct {
			Message string
			Details []struct{ Message, Property string }
		}
		_ = reply.Decode(&answer)
		reason, wrongReceiver := answer.Message, strings.Contains(answer.Message, "'to'")
		for _, detail := range answer.Details {
			reason += "; " + detail.Property + ": " + detail.Message
			wrongReceiver = wrongReceiver || detail.Property == "to"
		}
		switch {
		case reply.Class == notify.Accepted:
		case reply.Status == http.StatusConflict: // an earlier attempt was accepted, and its answer lost
			reply.Class, reply.Error = notify.Accepted, ""
		case reply.Class == notify.Rejected && wrongReceiver: // a person may repair it
			reply.Fail(notify.Retry, reason)
		default:
			reply.Explain(reason)
		}
		return reply.Result
	})
}

type push struct {
	To                   string   `json:"to"`
	Messages             []object `json:"messages"`
	NotificationDisabled bool     `json:"notificationDisabled"`
}

type object struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Original string `json:"originalContentUrl,omitempty"`
	Preview  string `json:"previewImageUrl,omitempty"`
}

// newObjects writes a message as plain text and an image. LINE formats nothing, and makes
// links of URLs.
func newObjects(m message.Message) []object {
	title := notifier.Cut(notifier.Clean(m.Title), maxTitle, notifier.UTF16)
	left := maxText - notifier.UTF16(title)
	var links strings.Builder
	for _, l := range notifier.Links(m) {
		link := "\n" + notifier.Cut(l.Text, maxLabel, notifier.UTF16) + ": " + l.URL
		if size := notifier.UTF16(link); size < left/2 {
			links.WriteString(link)
			left -= size
		}
	}
	lines := ""
	if joined := strings.Join(notifier.Lines(m), "\n"); joined != "" {
		lines = notifier.Cut("\n"+joined, left, notifier.UTF16)
	}
	objects := []object{{Type: "text", Text: title + lines + links.String()}}
	if p := m.Picture; p != nil && strings.HasPrefix(p.URL, "https://") && len(p.URL) <= maxURL {
		objects = append(objects, object{Type: "image", Original: p.URL, Preview: p.URL})
	}
	return objects
}
