// Package pagerduty fakes the Events API v2 of PagerDuty.
package pagerduty

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
)

// RoutingKey is the integration key that the fake accepts.
const RoutingKey = "geheim0123456789abcdef0123456789"

// Limits of PagerDuty.
const (
	maxSummary, maxKey, maxBody, keyLength = 1024, 255, 512 << 10, 32
)

// Server fakes PagerDuty.
type Server struct{ *channel.Server }

// New starts a server. Close ends it.
func New() *Server {
	s := &Server{}
	s.Server = channel.NewServer(map[string]channel.Handler{"POST /v2/enqueue": s.enqueue}, refuse)
	return s
}

func invalid(errors ...string) channel.Answer {
	return channel.Answer{Status: http.StatusBadRequest, Body: map[string]any{"status": "invalid event", "message": "Event object is invalid", "errors": errors}}
}

func refuse(status int, after time.Duration) channel.Answer {
	a := channel.Answer{Status: status, Body: http.StatusText(status)}
	switch status {
	case http.StatusBadRequest:
		a = invalid("'payload.summary' is missing or blank")
	case http.StatusTooManyRequests:
		a.Body = map[string]any{"status": "throttle exceeded", "message": "Requests for this service are arriving too quickly. Please retry later."}
	}
	a.After = after
	return a
}

type request struct {
	RoutingKey string `json:"routing_key"`
	Action     string `json:"event_action"`
	DedupKey   string `json:"dedup_key"`
	Payload    struct {
		Summary, Source, Severity, Timestamp string
		CustomDetails                        map[string]string `json:"custom_details"`
	}
	Images []struct{ Src, Href, Alt string }
	Links  []struct{ Href, Text string }
}

func (s *Server) enqueue(r *http.Request) channel.Answer {
	body, err := io.ReadAll(r.Body)
	var req request
	switch {
	case len(body) > maxBody:
		return channel.Answer{Status: http.StatusRequestEntityTooLarge, Body: map[string]any{"status": "invalid event", "message": "Event is too large"}}
	case err != nil || json.Unmarshal(body, &req) != nil:
		return invalid("JSON is invalid")
	case len(req.RoutingKey) != keyLength:
		return invalid("Length of 'routing_key' is incorrect (should be 32 characters)")
	case req.RoutingKey != RoutingKey:
		return invalid("Invalid routing key")
	case len(req.DedupKey) > maxKey || req.DedupKey == "" && req.Action != "trigger":
		return invalid("Length of 'dedup_key' is incorrect (should be between 1 and 255 characters)")
	}
	switch req.Action {
	case "trigger":
		if problem := s.trigger(req); problem != "" {
			return invalid(problem)
		}
	case "acknowledge":
		s.setState(req.DedupKey, "acknowledged")
	case "resolve":
		s.setState(req.DedupKey, "resolved")
	default:
		return invalid("'event_action' is incorrect (should be 'trigger', 'acknowledge' or 'resolve')")
	}
	return channel.Answer{Status: http.StatusAccepted, Body: map[string]any{"status": "success", "message": "Event processed", "dedup_key": req.DedupKey}}
}

// trigger opens an alert, or adds to an open one. An alert that was resolved is never opened again.
func (s *Server) trigger(req request) (problem string) {
	p := req.Payload
	switch {
	case p.Summary == "" || utf8.RuneCountInString(p.Summary) > maxSummary:
		return "'payload.summary' is missing or too long"
	case p.Source == "":
		return "'payload.source' is missing or blank"
	case !slices.Contains([]string{"critical", "error", "warning", "info"}, p.Severity):
		return "'payload.severity' is invalid (must be one of the following: 'critical', 'warning', 'error' or 'info')"
	}
	if p.Timestamp != "" {
		if _, err := time.Parse(time.RFC3339, p.Timestamp); err != nil {
			return "'payload.timestamp' is invalid"
		}
	}
	m := channel.Message{Text: p.Summary, Sound: true, State: "triggered", Priority: p.Severity}
	for _, details := range p.CustomDetails {
		m.Text += "\n" + details
	}
	for _, l := range req.Links {
		m.Links = append(m.Links, channel.Link{Text: l.Text, URL: l.Href})
	}
	for _, i := range req.Images {
		if !strings.HasPrefix(i.Src, "https://") {
			return "'images' are invalid"
		}
		m.Picture, m.Alt = i.Src, i.Alt
	}
	open := false
	s.Edit(req.DedupKey, func(old *channel.Message) {
		if open = old.State != "resolved"; open {
			m.ID, m.State, m.Edits = old.ID, old.State, old.Edits+1
			*old = m
		} else {
			old.ID += " (earlier)"
		}
	})
	if !open {
		m.ID = req.DedupKey
		s.Post(m)
	}
	return ""
}

// setState changes the state of an open alert. Without one, nothing happens.
func (s *Server) setState(key, state string) {
	s.Edit(key, func(m *channel.Message) {
		if m.State != "resolved" {
			m.State = state
		}
	})
}
