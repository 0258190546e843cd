// Package line pushes messages to a user, a group or a room of LINE. A message that is sent
// again with the same ID is not shown again. It is a Flex Message with buttons, or plain text
// if LINE rejects that.
package line

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/notifier"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/message/plaintext"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const defaultAPI = "https://api.line.me"

// Limits of LINE, in units of UTF-16 unless they say otherwise.
const (
	maxText     = 5000
	maxLines    = 3000 // of a bubble, which may have 30 KB even if each unit is escaped
	maxAlt      = 400
	maxTitle    = 500
	maxLinkText = 100
	maxLabel    = 40   // of a button
	maxURL      = 1000 // bytes; behind a button
	maxPicture  = 2000 // bytes of its URL
)

// usedUpPause is how long nothing is sent after LINE says that the messages of the month are used up.
const usedUpPause = time.Hour

// Sender pushes messages.
type Sender struct{ client *notifier.Client }

var _ message.Sender = (*Sender)(nil)

// New returns a sender.
func New(client *notifier.Client) *Sender { return &Sender{client: client} }

// Send implements message.Sender.
func (s *Sender) Send(ctx context.Context, d notify.Destination, m message.Message) message.Result {
	return s.client.Send(ctx, m, func(ctx context.Context, m message.Message) message.Result {
		r, reason := s.push(ctx, d, m, newFlex(m))
		if r.Class == notify.Rejected && strings.Contains(reason, "messages[0]") {
			r, _ = s.push(ctx, d, m, newText(m))
		}
		if m.Test {
			r.Note = s.quota(ctx, d)
		}
		return r
	})
}

// push pushes an object, and the picture of the message. reason is that of a failure.
func (s *Sender) push(ctx context.Context, d notify.Destination, m message.Message, o object) (r message.Result, reason string) {
	p := push{To: d.Config["to"], Messages: []object{o}, NotificationDisabled: !m.Push}
	if shown := m.Picture; shown != nil && strings.HasPrefix(shown.URL, "https://") && len(shown.URL) <= maxPicture {
		p.Messages = append(p.Messages, object{Type: "image", Original: shown.URL, Preview: shown.URL})
	}
	reply := s.client.Do(ctx, d, notifier.Request{
		URL:    api(d) + "/v2/bot/message/push",
		Header: map[string]string{"Authorization": authorization(d), "X-Line-Retry-Key": m.ID},
		JSON:   p,
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
	case reply.Class == notify.NoFailure:
	case reply.Status == http.StatusConflict: // an earlier attempt was accepted, and its answer lost
		reply.Class, reply.Error = notify.NoFailure, ""
	case reply.Class == notify.Rejected && wrongReceiver: // a person may repair it
		reply.SetFailure(notify.Retry, reason)
	case reply.Status == http.StatusTooManyRequests && strings.Contains(reason, "monthly limit"):
		// Messages under way reserve some of the month, so it may pass before the month is over.
		reply.AddReason(reason)
		reply.RetryAfter = usedUpPause
	default:
		reply.AddReason(reason)
	}
	return reply.Result, reason
}

// quota says how many messages of the month are left, in the language of the destination; ""
// if LINE does not say it. LINE counts a message once for each person that gets it.
func (s *Sender) quota(ctx context.Context, d notify.Destination) string {
	var limit struct {
		Type  string
		Value int64
	}
	var used struct {
		TotalUsage int64
	}
	for path, v := range map[string]any{"": &limit, "/consumption": &used} {
		reply := s.client.Do(ctx, d, notifier.Request{
			Method: http.MethodGet, URL: api(d) + "/v2/bot/message/quota" + path, Header: map[string]string{"Authorization": authorization(d)},
		})
		if reply.Class != notify.NoFailure || !reply.Decode(v) {
			return ""
		}
	}
	switch japanese := d.Language == notify.Japanese; {
	case limit.Type != "limited":
		return ""
	case japanese:
		return fmt.Sprintf("今月はあと%d通送れます（上限%d通）。", max(limit.Value-used.TotalUsage, 0), limit.Value)
	default:
		return fmt.Sprintf("%d of the %d messages of this month are left.", max(limit.Value-used.TotalUsage, 0), limit.Value)
	}
}

func api(d notify.Destination) string {
	return cmp.Or(strings.TrimSuffix(d.Config["api_url"], "/"), defaultAPI)
}

func authorization(d notify.Destination) string { return "Bearer " + d.Secrets["channel_access_token"] }

type push struct {
	To                   string   `json:"to"`
	Messages             []object `json:"messages"`
	NotificationDisabled bool     `json:"notificationDisabled"`
}

type object struct {
	Type     string  `json:"type"`
	Text     string  `json:"text,omitempty"`
	Alt      string  `json:"altText,omitempty"` // of notifications
	Contents *bubble `json:"contents,omitempty"`
	Original string  `json:"originalContentUrl,omitempty"`
	Preview  string  `json:"previewImageUrl,omitempty"`
}

type bubble struct {
	Type   string `json:"type"`
	Body   *box   `json:"body"`
	Footer *box   `json:"footer,omitempty"`
}

type box struct {
	Type     string      `json:"type"`
	Layout   string      `json:"layout"`
	Spacing  string      `json:"spacing,omitempty"`
	Contents []component `json:"contents"`
}

type component struct {
	Type   string  `json:"type"`
	Text   string  `json:"text,omitempty"`
	Wrap   bool    `json:"wrap,omitempty"`
	Size   string  `json:"size,omitempty"`
	Weight string  `json:"weight,omitempty"`
	Color  string  `json:"color,omitempty"`
	Height string  `json:"height,omitempty"`
	Action *action `json:"action,omitempty"`
}

type action struct {
	Type  string `json:"type"`
	Label string `json:"label"`
	URI   string `json:"uri"`
}

// newFlex writes a message as a bubble, whose texts LINE shows as they are. Each link is a button,
// or a text that can be tapped if it is too long for a button.
func newFlex(m message.Message) object {
	title := plaintext.Cut(plaintext.Clean(m.Title), maxTitle, plaintext.UTF16Length)
	lines := plaintext.Cut(strings.Join(notifier.Lines(m), "\n"), maxLines, plaintext.UTF16Length)
	body := &box{Type: "box", Layout: "vertical", Spacing: "md", Contents: []component{
		{Type: "text", Text: title, Wrap: true, Weight: "bold", Color: color(m)},
	}}
	if lines != "" {
		body.Contents = append(body.Contents, component{Type: "text", Text: lines, Wrap: true, Size: "sm"})
	}
	footer := &box{Type: "box", Layout: "vertical"}
	for _, l := range notifier.Links(m) {
		to := &action{Type: "uri", Label: plaintext.Cut(l.Text, maxLabel, plaintext.UTF16Length), URI: l.URL}
		switch {
		case len(l.URL) > maxURL:
		case to.Label != l.Text:
			text := plaintext.Cut(l.Text, maxLinkText, plaintext.UTF16Length)
			body.Contents = append(body.Contents, component{Type: "text", Text: text, Wrap: true, Size: "sm", Color: linkColor, Action: to})
		default:
			footer.Contents = append(footer.Contents, component{Type: "button", Height: "sm", Action: to})
		}
	}
	if len(footer.Contents) == 0 {
		footer = nil
	}
	return object{
		Type: "flex", Alt: plaintext.Cut(strings.TrimSpace(title+"\n"+lines), maxAlt, plaintext.UTF16Length),
		Contents: &bubble{Type: "bubble", Body: body, Footer: footer},
	}
}

const linkColor = "#2a5db0"

func color(m message.Message) string {
	switch {
	case !m.Open:
		return "#0b7a3b"
	case m.Severity >= 2:
		return "#c01c28"
	}
	return "#9a5b00"
}

// newText writes a message as plain text. LINE formats nothing, and makes links of URLs.
func newText(m message.Message) object {
	title := plaintext.Cut(plaintext.Clean(m.Title), maxTitle, plaintext.UTF16Length)
	left := maxText - plaintext.UTF16Length(title)
	var links strings.Builder
	for _, l := range notifier.Links(m) {
		link := "\n" + plaintext.Cut(l.Text, maxLabel, plaintext.UTF16Length) + ": " + l.URL
		if size := plaintext.UTF16Length(link); size < left/2 {
			links.WriteString(link)
			left -= size
		}
	}
	lines := ""
	if joined := strings.Join(notifier.Lines(m), "\n"); joined != "" {
		lines = plaintext.Cut("\n"+joined, left, plaintext.UTF16Length)
	}
	return object{Type: "text", Text: title + lines + links.String()}
}
