// Package slack fakes Slack: its Web API for bots, and an incoming webhook.
package slack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
)

// Credentials and channels that the fake accepts.
const (
	Token       = "xoxb-1234567890-geheim-slack"
	Channel     = "#alerts"
	ChannelID   = "C0123456789"
	webhookPath = "/services/T00000000/B00000000/geheimXXXXXXXXXXXXXXXXXX"
)

// Limits of Slack, in characters.
const (
	maxBlocks, maxSection, maxHeader, maxText, maxURL, maxAlt = 50, 3000, 150, 40000, 3000, 2000
)

// Server fakes Slack.
type Server struct {
	*channel.Server

	// BadPictures makes it fail to download pictures, which it reports as invalid blocks.
	BadPictures bool
}

// New starts a server. Close ends it.
func New() *Server {
	s := &Server{}
	s.Server = channel.NewServer(map[string]channel.Handler{
		"POST /api/chat.postMessage": api(s.post),
		"POST /api/chat.update":      api(s.update),
		"POST " + webhookPath:        s.webhook,
		"POST /services/": func(*http.Request) channel.Answer {
			return channel.Answer{Status: http.StatusNotFound, Body: "no_service"}
		},
	}, refuse)
	s.NumberFormat = func(n int) string { return fmt.Sprintf("1700000000.%06d", n) }
	return s
}

// APIURL returns the base of the Web API.
func (s *Server) APIURL() string { return s.URL + "/api" }

// WebhookURL returns the URL of the incoming webhook.
func (s *Server) WebhookURL() string { return s.URL + webhookPath }

func refuse(status int, after time.Duration) channel.Answer {
	name := map[int]string{400: "invalid_arguments", 410: "channel_is_archived", 429: "ratelimited", 500: "internal_error", 503: "service_unavailable"}[status]
	return channel.Answer{Status: status, After: after, Body: map[string]any{"ok": false, "error": name}}
}

type block struct {
	Type     string
	Text     struct{ Type, Text string }
	ImageURL string `json:"image_url"`
	AltText  string `json:"alt_text"`
}

type request struct {
	Channel   string  `json:"channel"`
	TS        string  `json:"ts"`
	ThreadTS  string  `json:"thread_ts"`
	Broadcast bool    `json:"reply_broadcast"`
	Text      string  `json:"text"`
	Blocks    []block `json:"blocks"`
}

// api checks what all methods check. Errors come with status 200.
func api(method func(request) (channel.Message, string)) channel.Handler {
	return func(r *http.Request) channel.Answer {
		var req request
		refusal := ""
		switch {
		case r.Header.Get("Authorization") == "":
			refusal = "not_authed"
		case r.Header.Get("Authorization") != "Bearer "+Token:
			refusal = "invalid_auth"
		case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
			refusal = "invalid_post_type"
		case json.NewDecoder(r.Body).Decode(&req) != nil:
			refusal = "invalid_json"
		case req.Channel != Channel && req.Channel != ChannelID:
			refusal = "channel_not_found"
		}
		var m channel.Message
		if refusal == "" {
			m, refusal = method(req)
		}
		if refusal != "" {
			return channel.OK(map[string]any{"ok": false, "error": refusal})
		}
		return channel.OK(map[string]any{"ok": true, "channel": ChannelID, "ts": m.ID})
	}
}

func (s *Server) post(req request) (channel.Message, string) {
	m, refusal := s.render(req)
	if refusal != "" {
		return m, refusal
	}
	m.Sound = req.ThreadTS == "" || req.Broadcast
	m.ReplyTo = req.ThreadTS
	return s.Post(m), ""
}

func (s *Server) update(req request) (channel.Message, string) {
	if req.Channel != ChannelID {
		return channel.Message{}, "channel_not_found" // chat.update wants the ID
	}
	m, refusal := s.render(req)
	if refusal != "" {
		return m, refusal
	}
	m.ID = req.TS
	if !s.Replace(m.ID, m) {
		return m, "message_not_found"
	}
	return m, ""
}

// webhook answers in plain text, with the status of the error.
func (s *Server) webhook(r *http.Request) channel.Answer {
	var req request
	if json.NewDecoder(r.Body).Decode(&req) != nil {
		return channel.Answer{Status: http.StatusBadRequest, Body: "invalid_payload"}
	}
	if _, refusal := s.post(req); refusal != "" {
		return channel.Answer{Status: http.StatusBadRequest, Body: refusal}
	}
	return channel.Answer{Status: http.StatusOK, Body: "ok"}
}

// render checks the limits and returns the message as people see it.
func (s *Server) render(req request) (m channel.Message, refusal string) {
	switch {
	case utf8.RuneCountInString(req.Text) > maxText:
		return m, "msg_too_long"
	case len(req.Blocks) == 0 || len(req.Blocks) > maxBlocks:
		return m, "invalid_blocks"
	}
	for _, b := range req.Blocks {
		if !s.renderBlock(&m, b) {
			return m, "invalid_blocks"
		}
	}
	var preview channel.Message
	markup(&preview, req.Text)
	m.Mentions += preview.Mentions
	m.Text = strings.TrimSpace(m.Text)
	return m, ""
}

// renderBlock takes what has one text, and pictures.
func (s *Server) renderBlock(m *channel.Message, b block) (valid bool) {
	most := maxSection
	switch {
	case b.Type == "image":
		u, err := url.Parse(b.ImageURL)
		if err != nil || u.Host == "" || len(b.ImageURL) > maxURL || b.AltText == "" || utf8.RuneCountInString(b.AltText) > maxAlt || s.BadPictures {
			return false
		}
		m.Picture, m.Alt = b.ImageURL, b.AltText
		return true
	case b.Type == "header" && b.Text.Type == "plain_text":
		most = maxHeader
	case b.Type != "section":
		return false
	}
	if n := utf8.RuneCountInString(b.Text.Text); n == 0 || n > most {
		return false
	}
	switch b.Text.Type {
	case "plain_text":
		m.Text += unescape(b.Text.Text) + "\n"
	case "mrkdwn":
		markup(m, b.Text.Text)
		m.Text += "\n"
	default:
		return false
	}
	return true
}

var (
	special = regexp.MustCompile(`<([^<>]*)>`)
	styled  = regexp.MustCompile("(^|[^\\w*])([*_~`])([^\\s\\p{Cf}*_~`][^*_~`]*)([*_~`])")
)

// markup appends mrkdwn to a message, as people see it. Nothing is styled in an address.
func markup(m *channel.Message, text string) {
	for text != "" {
		at := special.FindStringIndex(text)
		if at == nil {
			at = []int{len(text), len(text)}
		}
		m.Text += unescape(styled.ReplaceAllString(text[:at[0]], "$1$3"))
		if at[0] < at[1] {
			m.Text += unescape(mention(m, text[at[0]+1:at[1]-1]))
		}
		text = text[at[1]:]
	}
}

// mention counts what was between < and > as a mention or a link, and returns what people see.
func mention(m *channel.Message, inner string) string {
	if strings.HasPrefix(inner, "!") || strings.HasPrefix(inner, "@") || strings.HasPrefix(inner, "#") {
		m.Mentions++
		return "@" + inner
	}
	to, label, has := strings.Cut(inner, "|")
	if !has {
		label = to
	}
	label = styled.ReplaceAllString(label, "$1$3")
	m.Links = append(m.Links, channel.Link{Text: unescape(label), URL: unescape(to)})
	return label
}

func unescape(s string) string {
	return channel.Visible(strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s))
}
