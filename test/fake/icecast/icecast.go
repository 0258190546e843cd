// Package icecast is a fake audio server: Icecast, or SHOUTcast with its status line "ICY 200 OK".
//
//	GET /live ─▶ loud or silent sound in MP3 or AAC, at its own pace, after a burst of what came before
//
// A test decides at any time what listeners hear, and what new ones are answered.
package icecast

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// Codec is how the sound is encoded.
type Codec string

// The codecs.
const (
	MP3 Codec = "mp3"
	AAC Codec = "adts"
	Ogg Codec = "ogg" // Vorbis, in songs of clipLength one after another; whether one is silent is decided when it begins
)

// Mount is what the server does. The zero value is Icecast whose sound is loud.
type Mount struct {
	ICY    bool          // speaks as SHOUTcast
	Silent bool          // the sound
	Status int           // of answers to new listeners, who are told nothing more; 0: they hear the sound
	Page   string        // an HTML page in place of the sound; empty: none
	Burst  time.Duration // of sound at once for a new listener
	Speed  float64       // of the sound; 0: its own pace

	Token, Authorization string // what requests have to carry, in the query and the header; empty: nothing
}

const (
	clipLength = 5 * time.Second
	tick       = 100 * time.Millisecond
)

// Server is a fake audio server.
type Server struct {
	*httptest.Server

	codec        Codec
	loud, silent []byte // clipLength of each

	listeners sync.WaitGroup
	requests  atomic.Int64

	mu      sync.Mutex
	mount   Mount
	dropped chan struct{} // closed to end all listeners
}

// New starts a server until Close. Error: ffmpeg fails.
func New(ctx context.Context, codec Codec, m Mount) (*Server, error) {
	s := &Server{codec: codec, mount: m, dropped: make(chan struct{})}
	ffmpeg, err := testtools.Tool("ffmpeg", "")
	if err != nil {
		return nil, err
	}
	for source, clip := range map[string]*[]byte{"sine=f=440:r=44100": &s.loud, "anullsrc=r=44100:cl=mono": &s.silent} {
		args := []string{"-f", "lavfi", "-i", source, "-t", fmt.Sprint(clipLength.Seconds()), "-b:a", "64k", "-f", string(codec)}
		if codec == MP3 {
			args = append(args, "-write_xing", "0", "-id3v2_version", "0")
		}
		*clip, err = testtools.FFmpeg(ctx, ffmpeg, "", nil, append(args, "-")...)
		if err != nil {
			return nil, err
		}
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s, nil
}

// Close ends all listeners and the server.
func (s *Server) Close() {
	s.Drop()
	s.Server.Close()
	s.listeners.Wait()
}

// StreamURL is the URL by which the stream is registered.
func (s *Server) StreamURL() string { return "icy+" + s.URL + "/live" }

// Set changes the mount, also for those who listen.
func (s *Server) Set(change func(*Mount)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.mount)
}

// Drop closes the connections of all listeners, as a server does whose encoder is gone.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.dropped)
	s.dropped = make(chan struct{})
}

// Requests returns how many requests there were.
func (s *Server) Requests() int64 { return s.requests.Load() }

func (s *Server) present() (Mount, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mount, s.dropped
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	m, dropped := s.present()
	switch {
	case r.URL.Path != "/live":
		http.NotFound(w, r)
		return
	case r.URL.Query().Get("token") != m.Token, r.Header.Get("Authorization") != m.Authorization:
		http.Error(w, "401 Unauthorized", http.StatusUnauthorized)
		return
	case m.Page != "":
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, m.Page)
		return
	}
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	s.listeners.Go(func() {
		defer func() { _ = conn.Close() }()
		s.answer(conn, m, dropped)
	})
}

// answer writes a response to its end.
func (s *Server) answer(conn net.Conn, m Mount, dropped chan struct{}) {
	protocol := "HTTP/1.0"
	if m.ICY {
		protocol = "ICY"
	}
	if m.Status != 0 {
		reason := http.StatusText(m.Status)
		if m.ICY {
			reason = "Service Unavailable"
		}
		_, _ = fmt.Fprintf(conn, "%s %d %s\r\nContent-Type: text/plain\r\n\r\n", protocol, m.Status, reason)
		return
	}
	kind := map[Codec]string{MP3: "audio/mpeg", AAC: "audio/aac", Ogg: "application/ogg"}[s.codec]
	_, _ = fmt.Fprintf(conn, "%s 200 OK\r\nContent-Type: %s\r\nicy-name: Example Radio\r\nicy-br: 64\r\n\r\n", protocol, kind)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	began, sent, silent := time.Now().Add(-m.Burst), time.Duration(0), false
	for {
		m, _ := s.present()
		due := time.Since(began)
		if m.Speed > 0 {
			due = time.Duration(float64(due) * m.Speed)
		}
		for ; sent+tick <= due; sent += tick {
			if s.codec != Ogg || sent%clipLength == 0 {
				silent = m.Silent
			}
			if _, err := conn.Write(s.part(silent, sent)); err != nil {
				return
			}
		}
		select {
		case <-ticker.C:
		case <-dropped:
			return
		}
	}
}

// part returns the bytes of a tick.
func (s *Server) part(silent bool, at time.Duration) []byte {
	clip := s.loud
	if silent {
		clip = s.silent
	}
	at %= clipLength
	size := func(d time.Duration) int { return int(int64(len(clip)) * int64(d) / int64(clipLength)) }
	return clip[size(at):size(at+tick)]
}
