// Package ntfy publishes messages to a topic of a server of ntfy. Messages with the same
// sequence ID replace each other, from version 2.16 on; an older server shows all. Apps replace
// in silence what they still show, so a push is a message of its own.
package ntfy

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/notifier"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/message/plaintext"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const defaultServer = "https://ntfy.sh"

// Limits in bytes. ntfy makes a file of a message of more than 4,096, and refuses JSON of more
// than 8,192.
const (
	maxTitle      = 250
	maxMessage    = 3000
	maxWithUpload = 1000 // of a message that is part of the URL
	maxLabel      = 60
	maxURL        = 800
	maxActions    = 3
)

// Priorities, as ntfy numbers them.
const (
	low    = 2 // makes no sound
	normal = 3
	high   = 4
	most   = 5
)

// Codes of errors.
const (
	topicInvalid    = 40009
	topicDisallowed = 40010
	bandwidth       = 42905 // that for files is used up for the day
)

// Sender publishes messages.
type Sender struct{ client *notifier.Client }

var _ message.Sender = (*Sender)(nil)

// New returns a sender.
func New(client *notifier.Client) *Sender { return &Sender{client: client} }

// Send implements message.Sender.
func (s *Sender) Send(ctx context.Context, d notify.Destination, m message.Message) message.Result {
	return s.client.Send(ctx, m, func(ctx context.Context, m message.Message) message.Result {
		return notifier.SendEditing(ctx, topic{s.client, d}, m)
	})
}

// topic sends to a destination. A Ref of it is a sequence ID.
type topic struct {
	client *notifier.Client
	to     notify.Destination
}

// Post implements notifier.EditingSender.
func (t topic) Post(ctx context.Context, m message.Message) message.Result {
	return t.publish(ctx, m, m.ThreadID)
}

// Push implements notifier.EditingSender.
func (t topic) Push(ctx context.Context, m message.Message) message.Result {
	m.Picture = nil
	return t.publish(ctx, m, m.ID) // so a repetition replaces it
}

// Edit implements notifier.EditingSender.
func (t topic) Edit(ctx context.Context, m message.Message) (r message.Result, notEditable bool) {
	m.Push = false
	return t.publish(ctx, m, m.ThreadID), false
}

func (t topic) publish(ctx context.Context, m message.Message, sequence string) message.Result {
	server := strings.TrimSuffix(t.to.Config["server_url"], "/")
	if server == "" {
		server = defaultServer
	}
	p := newPublication(t.to.Config["topic"], sequence, m)
	req := notifier.Request{URL: server, JSON: p}
	uploads := m.Picture != nil && p.Attach == "" && len(m.Picture.Bytes) > 0
	if uploads {
		// Exchanges keep no query, and its links are signed.
		req = notifier.Request{
			Method: http.MethodPut, URL: server + "/" + url.PathEscape(p.Topic) + "?" + p.query(*m.Picture),
			Body: &notifier.Body{ContentType: m.Picture.MediaType, Bytes: m.Picture.Bytes},
		}
	}
	if token := t.to.Secrets["token"]; token != "" {
		req.Header = map[string]string{"Authorization": "Bearer " + token}
	}
	reply := t.client.Do(ctx, t.to, req)
	var answer struct {
		ID    string
		Code  int
		Error string
	}
	_ = reply.Decode(&answer)
	switch {
	case reply.Class == notify.NoFailure && answer.ID == "": // a page of another server
		reply.SetFailure(notify.Retry, "the answer is not one of ntfy")
	case reply.Class == notify.NoFailure:
		reply.Ref = m.ThreadID
	case answer.Code == topicInvalid, answer.Code == topicDisallowed: // a person may repair it
		reply.SetFailure(notify.Retry, answer.Error)
	case answer.Code == bandwidth && uploads: // without its picture the message may arrive
		reply.SetFailure(notify.Rejected, answer.Error)
	default:
		reply.AddReason(answer.Error)
	}
	return reply.Result
}

type publication struct {
	Topic      string   `json:"topic"`
	SequenceID string   `json:"sequence_id"`
	Title      string   `json:"title,omitempty"`
	Message    string   `json:"message"`
	Priority   int      `json:"priority"`
	Click      string   `json:"click,omitempty"`
	Actions    []action `json:"actions,omitempty"`
	Attach     string   `json:"attach,omitempty"`
}

type action struct {
	Action string `json:"action"`
	Label  string `json:"label"`
	URL    string `json:"url"`
}

// newPublication writes a message. A tap leads to the incident, buttons to the rest.
func newPublication(topic, sequence string, m message.Message) publication {
	p := publication{
		Topic:      topic,
		SequenceID: sequence,
		Title:      plaintext.Cut(undecoded.Replace(plaintext.Clean(m.Title)), maxTitle, size),
		Message:    plaintext.Cut(undecoded.Replace(strings.Join(notifier.Lines(m), "\n")), maxMessage, size),
		Priority:   priority(m),
	}
	if p.Message == "" {
		p.Title, p.Message = "", p.Title // ntfy would write "triggered"
	}
	links := notifier.Links(message.Message{Actions: append(append([]message.Link{m.Link}, m.Actions...), m.Stream)})
	for _, l := range links {
		switch {
		case len(l.URL) > maxURL:
		case p.Click == "" && (l.URL == m.Link.URL || l.URL == m.Stream.URL):
			p.Click = l.URL
		case len(p.Actions) < maxActions:
			p.Actions = append(p.Actions, action{Action: "view", Label: plaintext.Cut(l.Text, maxLabel, size), URL: l.URL})
		}
	}
	if m.Picture != nil && len(m.Picture.URL) <= maxURL {
		p.Attach = m.Picture.URL
	}
	return p
}

// undecoded breaks up what ntfy decodes: words of RFC 2047, and line breaks of a query.
var undecoded = strings.NewReplacer("=?", "=\u200b?", `\n`, "\\\u200bn")

// query returns the publication as the query of an upload.
func (p publication) query(picture message.Picture) string {
	q := url.Values{
		"sid": {p.SequenceID}, "title": {p.Title}, "message": {plaintext.Cut(p.Message, maxWithUpload, plaintext.ByteLength)},
		"priority": {strconv.Itoa(p.Priority)}, "filename": {notifier.FileName(picture)},
	}
	if p.Click != "" {
		q.Set("click", p.Click)
	}
	if actions, err := json.Marshal(p.Actions); err == nil && len(p.Actions) > 0 {
		q.Set("actions", string(actions))
	}
	return q.Encode()
}

// size returns the bytes that a text takes in JSON.
func size(s string) int {
	return len(s) + strings.Count(s, `"`) + strings.Count(s, `\`) + strings.Count(s, "\n")
}

func priority(m message.Message) int {
	switch {
	case !m.Push:
		return low
	case m.Severity >= 3:
		return most
	case m.Severity == 2:
		return high
	}
	return normal
}
