// Package slack sends messages to Slack: as a bot, which can edit them, or through an incoming
// webhook, which cannot. A push is a reply in the thread of the message that is also
// shown in the channel.
package slack

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/adapters/notifier"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/message/plaintext"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const defaultAPI = "https://slack.com/api"

// Limits of Slack, in characters.
const (
	maxHeader  = 150
	maxSection = 3000
	maxAlt     = 2000
	maxURL     = 3000
	maxLink    = 100 // of a link's text; Slack has no limit
)

// Sender sends messages to Slack.
type Sender struct{ client *notifier.Client }

var _ message.Sender = (*Sender)(nil)

// New returns a sender.
func New(client *notifier.Client) *Sender { return &Sender{client: client} }

// Send implements message.Sender.
func (s *Sender) Send(ctx context.Context, d notify.Destination, m message.Message) message.Result {
	return s.client.Send(ctx, m, func(ctx context.Context, m message.Message) message.Result {
		if d.Secrets["bot_token"] == "" {
			return s.sendToWebhook(ctx, d, m)
		}
		return notifier.SendEditing(ctx, bot{s.client, d}, m)
	})
}

// bot sends to a destination as a bot. A Ref of it is channel/timestamp.
type bot struct {
	client *notifier.Client
	to     notify.Destination
}

// Post implements notifier.EditingSender.
func (b bot) Post(ctx context.Context, m message.Message) message.Result {
	p := payload(m)
	p.Channel = b.to.Config["channel"]
	r, _ := b.call(ctx, "chat.postMessage", p)
	return r
}

// Push implements notifier.EditingSender.
func (b bot) Push(ctx context.Context, m message.Message) message.Result {
	m.Lines, m.Picture = nil, nil
	p := payload(m)
	p.Channel, p.ThreadTS, _ = strings.Cut(m.Ref, "/")
	p.Broadcast = true
	r, _ := b.call(ctx, "chat.postMessage", p)
	return r
}

// Edit implements notifier.EditingSender.
func (b bot) Edit(ctx context.Context, m message.Message) (r message.Result, notEditable bool) {
	p := payload(m)
	p.Channel, p.TS, _ = strings.Cut(m.Ref, "/")
	r, refusal := b.call(ctx, "chat.update", p)
	return r, refusal != "" && !passing[refusal]
}

// passing are the errors of chat.update that say nothing about the message. After all others a
// new one is posted.
var passing = map[string]bool{
	"ratelimited": true, "rate_limited": true, "internal_error": true, "fatal_error": true, "service_unavailable": true, "request_timeout": true,
}

// rejected are the errors of a message that is never accepted.
var rejected = map[string]bool{
	"invalid_blocks": true, "invalid_blocks_format": true, "invalid_arguments": true,
	"msg_too_long": true, "msg_blocks_too_long": true, "no_text": true,
}

// call calls a method of the Web API. Slack answers failures with status 200 and ok=false.
func (b bot) call(ctx context.Context, method string, p body) (r message.Result, refusal string) {
	api := strings.TrimSuffix(b.to.Config["api_url"], "/")
	if api == "" {
		api = defaultAPI
	}
	reply := b.client.Do(ctx, b.to, notifier.Request{
		URL:    api + "/" + method,
		Header: map[string]string{"Authorization": "Bearer " + b.to.Secrets["bot_token"]},
		JSON:   p,
	})
	var answer struct {
		OK             bool
		Error, Channel string
		TS             string
	}
	readable := reply.Decode(&answer)
	switch {
	case reply.Class != notify.NoFailure:
		reply.AddReason(answer.Error)
	case !readable:
		reply.SetFailure(notify.Retry, "the answer is not one of Slack's API")
	case rejected[answer.Error]:
		reply.SetFailure(notify.Rejected, "Slack: "+answer.Error)
	case !answer.OK:
		reply.SetFailure(notify.Retry, "Slack: "+answer.Error)
	case answer.TS != "":
		reply.Ref = answer.Channel + "/" + answer.TS
	}
	return reply.Result, answer.Error
}

func (s *Sender) sendToWebhook(ctx context.Context, d notify.Destination, m message.Message) message.Result {
	reply := s.client.Do(ctx, d, notifier.Request{URL: d.Secrets["webhook_url"], JSON: payload(m)})
	if reply.Class != notify.NoFailure {
		reply.AddReason(reply.Text()) // such as no_service
	}
	return reply.Result
}

// body is the body of chat.postMessage, chat.update and a webhook.
type body struct {
	Channel     string  `json:"channel,omitempty"`
	TS          string  `json:"ts,omitempty"`
	ThreadTS    string  `json:"thread_ts,omitempty"`
	Broadcast   bool    `json:"reply_broadcast,omitempty"`
	Text        string  `json:"text"` // of notifications
	Blocks      []block `json:"blocks"`
	UnfurlLinks bool    `json:"unfurl_links"`
	UnfurlMedia bool    `json:"unfurl_media"`
}

type block struct {
	Type     string `json:"type"`
	Text     *text  `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	AltText  string `json:"alt_text,omitempty"`
}

type text struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Emoji *bool  `json:"emoji,omitempty"` // false leaves :codes: as they are; only of plain text
}

// payload writes a message. Lines are plain text, because mrkdwn cannot be escaped. Links
// are no buttons: Slack warns at each button of an app that does not answer clicks.
func payload(m message.Message) body {
	title := plaintext.Clean(m.Title)
	p := body{Text: markup(plaintext.Cut(title, maxHeader, utf8.RuneCountInString))}
	p.Blocks = append(p.Blocks, plain("header", title, maxHeader))
	if lines := strings.Join(notifier.Lines(m), "\n"); lines != "" {
		p.Blocks = append(p.Blocks, plain("section", lines, maxSection))
	}
	var links []string
	size := 0
	for _, l := range notifier.Links(m) {
		link := "<" + escapeURL.Replace(l.URL) + "|" + markup(plaintext.Cut(l.Text, maxLink, utf8.RuneCountInString)) + ">"
		if n := utf8.RuneCountInString(link) + len(linkGap); size+n <= maxSection {
			links = append(links, link)
			size += n
		}
	}
	if len(links) > 0 {
		p.Blocks = append(p.Blocks, block{Type: "section", Text: &text{Type: "mrkdwn", Text: strings.Join(links, linkGap)}})
	}
	if m.Picture != nil && m.Picture.URL != "" && len(m.Picture.URL) <= maxURL {
		alt := plaintext.Cut(plaintext.Clean(m.Picture.Alt), maxAlt, utf8.RuneCountInString)
		if alt == "" {
			alt = "-" // required
		}
		p.Blocks = append(p.Blocks, block{Type: "image", ImageURL: m.Picture.URL, AltText: alt})
	}
	return p
}

// linkGap is between two links.
const linkGap = "  "

func plain(kind, s string, most int) block {
	s = plaintext.Cut(s, most, plaintext.AfterEscaping(escape.Replace, utf8.RuneCountInString))
	return block{Type: kind, Text: &text{Type: "plain_text", Text: escape.Replace(s), Emoji: new(bool)}}
}

var (
	escape    = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	escapeURL = strings.NewReplacer("&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C")

	// A character without width behind a mark keeps it from formatting.
	unmark = strings.NewReplacer("*", "*\u200b", "_", "_\u200b", "~", "~\u200b", "`", "`\u200b", "|", "|\u200b", ":", ":\u200b")
)

// markup escapes a text for mrkdwn.
func markup(s string) string { return unmark.Replace(escape.Replace(s)) }
