// Package ntfy fakes a server of ntfy with a protected topic.
package ntfy

import (
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
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{$}", s.publishJSON)
	mux.HandleFunc("PUT /{topic}", s.upload)
	mux.HandleFunc("POST /page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>no ntfy</html>") })
	s.Server = channel.NewServer(mux, refuse)
	return s
}

func fail(w http.ResponseWriter, code int, text string) {
	channel.JSON(w, code/100, map[string]any{"code": code, "http": code / 100, "error": text, "link": "https://ntfy.sh/docs/publish/"})
}

func refuse(w http.ResponseWriter, status int, after time.Duration) {
	channel.RetryAfter(w, after) // as a proxy before it does
	text := map[int]string{400: "invalid request: message must be UTF-8 encoded", 429: "limit reached: too many requests"}[status]
	if text == "" {
		text = "internal server error"
	}
	fail(w, status*100+1, text)
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

func (s *Server) publishJSON(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var p publication
	switch {
	case len(body) > maxJSON:
		fail(w, 41303, "JSON body too large")
	case err != nil || json.Unmarshal(body, &p) != nil:
		fail(w, 40024, "invalid request: request body must be valid JSON")
	default:
		if title, err := new(mime.WordDecoder).DecodeHeader(p.Title); err == nil {
			p.Title = title // ntfy makes headers of all but the message, and decodes RFC 2047 there
		}
		s.publish(w, r, p)
	}
}

func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p := publication{Topic: r.PathValue("topic"), SequenceID: q.Get("sid"), Title: q.Get("title"), Message: strings.ReplaceAll(q.Get("message"), `\n`, "\n"), Click: q.Get("click")}
	p.Priority, _ = strconv.Atoi(q.Get("priority"))
	if text := q.Get("actions"); text != "" && json.Unmarshal([]byte(text), &p.Actions) != nil {
		fail(w, 40018, "invalid request: actions invalid")
		return
	}
	data, _ := io.ReadAll(r.Body)
	switch {
	case s.NoUploads:
		fail(w, 40014, "invalid request: attachments not allowed")
		return
	case s.NoBandwidth:
		fail(w, 42905, "limit reached: daily bandwidth reached")
		return
	case q.Get("filename") == "":
		fail(w, 40001, "the fake takes files only")
		return
	case len(r.URL.RawQuery) > maxQuery: // as a proxy before it does
		w.WriteHeader(http.StatusRequestURITooLong)
		return
	}
	p.uploaded = len(data)
	s.publish(w, r, p)
}

var (
	topicPattern    = regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`)
	sequencePattern = regexp.MustCompile(`^[-_A-Za-z0-9]{0,64}$`)
)

func (s *Server) publish(w http.ResponseWriter, r *http.Request, p publication) {
	switch {
	case !topicPattern.MatchString(p.Topic):
		fail(w, 40009, "invalid request: topic invalid")
		return
	case r.Header.Get("Authorization") != "" && r.Header.Get("Authorization") != "Bearer "+Token:
		fail(w, 40101, "unauthorized")
		return
	case r.Header.Get("Authorization") == "" || p.Topic != Topic:
		fail(w, 40301, "forbidden")
		return
	case p.Priority < 0 || p.Priority > 5:
		fail(w, 40007, "invalid request: priority invalid")
		return
	case !sequencePattern.MatchString(p.SequenceID):
		fail(w, 40049, "invalid request: sequence ID invalid")
		return
	case len(p.Actions) > maxActions:
		fail(w, 40018, "invalid request: actions invalid: only 3 actions allowed")
		return
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
			fail(w, 40018, "invalid request: actions invalid")
			return
		}
		m.Links = append(m.Links, channel.Link{Text: a.Label, URL: a.URL})
	}
	known := s.Edit(p.SequenceID, func(old *channel.Message) {
		m.Edits, m.Sound = old.Edits+1, old.Sound // apps replace what they show in silence
		*old = m
	})
	if !known {
		m = s.Post(m)
	}
	channel.JSON(w, http.StatusOK, map[string]any{"id": m.ID, "event": "message", "topic": p.Topic, "message": p.Message})
}
