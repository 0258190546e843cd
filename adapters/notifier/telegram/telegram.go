// Package telegram sends messages as a bot of Telegram and edits them.
package telegram

import (
	"context"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/notifier"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/message/plaintext"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const defaultAPI = "https://api.telegram.org"

// Limits of Telegram, in units of UTF-16 after the HTML was parsed.
const (
	maxText    = 4096
	maxCaption = 1024
	maxTitle   = 256
	maxLabel   = 64 // of a link
	maxPhoto   = 10 << 20
)

// Sender sends messages to Telegram.
type Sender struct{ client *notifier.Client }

var _ message.Sender = (*Sender)(nil)

// New returns a sender.
func New(client *notifier.Client) *Sender { return &Sender{client: client} }

// Send implements message.Sender.
func (s *Sender) Send(ctx context.Context, d notify.Destination, m message.Message) message.Result {
	return s.client.Send(ctx, m, func(ctx context.Context, m message.Message) message.Result {
		return notifier.SendEditing(ctx, bot{s.client, d}, m)
	})
}

// bot sends to a destination. A Ref of it is the String of a ref.
type bot struct {
	client *notifier.Client
	to     notify.Destination
}

// Post implements notifier.EditingSender. A group that has become a supergroup gets the message
// there at once. The Ref then names the supergroup.
func (b bot) Post(ctx context.Context, m message.Message) message.Result {
	r, a := b.call(ctx, post(b.to.Config["chat_id"], m))
	if chat := a.Parameters.MigrateTo; chat != 0 {
		r, _ = b.call(ctx, post(strconv.FormatInt(chat, 10), m))
	}
	return r
}

// Push implements notifier.EditingSender.
func (b bot) Push(ctx context.Context, m message.Message) message.Result {
	of := parseRef(m.Ref)
	m.Lines, m.Picture = nil, nil
	c := post(of.chat, m)
	c.fields["reply_parameters"] = map[string]any{"message_id": of.message, "allow_sending_without_reply": true}
	r, _ := b.call(ctx, c)
	return r
}

// Edit implements notifier.EditingSender.
func (b bot) Edit(ctx context.Context, m message.Message) (r message.Result, notEditable bool) {
	of := parseRef(m.Ref)
	c := edit(of, m)
	r, a := b.call(ctx, c)
	if strings.Contains(a.Description, "message is not modified") {
		r.Class, r.Error = notify.NoFailure, ""
	}
	if r.Class == notify.NoFailure {
		of.photo = of.photo || c.photo != nil
		r.Ref = of.String()
	}
	return r, false
}

// repairable matches errors with status 400 that a person may repair.
var repairable = regexp.MustCompile(`chat not found|not enough rights|need administrator rights|have no rights|kicked|not a member|TOPIC_|thread not found|CHAT_`)

// ref names a message.
type ref struct {
	chat    string
	message int
	photo   bool // it is a photo with a caption, not a text
}

func (r ref) String() string { return fmt.Sprintf("%s/%d/%t", r.chat, r.message, r.photo) }

func parseRef(s string) (r ref) {
	parts := strings.Split(s, "/")
	if len(parts) == 3 {
		r.chat, r.photo = parts[0], parts[2] == "true"
		r.message, _ = strconv.Atoi(parts[1]) // 0 is no message
	}
	return r
}

// call is a call of a method of the Bot API.
type call struct {
	method string
	fields map[string]any
	photo  *message.Picture // that is uploaded or named by its URL; nil: there is none
}

// post returns the call that posts a message.
func post(chat string, m message.Message) call {
	c := call{method: "sendMessage", fields: map[string]any{"chat_id": chat, "parse_mode": "HTML", "disable_notification": !m.Push}}
	if c.photo = photo(m); c.photo != nil {
		c.method = "sendPhoto"
		c.fields["caption"] = render(m, maxCaption)
		if len(c.photo.Bytes) == 0 {
			c.fields["photo"] = c.photo.URL
		}
		return c
	}
	c.fields["text"] = render(m, maxText)
	c.fields["link_preview_options"] = map[string]bool{"is_disabled": true}
	return c
}

// edit returns the call that changes a message. A text can become a photo, and never a
// text again.
func edit(to ref, m message.Message) call {
	c := call{fields: map[string]any{"chat_id": to.chat, "message_id": to.message}}
	c.photo = photo(m)
	switch {
	case c.photo != nil:
		c.method = "editMessageMedia"
		media := "attach://photo"
		if len(c.photo.Bytes) == 0 {
			media = c.photo.URL
		}
		c.fields["media"] = map[string]string{"type": "photo", "media": media, "caption": render(m, maxCaption), "parse_mode": "HTML"}
	case to.photo:
		c.method = "editMessageCaption"
		c.fields["caption"], c.fields["parse_mode"] = render(m, maxCaption), "HTML"
	default:
		c.method = "editMessageText"
		c.fields["text"], c.fields["parse_mode"] = render(m, maxText), "HTML"
		c.fields["link_preview_options"] = map[string]bool{"is_disabled": true}
	}
	return c
}

// photo returns the picture of a message if Telegram takes it.
func photo(m message.Message) *message.Picture {
	p := m.Picture
	if p == nil || len(p.Bytes) > maxPhoto || len(p.Bytes) == 0 && p.URL == "" {
		return nil
	}
	return p
}

// answer is that of the Bot API.
type answer struct {
	Description string // of the error
	Parameters  struct {
		RetryAfter int   `json:"retry_after"` // seconds
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	}
	Result struct {
		MessageID int `json:"message_id"`
		Chat      struct{ ID int64 }
	}
}

// call makes a call.
func (b bot) call(ctx context.Context, c call) (message.Result, answer) {
	api := strings.TrimSuffix(b.to.Config["api_url"], "/")
	if api == "" {
		api = defaultAPI
	}
	req := notifier.Request{URL: api + "/bot" + b.to.Secrets["bot_token"] + "/" + c.method, JSON: c.fields}
	if c.photo != nil && len(c.photo.Bytes) > 0 {
		for name, value := range c.fields {
			part := notifier.FormPart{Name: name, JSON: value}
			if text, ok := value.(string); ok {
				part = notifier.FormPart{Name: name, Text: text}
			}
			req.Form = append(req.Form, part)
		}
		req.Form = append(req.Form, notifier.FormPart{Name: "photo", FileName: notifier.FileName(*c.photo), ContentType: c.photo.MediaType, Bytes: c.photo.Bytes})
	}
	reply := b.client.Do(ctx, b.to, req)
	var a answer
	readable := reply.Decode(&a)
	reply.RetryAfter = max(reply.RetryAfter, time.Duration(min(a.Parameters.RetryAfter, 86400))*time.Second)
	switch {
	case reply.Class == notify.NoFailure && !readable:
		reply.SetFailure(notify.Retry, "the answer is not one of the Bot API")
	case reply.Class == notify.NoFailure && a.Result.MessageID != 0:
		reply.Ref = ref{chat: strconv.FormatInt(a.Result.Chat.ID, 10), message: a.Result.MessageID, photo: c.photo != nil}.String()
	case a.Parameters.MigrateTo != 0:
		reply.SetFailure(notify.Retry, fmt.Sprintf("the group has become a supergroup; set chat_id to %d", a.Parameters.MigrateTo))
	case reply.Class == notify.Rejected && repairable.MatchString(a.Description):
		reply.SetFailure(notify.Retry, a.Description)
	case reply.Class != notify.NoFailure:
		reply.AddReason(a.Description)
	}
	return reply.Result, a
}

// render writes a message in the HTML of Telegram. Only what people see counts for the limit.
func render(m message.Message, most int) string {
	title := plaintext.Cut(unmention.Replace(plaintext.Clean(m.Title)), maxTitle, plaintext.UTF16Length)
	most -= plaintext.UTF16Length(title)
	var links strings.Builder
	for _, l := range notifier.Links(m) {
		label := plaintext.Cut(unmention.Replace(l.Text), maxLabel, plaintext.UTF16Length)
		links.WriteString("\n<a href=\"" + html.EscapeString(l.URL) + "\">" + escape.Replace(label) + "</a>")
		most -= plaintext.UTF16Length("\n" + label)
	}
	lines := ""
	for _, l := range notifier.Lines(m) {
		lines += "\n" + l
	}
	lines = plaintext.Cut(unmention.Replace(lines), most, plaintext.UTF16Length)
	return "<b>" + escape.Replace(title) + "</b>" + escape.Replace(lines) + links.String()
}

var (
	escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

	// A character without width keeps Telegram from finding mentions, which HTML does not.
	unmention = strings.NewReplacer("@", "@\u200b")
)
