// Package discord sends messages to a webhook of Discord and edits them there.
package discord

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/notifier"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/message/plaintext"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Limits of Discord. It counts characters; units of UTF-16 are never fewer.
const (
	maxContent     = 2000
	maxDescription = 4096
	maxLinks       = 2000 // of the description
	maxLabel       = 80   // of a link
	maxAlt         = 1024
	maxFile        = 10 << 20
)

// Codes of errors.
const (
	unknownMessage = 10008
	unknownWebhook = 10015
)

// suppressNotifications is the flag of a message that makes no sound.
const suppressNotifications = 1 << 12

// Sender sends messages to Discord.
type Sender struct{ client *notifier.Client }

var _ message.Sender = (*Sender)(nil)

// New returns a sender.
func New(client *notifier.Client) *Sender { return &Sender{client: client} }

// Send implements message.Sender.
func (s *Sender) Send(ctx context.Context, d notify.Destination, m message.Message) message.Result {
	return s.client.Send(ctx, m, func(ctx context.Context, m message.Message) message.Result {
		return notifier.SendEditing(ctx, webhook{s.client, d}, m)
	})
}

// webhook sends to a destination. A Ref of it is the ID of a message.
type webhook struct {
	client *notifier.Client
	to     notify.Destination
}

// Post implements notifier.EditingSender.
func (w webhook) Post(ctx context.Context, m message.Message) message.Result {
	r, _ := w.call(ctx, http.MethodPost, "", m)
	return r
}

// Push implements notifier.EditingSender.
func (w webhook) Push(ctx context.Context, m message.Message) message.Result {
	m.Lines, m.Picture = nil, nil
	return w.Post(ctx, m)
}

// Edit implements notifier.EditingSender.
func (w webhook) Edit(ctx context.Context, m message.Message) (r message.Result, notEditable bool) {
	r, code := w.call(ctx, http.MethodPatch, m.Ref, m)
	return r, code == unknownMessage
}

// call posts a message to the webhook, or edits the message with an ID. code is that of the error.
func (w webhook) call(ctx context.Context, method, id string, m message.Message) (r message.Result, code int) {
	to, err := url.Parse(w.to.Secrets["webhook_url"])
	if err != nil {
		to = &url.URL{} // refused as a URL that cannot be requested
	}
	query := to.Query() // may name a thread
	query.Set("wait", "true")
	to.RawQuery = query.Encode()
	if id != "" {
		to = to.JoinPath("messages", id)
	}

	reply := w.client.Do(ctx, w.to, request(method, to.String(), m))
	var answer struct {
		ID, Message string
		Code        int
		RetryAfter  float64 `json:"retry_after"` // seconds
	}
	_ = reply.Decode(&answer)
	switch {
	case reply.Class == notify.NoFailure:
		reply.Ref = answer.ID
	case answer.Code == unknownWebhook:
		reply.SetFailure(notify.Gone, answer.Message)
	default:
		reply.AddReason(answer.Message)
		reply.RetryAfter = max(reply.RetryAfter, time.Duration(math.Ceil(min(answer.RetryAfter, 86400)))*time.Second)
	}
	return reply.Result, answer.Code
}

type payload struct {
	Content         string              `json:"content"`
	Embeds          []embed             `json:"embeds"`
	AllowedMentions map[string][]string `json:"allowed_mentions"`
	Attachments     []attachment        `json:"attachments"`
	Flags           int                 `json:"flags,omitempty"`
}

type embed struct {
	Description string `json:"description"`
	Image       *image `json:"image,omitempty"`
	Color       int    `json:"color"`
	Timestamp   string `json:"timestamp,omitempty"`
}

type image struct {
	URL string `json:"url"`
}

type attachment struct {
	ID          int    `json:"id"` // the number of the file in the form
	FileName    string `json:"filename"`
	Description string `json:"description"`
}

// request writes a message. The title is the content, which notifications show.
func request(method, to string, m message.Message) notifier.Request {
	cut := func(s string, most int) string {
		return escape.Replace(plaintext.Cut(s, most, plaintext.AfterEscaping(escape.Replace, plaintext.UTF16Length)))
	}
	p := payload{
		Content:         "**" + cut(plaintext.Clean(m.Title), maxContent-4) + "**",
		Embeds:          []embed{},
		AllowedMentions: map[string][]string{"parse": {}},
		Attachments:     []attachment{}, // an edit removes those that are not named
	}
	if method == http.MethodPost && !m.Push {
		p.Flags = suppressNotifications
	}
	links := ""
	for _, l := range notifier.Links(m) {
		link := "[" + cut(l.Text, maxLabel) + "](" + escapeURL.Replace(l.URL) + ")"
		if len(links)+len(link) < maxLinks {
			links += "\n" + link
		}
	}
	e := embed{Description: strings.TrimSpace(cut(strings.Join(notifier.Lines(m), "\n"), maxDescription-maxLinks) + links), Color: color(m)}
	if !m.At.IsZero() {
		e.Timestamp = m.At.UTC().Format(time.RFC3339)
	}
	r := notifier.Request{Method: method, URL: to}
	var files []notifier.FormPart
	switch picture := m.Picture; {
	case picture == nil:
	case len(picture.Bytes) > 0 && len(picture.Bytes) <= maxFile:
		alt := plaintext.Cut(plaintext.Clean(picture.Alt), maxAlt, plaintext.UTF16Length)
		name := notifier.FileName(*picture)
		p.Attachments = append(p.Attachments, attachment{FileName: name, Description: alt})
		e.Image = &image{URL: "attachment://" + name}
		files = append(files, notifier.FormPart{Name: "files[0]", FileName: name, ContentType: picture.MediaType, Bytes: picture.Bytes})
	case picture.URL != "":
		e.Image = &image{URL: picture.URL}
	}
	if e.Description != "" || e.Image != nil {
		p.Embeds = append(p.Embeds, e)
	}
	r.JSON = p
	if len(files) > 0 {
		r.Form = append([]notifier.FormPart{{Name: "payload_json", JSON: p}}, files...)
	}
	return r
}

// color returns the color at the edge of a message.
func color(m message.Message) int {
	switch {
	case !m.Open:
		return 0x2eb67d // green
	case m.Severity >= 2:
		return 0xe01e5a // red
	}
	return 0xecb22e // yellow
}

var (
	escape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `_`, `\_`, `~`, `\~`, "`", "\\`", `|`, `\|`, `>`, `\>`, `#`, `\#`,
		`-`, `\-`, `[`, `\[`, `]`, `\]`, `(`, `\(`, `)`, `\)`, `<`, `\<`, `@`, `\@`)
	escapeURL = strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E")
)
