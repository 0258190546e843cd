// Package teams fakes a workflow of Microsoft Teams that posts what it receives to a channel.
package teams

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
)

const (
	path      = "/powerautomate/automations/direct/workflows/8b0a3c/triggers/manual/paths/invoke"
	signature = "geheimSignatureOfTheWorkflow0123456789"
)

// maxMessage limits a message, in bytes.
const maxMessage = 28 << 10

// Server fakes a workflow.
type Server struct{ *channel.Server }

// New starts a server. Close ends it.
func New() *Server {
	s := &Server{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+path, s.invoke)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusNotFound, "WorkflowNotFound", "The workflow could not be found.")
	})
	s.Server = channel.NewServer(mux, refuse)
	return s
}

// WorkflowURL returns the URL of the workflow.
func (s *Server) WorkflowURL() string {
	return s.URL + path + "?api-version=1&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=" + signature
}

func answer(w http.ResponseWriter, status int, code, text string) {
	channel.JSON(w, status, map[string]any{"error": map[string]any{"code": code, "message": text}})
}

func refuse(w http.ResponseWriter, status int, after time.Duration) {
	channel.RetryAfter(w, after)
	answer(w, status, strings.ReplaceAll(http.StatusText(status), " ", ""), fmt.Sprintf("The request was answered with %d.", status))
}

type element struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	URL     string          `json:"url"`
	AltText string          `json:"altText"`
	Inlines []element       `json:"inlines"`
	Title   string          `json:"title"`
	MSTeams json.RawMessage `json:"msteams"`
}

type card struct {
	Type    string    `json:"type"`
	Version string    `json:"version"`
	Body    []element `json:"body"`
	Actions []element `json:"actions"`
	MSTeams struct {
		Entities []any `json:"entities"`
	} `json:"msteams"`
}

func (s *Server) invoke(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("sig") != signature {
		answer(w, http.StatusUnauthorized, "DirectApiAuthorizationRequired", "The request must be authenticated by Shared Access scheme.")
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || len(body) > maxMessage {
		answer(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", "The message is too large.")
		return
	}
	var req struct {
		Type        string `json:"type"`
		Attachments []struct {
			ContentType string `json:"contentType"`
			Content     card   `json:"content"`
		} `json:"attachments"`
	}
	if json.Unmarshal(body, &req) != nil || req.Type != "message" || len(req.Attachments) != 1 ||
		req.Attachments[0].ContentType != "application/vnd.microsoft.card.adaptive" {
		answer(w, http.StatusBadRequest, "TriggerInputSchemaMismatch", "The input body for trigger 'manual' did not match its schema definition.")
		return
	}
	// The workflow answers before it posts the card, valid or not.
	w.WriteHeader(http.StatusAccepted)
	if m, valid := render(req.Attachments[0].Content); valid {
		m.Sound = true
		s.Post(m)
	}
}

func render(c card) (m channel.Message, valid bool) {
	if c.Type != "AdaptiveCard" || c.Version > "1.4" || len(c.Actions) > 6 {
		return m, false
	}
	m.Mentions = len(c.MSTeams.Entities)
	for _, e := range c.Body {
		switch e.Type {
		case "TextBlock":
			m.Text += markdown(&m, e.Text) + "\n"
		case "RichTextBlock":
			for _, run := range e.Inlines {
				if run.Type != "TextRun" {
					return m, false
				}
				m.Text += macro.ReplaceAllString(run.Text, "a date")
			}
			m.Text += "\n"
		case "Image":
			if u, err := url.Parse(e.URL); err != nil || u.Scheme != "https" {
				return m, false
			}
			m.Picture, m.Alt = e.URL, e.AltText
		default:
			return m, false
		}
	}
	for _, a := range c.Actions {
		if a.Type != "Action.OpenUrl" || a.Title == "" {
			return m, false
		}
		m.Links = append(m.Links, channel.Link{Text: a.Title, URL: a.URL})
	}
	m.Text = strings.TrimSpace(channel.Visible(m.Text))
	return m, true
}

var (
	macro = regexp.MustCompile(`\{\{(DATE|TIME)\([^)]*\)\}\}`)
	link  = regexp.MustCompile(`\[([^\[\]]*)\]\(([^()]*)\)`)
	marks = regexp.MustCompile(`[*_]`)
)

func markdown(m *channel.Message, s string) string {
	s = link.ReplaceAllStringFunc(macro.ReplaceAllString(s, "a date"), func(s string) string {
		parts := link.FindStringSubmatch(s)
		m.Links = append(m.Links, channel.Link{Text: parts[1], URL: parts[2]})
		return parts[1]
	})
	return marks.ReplaceAllString(s, "")
}
