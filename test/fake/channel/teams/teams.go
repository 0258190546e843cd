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
	s.Server = channel.NewServer(map[string]channel.Handler{
		"POST " + path: s.invoke,
		"/": func(*http.Request) channel.Answer {
			return answer(http.StatusNotFound, "WorkflowNotFound", "The workflow could not be found.")
		},
	}, refuse)
	return s
}

// WorkflowURL returns the URL of the workflow.
func (s *Server) WorkflowURL() string {
	return s.URL + path + "?api-version=1&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=" + signature
}

func answer(status int, code, text string) channel.Answer {
	return channel.Answer{Status: status, Body: map[string]any{"error": map[string]any{"code": code, "message": text}}}
}

func refuse(status int, after time.Duration) channel.Answer {
	a := answer(status, strings.ReplaceAll(http.StatusText(status), " ", ""), fmt.Sprintf("The request was answered with %d.", status))
	a.After = after
	return a
}

type element struct {
	Type, Text, URL, AltText, Title string
	Inlines                         []element
}

type card struct {
	Type, Version string
	Body, Actions []element
	MSTeams       struct{ Entities []any }
}

func (s *Server) invoke(r *http.Request) channel.Answer {
	if r.URL.Query().Get("sig") != signature {
		return answer(http.StatusUnauthorized, "DirectApiAuthorizationRequired", "The request must be authenticated by Shared Access scheme.")
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || len(body) > maxMessage {
		return answer(http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", "The message is too large.")
	}
	var req struct {
		Type        string
		Attachments []struct {
			ContentType string
			Content     card
		}
	}
	if json.Unmarshal(body, &req) != nil || req.Type != "message" || len(req.Attachments) != 1 ||
		req.Attachments[0].ContentType != "application/vnd.microsoft.card.adaptive" {
		return answer(http.StatusBadRequest, "TriggerInputSchemaMismatch", "The input body for trigger 'manual' did not match its schema definition.")
	}
	// The workflow answers before it posts the card, valid or not.
	if m, valid := render(req.Attachments[0].Content); valid {
		m.Sound = true
		s.Post(m)
	}
	return channel.Answer{Status: http.StatusAccepted}
}

// render returns a card as people see it. It takes what has no Markdown: text blocks are not valid.
func render(c card) (m channel.Message, valid bool) {
	if c.Type != "AdaptiveCard" || c.Version > "1.4" || len(c.Actions) > 6 {
		return m, false
	}
	m.Mentions = len(c.MSTeams.Entities)
	for _, e := range c.Body {
		switch e.Type {
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

var macro = regexp.MustCompile(`\{\{(DATE|TIME)\([^)]*\)\}\}`)
