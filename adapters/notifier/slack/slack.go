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
		return notifier.Thread{
			Post: func(ctx context.Context, m message.Message) message.Result {
				p := payload(m)
				p.Channel = d.Config["channel"]
				r, _ := s.call(ctx, d, "chat.postMessage", p)
				return r
			},
			Push: func(ctx context.Context, m message.Message) message.Result {
				m.Lines, m.Picture = nil, nil
				p := payload(m)
				p.Channel, p.ThreadTS, _ = strings.Cut(m.Ref, "/")
				p.Broadcast = true
				r, _ := s.call(ctx, d, "chat.postMessage", p)
				return r
			},
			Edit: func(ctx context.Context, m message.Message) (message.Result, bool) {
				p := payload(m)
				p.Channel, p.TS, _ = strings.Cut(m.Ref, "/")
				r, refusal := s.call(ctx, d, "chat.update", p)
				return r, cannotEdit[refusal]
			},
		}.Send(ctx, m)
	})
}

// cannotEdit are the errors of chat.update after which a new message is posted.
var cannotEdit = map[string]bool{
	"message_not_found": true, "cant_update_message": true, "edit_window_closed": true,
	"channel_not_found": true, "is_archived": true, "is_inactive": true,
}

// rejected are the errors of a message that is never accepted.
var rejected = map[string]bool{
	"invalid_blocks": true, "invalid_blocks_format": true, "invalid_arguments": true,
	"msg_too_long": true, "msg_blocks_too_long": true, "no_text": true,
}

// call calls a method of the Web API. A failure has status 200, too.
func (s *Sender) call(ctx context.Context, d notify.Destination, method string, p body) (r message.Result, refusal string) {
	api := strings.TrimSuffix(d.Config["api_url"], "/")
	if api == "" {
		api = defaultAPI
	}
	reply := s.client.Do(ctx, d, notifier.Request{
		URL:    api + "/" + method,
		Header: map[string]string{"Authorization": "Bearer " + d.Secrets["bot_token"]},
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
		reply.Explain(answer.Error)
	case !readable:
		reply.Fail(notify.Retry, "the answer is not one of Slack's API")
	case rejected[answer.Error]:
		reply.Fail(notify.Rejected, "Slack: "+answer.Error)
	case !answer.OK:
		reply.Fail(notify.Retry, "Slack: "+answer.Error)
	case answer.TS != "":
		reply.Ref = answer.Channel + "/" + answer.TS
	}
	return reply.Result, answer.Error
}

func (s *Sender) sendToWebhook(ctx context.Context, d notify.Destination, m message.Message) message.Result {
	reply := s.client.Do(ctx, d, notifier.Request{URL: d.Secrets["webhook_url"], JSON: payload(m)})
	if reply.Class != notify.NoFailure {
		reply.Explain(reply.Text()) // such as no_service
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
	title := notifier.Clean(m.Title)
	p := body{Text: markup(notifier.Cut(title, maxHeader, utf8.RuneCountInString))}
	p.Blocks = append(p.Blocks, plain("header", title, maxHeader))
	if lines := strings.Join(notifier.Lines(m), "\n"); lines != "" {
		p.Blocks = append(p.Blocks, plain("section", lines, maxSection))
	}
	var links []string
	for _, l := range notifier.Links(m) {
		link := "<" + escapeURL.Replace(l.URL) + "|" + markup(notifier.Cut(l.Text, maxLink, utf8.RuneCountInString)) + ">"
		if size := utf8.RuneCountInString(strings.Join(append(links, link), "  ")); size <= maxSection {
			links = append(links, link)
		}
	}
	if len(links) > 0 {
		p.Blocks = append(p.Blocks, block{Type: "section", Text: &text{Type: "mrkdwn", Text: strings.Join(links, "  ")}})
	}
	if m.Picture != nil && m.Picture.URL != "" && len(m.Picture.URL) <= maxURL {
		alt := notifier.Cut(notifier.Clean(m.Picture.Alt), maxAlt, utf8.RuneCountInString)
		if alt == "" {
			alt = "-" // required
		}
		p.Blocks = append(p.Blocks, block{Type: "image", ImageURL: m.Picture.URL, AltText: alt})
	}
	return p
}

func plain(kind, s string, most int) block {
	s = notifier.Cut(s, most, notifier.Escaped(escape.Replace, utf8.RuneCountInString))
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
