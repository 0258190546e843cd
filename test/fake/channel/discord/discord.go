// Package discord fakes webhooks of Discord.
package discord

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
)

const (
	webhookID = "223704706495545344"
	path      = "/api/webhooks/" + webhookID + "/geheim-3d89bb7572e0fb30d8128367b3b1b44fecd1726"
)

// Limits of Discord.
const (
	maxContent, maxEmbeds, maxDescription, maxEmbedText, maxFile = 2000, 10, 4096, 6000, 10 << 20
)

// Server fakes Discord.
type Server struct{ *channel.Server }

// New starts a server. Close ends it.
func New() *Server {
	s := &Server{}
	s.Server = channel.NewServer(map[string]channel.Handler{
		"POST " + path:                     s.execute,
		"PATCH " + path + "/messages/{id}": s.edit,
		"/api/webhooks/": func(r *http.Request) channel.Answer {
			if strings.HasPrefix(r.URL.Path, "/api/webhooks/"+webhookID+"/") {
				return answer(http.StatusUnauthorized, 50027, "Invalid Webhook Token")
			}
			return answer(http.StatusNotFound, 10015, "Unknown Webhook")
		},
	}, refuse)
	s.NumberFormat = func(n int) string { return fmt.Sprintf("11000000000000%04d", n) }
	return s
}

// WebhookURL returns the URL of the webhook.
func (s *Server) WebhookURL() string { return s.URL + path }

func answer(status, code int, text string) channel.Answer {
	return channel.Answer{Status: status, Body: map[string]any{"message": text, "code": code}}
}

func refuse(status int, after time.Duration) channel.Answer {
	switch status {
	case http.StatusTooManyRequests:
		// A header has the same in whole seconds. The body is exact.
		return channel.Answer{Status: status, Body: map[string]any{"message": "You are being rate limited.", "retry_after": after.Seconds() - 0.36, "global": false}}
	case http.StatusBadRequest:
		return answer(status, 50035, "Invalid Form Body")
	}
	return answer(status, 0, fmt.Sprint(status, ": ", http.StatusText(status)))
}

type payload struct {
	Content string `json:"content"`
	Embeds  []struct {
		Title, Description, Timestamp string
		Image                         struct{ URL string }
	}
	AllowedMentions *struct{ Parse []string } `json:"allowed_mentions"`
	Attachments     *[]struct {
		ID          any
		Filename    string
		Description string
	}
	Flags int
}

func (s *Server) execute(r *http.Request) channel.Answer {
	m, p, refusal := read(r)
	if refusal != nil {
		return *refusal
	}
	m.Sound = p.Flags&(1<<12) == 0 // SUPPRESS_NOTIFICATIONS
	m = s.Post(m)
	if r.URL.Query().Get("wait") != "true" {
		return channel.Answer{Status: http.StatusNoContent}
	}
	return channel.OK(map[string]any{"id": m.ID, "content": m.Text, "webhook_id": webhookID})
}

func (s *Server) edit(r *http.Request) channel.Answer {
	m, p, refusal := read(r)
	if refusal != nil {
		return *refusal
	}
	id := r.PathValue("id")
	if p.Attachments == nil && m.Picture == "" { // those of before stay
		s.Edit(id, func(old *channel.Message) { m.Picture, m.Alt = old.Picture, old.Alt })
	}
	if !s.Replace(id, m) {
		return answer(http.StatusNotFound, 10008, "Unknown Message")
	}
	return channel.OK(map[string]any{"id": id})
}

// read reads a body of JSON, or a form with payload_json and files. It returns the message as people
// see it, or why it is refused.
func read(r *http.Request) (m channel.Message, p payload, refusal *channel.Answer) {
	refused := func(status, code int, text string) (channel.Message, payload, *channel.Answer) {
		a := answer(status, code, text)
		return m, p, &a
	}
	sizes := map[string]int{}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		if json.NewDecoder(r.Body).Decode(&p) != nil {
			return refused(http.StatusBadRequest, 50109, "The request body contains invalid JSON.")
		}
	} else {
		fields, files, err := channel.ReadForm(r)
		if err != nil || json.Unmarshal([]byte(fields["payload_json"]), &p) != nil {
			return refused(http.StatusBadRequest, 50035, "Invalid Form Body")
		}
		for _, f := range files {
			if sizes[f.Name] = f.Size; f.Size > maxFile {
				return refused(http.StatusRequestEntityTooLarge, 40005, "Request entity too large")
			}
		}
	}
	m, problem := render(p, sizes)
	if problem != "" {
		return refused(http.StatusBadRequest, 50035, "Invalid Form Body: "+problem)
	}
	return m, p, nil
}

// render checks the limits and returns the message as people see it.
func render(p payload, files map[string]int) (m channel.Message, refusal string) {
	total := 0
	switch {
	case utf8.RuneCountInString(p.Content) > maxContent:
		return m, "content: Must be 2000 or fewer in length."
	case len(p.Embeds) > maxEmbeds:
		return m, "embeds: Must be 10 or fewer in length."
	case p.Content == "" && len(p.Embeds) == 0 && len(files) == 0:
		return m, "Cannot send an empty message"
	}
	if p.Attachments != nil {
		for _, a := range *p.Attachments {
			m.Alt = a.Description
			if size, ok := files[a.Filename]; ok {
				m.Picture = fmt.Sprint(size, " bytes")
			}
		}
	}
	pings := p.AllowedMentions == nil || len(p.AllowedMentions.Parse) > 0
	markdown(&m, p.Content, pings)
	for _, e := range p.Embeds {
		if utf8.RuneCountInString(e.Description) > maxDescription {
			return m, "description: Must be 4096 or fewer in length."
		}
		total += utf8.RuneCountInString(e.Title + e.Description)
		if total > maxEmbedText {
			return m, "embeds: Embed size exceeds maximum size of 6000"
		}
		if e.Timestamp != "" {
			if _, err := time.Parse(time.RFC3339, e.Timestamp); err != nil {
				return m, "timestamp: Could not parse"
			}
		}
		m.Text += "\n"
		markdown(&m, e.Description, false) // an embed notifies nobody, and yet it looks like a mention
		switch name, attached := strings.CutPrefix(e.Image.URL, "attachment://"); {
		case attached:
			if _, ok := files[name]; !ok {
				return m, "image: the attachment is missing"
			}
		case e.Image.URL != "":
			m.Picture = e.Image.URL
		}
	}
	m.Text = strings.TrimSpace(channel.Visible(m.Text))
	return m, ""
}

var (
	escaped = regexp.MustCompile(`\\([^0-9A-Za-z\s])`)
	bare    = regexp.MustCompile(`<(https?://[^<>\s]+)>`)
	mention = regexp.MustCompile(`<(@[!&]?|#)\d+>|<@\w+>|@everyone|@here`)
	link    = regexp.MustCompile(`\[([^\[\]]*)\]\(([^()\s]*)\)`)
	marks   = regexp.MustCompile("\\*\\*|~~|__|\\|\\||[*_`]|(?m:^(#|>|-) )")
)

// markdown appends text with the marks of Markdown applied.
func markdown(m *channel.Message, s string, pings bool) {
	// Escaped characters are put aside in a range of private characters.
	s = escaped.ReplaceAllStringFunc(s, func(s string) string {
		r, _ := utf8.DecodeRuneInString(s[1:])
		return string(0xf0000 + r)
	})
	shown := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r > 0xf0000 {
				return r - 0xf0000
			}
			return r
		}, s)
	}
	if pings { // whatever is escaped
		m.Mentions += len(mention.FindAllString(shown(s), -1))
	}
	m.Mentions += strings.Count(s, "<@")
	s = bare.ReplaceAllString(s, "$1")
	s = link.ReplaceAllStringFunc(s, func(s string) string {
		parts := link.FindStringSubmatch(s)
		text := shown(marks.ReplaceAllString(parts[1], ""))
		m.Links = append(m.Links, channel.Link{Text: text, URL: shown(parts[2])})
		return strings.Map(func(r rune) rune {
			if r < 0x10000 {
				r += 0xf0000 // formatted once
			}
			return r
		}, text)
	})
	m.Text += shown(marks.ReplaceAllString(s, ""))
}
