package channel

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
)

// Fault makes a provider misbehave once.
type Fault struct {
	Status   int           // of the answer
	After    time.Duration // how long the provider asks to wait
	Hang     bool          // it never answers
	Redirect string        // it answers 302 to this URL
	HangUp   bool          // a mail server takes the message and ends the connection without an answer
	Fails    int           // how many requests it answers with Status; 0: all until Recover

	HTTP httpfault.Fault // it answers by this; nil: by the fields above
}

// Answer is what a provider answers.
type Answer struct {
	Status int
	Body   any           // as JSON; a string as plain text; nil: none
	After  time.Duration // the header Retry-After in whole seconds, rounded up; 0: none
}

// OK answers 200 with a value as JSON.
func OK(body any) Answer { return Answer{Status: http.StatusOK, Body: body} }

// Handler answers a request.
type Handler func(*http.Request) Answer

// ServeHTTP implements http.Handler.
func (h Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := h(r)
	if a.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(Seconds(a.After)))
	}
	switch body := a.Body.(type) {
	case nil:
		w.WriteHeader(a.Status)
	case string:
		http.Error(w, body, a.Status)
	default:
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(a.Status)
		_ = json.NewEncoder(w).Encode(body)
	}
}

// Refuse returns a provider's own answer with a status. after is how long it asks to wait.
type Refuse func(status int, after time.Duration) Answer

// Server is the HTTP server of a fake on loopback.
type Server struct {
	URL string

	// NumberFormat makes the ID of the n-th message.
	NumberFormat func(n int) string

	http   *httptest.Server
	refuse Refuse

	mu       sync.Mutex
	messages []*Message
	posted   int // messages, those included that were deleted since
	requests int
	fault    *Fault
}

// NewServer starts a server with the handlers of these patterns. Close ends it.
func NewServer(handlers map[string]Handler, refuse Refuse) *Server {
	s := &Server{NumberFormat: strconv.Itoa, refuse: refuse}
	mux := http.NewServeMux()
	for pattern, h := range handlers {
		mux.Handle(pattern, h)
	}
	s.http = httptest.NewServer(httpfault.Wrap(mux, s.choose))
	s.URL = s.http.URL
	return s
}

// Close ends the server.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Fail makes the next requests fail until Recover.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = &f
}

// Recover ends what Fail began.
func (s *Server) Recover() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = nil
}

// choose counts the requests, and returns the fault of this one.
func (s *Server) choose(*http.Request) httpfault.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	f := s.fault
	switch {
	case f == nil:
		return nil
	case f.HTTP != nil:
		return f.HTTP
	case f.Hang:
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the client has left
			httpfault.Hang()(w, r, next)
		}
	case f.Redirect != "":
		return httpfault.Redirect(f.Redirect)
	}
	if f.Fails--; f.Fails == 0 {
		s.fault = nil
	}
	answer := s.refuse(f.Status, f.After)
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		Handler(func(*http.Request) Answer { return answer }).ServeHTTP(w, r)
	}
}

// Requests returns how many requests came.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Messages returns the messages in the order in which they were posted.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Message, 0, len(s.messages))
	for _, m := range s.messages {
		out = append(out, *m)
	}
	return out
}

// Post stores a message and gives it the next number as ID, unless it has one.
func (s *Server) Post(m Message) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posted++
	if m.ID == "" {
		m.ID = s.NumberFormat(s.posted)
	}
	m.PostedAt, m.Posted = time.Now(), m.Text
	s.messages = append(s.messages, &m)
	return m
}

// Edit lets change edit the message with an ID, and reports whether there is one.
func (s *Server) Edit(id string, change func(m *Message)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.ID == id {
			before := *m
			change(m)
			m.PostedAt, m.Posted, m.Changes = before.PostedAt, before.Posted, before.Changes
			if m.Text != before.Text || m.State != before.State || m.Picture != before.Picture {
				m.Changes = append(slices.Clip(m.Changes), Change{time.Now(), m.Text, m.State})
			}
			return true
		}
	}
	return false
}

// Replace replaces the message with an ID by another, which keeps its ID, its sound and what it
// answers. It reports whether there is one.
func (s *Server) Replace(id string, m Message) bool {
	return s.Edit(id, func(old *Message) {
		m.ID, m.Sound, m.ReplyTo, m.Edits = old.ID, old.Sound, old.ReplyTo, old.Edits+1
		*old = m
	})
}

// Delete removes a message, as a person does, and reports whether there was one.
func (s *Server) Delete(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, m := range s.messages {
		if m.ID == id {
			s.messages = append(s.messages[:i], s.messages[i+1:]...)
			return true
		}
	}
	return false
}

// Seconds returns whole seconds, rounded up.
func Seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
