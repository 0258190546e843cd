// Package ntfy fakes a server of ntfy with a protected topic.
package ntfy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
)

// Topic and access token that the fake accepts.
const (
	Topic = "alerts"
	Token = "tk_geheim0123456789abcdef01234"
)

// Limits of ntfy, in bytes.
const (
	maxMessage, maxJSON, maxActions, maxQuery = 4096, 8192, 3, 8000
)

// Server fakes ntfy.
type Server struct {
	*channel.Server

	// NoUploads makes it refuse files, as a server without a cache for them does.
	NoUploads bool

	// NoBandwidth makes it refuse files because those of the day were too large.
	NoBandwidth bool
}

// New starts a server. Close ends it.
func New() *Server {
	s := &Server{}
	s.Server = channel.NewServer(map[string]channel.Handler{
		"POST /{$}":    s.publishJSON,
		"PUT /{topic}": s.upload,
		"POST /page": func(*http.Request) channel.Answer {
			return channel.Answer{Status: http.StatusOK, Body: "<html>no ntfy</html>"}
		},
	}, refuse)
	return s
}

func fail(code int, text string) channel.Answer {
	return channel.Answer{Status: code / 100, Body: map[string]any{"code": code, "http": code / 100, "error": text, "link": "https://ntfy.sh/docs/publish/"}}
}

func refuse(status int, after time.Duration) channel.Answer {
	texts := map[int]string{400: "invalid request: message must be UTF-8 encoded", 429: "limit reached: too many requests"}
	a := fail(status*100+1, cmp.Or(texts[status], "internal server error"))
	a.After = after // as a proxy before it does
	return a
}

type action struct{ Action, Label, URL string }

type publication struct {
	Topic      string
	SequenceID string `json:"sequence_id"`
	Title      string
	Message    string
	Priority   int
	Click      string
	Attach     string
	Actions    []action
	Markdown   bool
	uploaded   int
}

func (s *Server) publishJSON(r *http.Request) channel.Answer {
	body, err := io.ReadAll(r.Body)
	var p publication
	switch {
	case len(body) > maxJSON:
		return fail(41303, "JSON body too large")
	case err != nil || json.Unmarshal(body, &p) != nil:
		return fail(40024, "invalid request: request body must be valid JSON")
	}
	if title, err := new(mime.WordDecoder).DecodeHeader(p.Title); err == nil {
		p.Title = title // ntfy makes headers of all but the message, and decodes RFC 2047 there
	}
	return s.publish(r, p)
}

func (s *Server) upload(r *http.Request) channel.Answer {
	q := r.URL.Query()
	p := publication{Topic: r.PathValue("topic"), SequenceID: q.Get("sid"), Title: q.Get("title"), Message: strings.ReplaceAll(q.Get("message"), `\n`, "\n"), Click: q.Get("click")}
	p.Priority, _ = strconv.Atoi(q.Get("priority"))
	if text := q.Get("actions"); text != "" && json.Unmarshal([]byte(text), &p.Actions) != nil {
		return fail(40018, "invalid request: actions invalid")
	}
	data, _ := io.ReadAll(r.Body)
	switch {
	case s.NoUploads:
		return fail(40014, "invalid request: attachments not allowed")
	case s.NoBandwidth:
		return fail(42905, "limit reached: daily bandwidth reached")
	case q.Get("filename") == "":
		return fail(40001, "the fake takes files only")
	case len(r.URL.RawQuery) > maxQuery: // as a proxy before it does
		return channel.Answer{Status: http.StatusRequestURITooLong}
	}
	p.uploaded = len(data)
	return s.publish(r, p)
}

var (
	topicPattern    = regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`)
	sequencePattern = regexp.MustCompile(`^[-_A-Za-z0-9]{0,64}$`)
)

func (s *Server) publish(r *http.Request, p publication) channel.Answer {
	switch {
	case !topicPattern.MatchString(p.Topic):
		return fail(40009, "invalid request: topic invalid")
	case r.Header.Get("Authorization") != "" && r.Header.Get("Authorization") != "Bearer "+Token:
		return fail(40101, "unauthorized")
	case r.Header.Get("Authorization") == "" || p.Topic != Topic:
		return fail(40301, "forbidden")
	case p.Priority < 0 || p.Priority > 5:
		return fail(40007, "invalid request: priority invalid")
	case !sequencePattern.MatchString(p.SequenceID):
		return fail(40049, "invalid request: sequence ID invalid")
	case len(p.Actions) > maxActions:
		return fail(40018, "invalid request: actions invalid: only 3 actions allowed")
	}
	m := channel.Message{ID: p.SequenceID, Text: strings.TrimSpace(channel.Visible(p.Title + "\n" + p.Message)), Sound: p.Priority == 0 || p.Priority > 2, Priority: strconv.Itoa(p.Priority), Picture: p.Attach}
	if len(p.Message) > maxMessage {
		m.Text = p.Title + "\nYou received a file: attachment.txt"
	}
	if p.Markdown {
		m.Text = strings.NewReplacer("*", "", "_", "").Replace(m.Text)
	}
	if p.uploaded > 0 {
		m.Picture = fmt.Sprint(p.uploaded, " bytes")
	}
	if p.Click != "" {
		m.Links = append(m.Links, channel.Link{Text: "a tap", URL: p.Click})
	}
	for _, a := range p.Actions {
		if a.Action != "view" || a.Label == "" || a.URL == "" {
			return fail(40018, "invalid request: actions invalid")
		}
		m.Links = append(m.Links, channel.Link{Text: a.Label, URL: a.URL})
	}
	if !s.Replace(p.SequenceID, m) { // else apps replace what they show, in silence
		m = s.Post(m)
	}
	return channel.OK(map[string]any{"id": m.ID, "event": "message", "topic": p.Topic, "message": p.Message})
}
