// Package pagerduty sends messages as events to PagerDuty. An incident is an alert there, which
// messages open, acknowledge and resolve. PagerDuty itself repeats and escalates.
package pagerduty

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/notifier"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/message/plaintext"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const defaultAPI = "https://events.pagerduty.com"

// Limits of PagerDuty. It limits an event as a whole, to 512 KB.
const (
	maxSummary = 1024 // characters; units of UTF-16 are never fewer
	maxDetails = 20000
	maxLabel   = 100
	maxAlt     = 500
)

// severities maps those of incidents.
var severities = []string{"info", "warning", "error", "critical"}

// Sender sends messages to PagerDuty.
type Sender struct{ client *notifier.Client }

var _ message.Sender = (*Sender)(nil)

// New returns a sender.
func New(client *notifier.Client) *Sender { return &Sender{client: client} }

// wrongKey matches errors about the routing key, which a person may repair.
var wrongKey = regexp.MustCompile(`(?i)routing.?key`)

// Send implements message.Sender. Only a push triggers: PagerDuty would call somebody for any
// other change, and would open an alert again that a person has resolved there.
func (s *Sender) Send(ctx context.Context, d notify.Destination, m message.Message) message.Result {
	return s.client.Send(ctx, m, func(ctx context.Context, m message.Message) message.Result {
		if m.Kind == notify.Updated || m.Open && !m.Push && m.Kind != notify.Acknowledged {
			return message.Result{Ref: m.ThreadID}
		}
		api := strings.TrimSuffix(d.Config["api_url"], "/")
		if api == "" {
			api = defaultAPI
		}
		reply := s.client.Do(ctx, d, notifier.Request{URL: api + "/v2/enqueue", JSON: newEvent(d.Secrets["routing_key"], m)})
		var answer struct {
			Message string
			Errors  []string
		}
		_ = reply.Decode(&answer)
		reason := strings.Join(append([]string{answer.Message}, answer.Errors...), ": ")
		switch {
		case reply.Class == notify.NoFailure:
			reply.Ref = m.ThreadID
		case reply.Class == notify.Rejected && wrongKey.MatchString(reason):
			reply.SetFailure(notify.Retry, reason)
		default:
			reply.AddReason(reason)
		}
		return reply.Result
	})
}

type event struct {
	RoutingKey string   `json:"routing_key"`
	Action     string   `json:"event_action"`
	DedupKey   string   `json:"dedup_key"`
	Payload    *payload `json:"payload,omitempty"`
	Images     []image  `json:"images,omitempty"`
	Links      []link   `json:"links,omitempty"`
	Client     string   `json:"client,omitempty"`
	ClientURL  string   `json:"client_url,omitempty"`
}

type payload struct {
	Summary   string            `json:"summary"`
	Source    string            `json:"source"`
	Severity  string            `json:"severity"`
	Timestamp string            `json:"timestamp,omitempty"`
	Details   map[string]string `json:"custom_details,omitempty"`
}

type image struct {
	Src string `json:"src"`
	Alt string `json:"alt,omitempty"`
}

type link struct {
	Href string `json:"href"`
	Text string `json:"text"`
}

// newEvent writes a message. An acknowledgement or a resolution needs only the key of its alert.
func newEvent(routingKey string, m message.Message) event {
	e := event{RoutingKey: routingKey, Action: "trigger", DedupKey: m.ThreadID}
	switch {
	case !m.Open:
		e.Action = "resolve"
		return e
	case m.Kind == notify.Acknowledged:
		e.Action = "acknowledge"
		return e
	}
	p := &payload{
		Summary:  plaintext.Cut(plaintext.Clean(m.Title), maxSummary, plaintext.UTF16Length),
		Source:   m.Stream.URL,
		Severity: severities[min(max(m.Severity, 0), len(severities)-1)],
	}
	if p.Source == "" {
		p.Source = "stream-monitor"
	}
	if !m.At.IsZero() {
		p.Timestamp = m.At.UTC().Format(time.RFC3339)
	}
	if lines := plaintext.Cut(strings.Join(notifier.Lines(m), "\n"), maxDetails, plaintext.UTF16Length); lines != "" {
		p.Details = map[string]string{"details": lines}
	}
	e.Payload = p
	e.Client, e.ClientURL = "stream-monitor", m.Link.URL
	for _, l := range notifier.Links(m) {
		e.Links = append(e.Links, link{Href: l.URL, Text: plaintext.Cut(l.Text, maxLabel, plaintext.UTF16Length)})
	}
	if m.Picture != nil && strings.HasPrefix(m.Picture.URL, "https://") {
		e.Images = []image{{Src: m.Picture.URL, Alt: plaintext.Cut(plaintext.Clean(m.Picture.Alt), maxAlt, plaintext.UTF16Length)}}
	}
	return e
}
