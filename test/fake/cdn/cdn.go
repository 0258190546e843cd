// Package cdn stands in for somebody's own CDN. It serves a live stream in HLS or DASH on a host of its own, and may want
// credentials for everything. Its token URL gives out tokens that expire.
//
//	GET /live/…   the files of the stream; 404 without one
//	GET /token    {"query": "token=…", "expires_in": …}
package cdn

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

// State is what a Server does at present.
type State struct {
	Stream *livestream.Stream // nil: nobody broadcasts, so there is no file
	Status int                // of every answer but those of the token URL; 0: as it is

	// Wants reports whether a request has the credentials that are wanted; nil: none are. Others get 403.
	Wants func(r *http.Request) bool

	Session string // with which files at the top are redirected to themselves; empty: they are not

	TokenLife   time.Duration // of tokens that /token gives out; 0: it has none, and no request needs one
	TokenStatus int           // of the answers of the token URL; 0: 200
}

// Request is one that a Server got.
type Request struct {
	Path, Query string
	Header      http.Header
	Status      int // with which it was answered
}

// Server is a CDN. It may be used concurrently.
type Server struct {
	*httptest.Server

	mu       sync.Mutex
	state    State
	handle   http.HandlerFunc // in place of the stream; nil: none
	issued   int
	expires  map[string]time.Time // by token
	requests []Request
}

// New starts a Server on a port of 127.0.0.1. The caller closes it.
func New() *Server {
	s := &Server{expires: map[string]time.Time{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Set changes what the server does.
func (s *Server) Set(change func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.state)
}

// Handle lets a handler answer for the stream.
func (s *Server) Handle(h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = h
}

// StreamURL returns the URL with which a stream is registered whose entry has this name.
func (s *Server) StreamURL(entry string) string { return s.URL + "/live/" + entry }

// TokenURL returns the token URL.
func (s *Server) TokenURL() string { return s.URL + "/token?for=s3cr3t" }

// Requests returns all that came, in their order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Revoke lets the server refuse all tokens that it has given out.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.expires)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	answer := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	if r.URL.Path == "/token" {
		s.giveToken(answer, r)
	} else {
		s.serveStream(answer, r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{r.URL.Path, r.URL.RawQuery, r.Header.Clone(), answer.status})
}

func (s *Server) giveToken(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.state.TokenStatus != 0:
		http.Error(w, "no token", s.state.TokenStatus)
	case s.state.TokenLife == 0 || r.URL.RawQuery != "for=s3cr3t":
		http.NotFound(w, r)
	default:
		s.issued++
		token := fmt.Sprintf("t0k3n-%d", s.issued)
		s.expires[token] = time.Now().Add(s.state.TokenLife)
		_, _ = fmt.Fprintf(w, `{"query": "token=%s", "expires_in": %g}`, token, s.state.TokenLife.Seconds())
	}
}

func (s *Server) serveStream(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	state, handle, expires := s.state, s.handle, s.expires[r.URL.Query().Get("token")]
	s.mu.Unlock()
	switch {
	case handle != nil:
		handle(w, r)
	case state.Wants != nil && !state.Wants(r), state.TokenLife > 0 && !time.Now().Before(expires):
		http.Error(w, "Forbidden", http.StatusForbidden)
	case state.Status != 0:
		http.Error(w, http.StatusText(state.Status), state.Status)
	case state.Stream == nil || !strings.HasPrefix(r.URL.Path, "/live/"):
		http.NotFound(w, r)
	case state.Session != "" && r.URL.Query().Get("session") == "" && strings.Count(r.URL.Path, "/") == 2:
		http.Redirect(w, r, r.RequestURI+"&session="+state.Session, http.StatusFound)
	default:
		http.StripPrefix("/live", state.Stream.Handler()).ServeHTTP(w, r)
	}
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter

	status int
}

// Unwrap lets a http.ResponseController get at the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
