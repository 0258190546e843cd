// Package twitcasting is a fake TwitCasting: its JSON about a user, and the HLS of the broadcast. It answers behind the
// proxy of test/fake/youtube.
package twitcasting

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// State is the state of a user.
type State string

// The states.
const (
	Unknown  State = ""         // there is no such user: no movie
	NotLive  State = "not_live" // the last movie is over
	Live     State = "live"
	Password State = "password" // live, and no HLS is listed
	Failing  State = "failing"  // 503, as after too many questions
)

// Site is the fake TwitCasting. It is safe for concurrent use.
type Site struct {
	mu    sync.Mutex
	users map[string]user
}

type user struct {
	state State
	movie int
	media *livestream.Stream
}

// New makes a Site that answers behind the proxy of a server.
func New(y *youtube.Server) *Site {
	s := &Site{users: map[string]user{}}
	y.Host("twitcasting.tv", s)
	return s
}

// URL is the URL of a user.
func URL(name string) string { return "https://twitcasting.tv/" + name }

// Set changes the state of a user.
func (s *Site) Set(name string, state State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[name]
	u.state = state
	s.users[name] = u
}

// Broadcast begins a new broadcast of a user, with these media, and returns its id.
func (s *Site) Broadcast(name string, media *livestream.Stream) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := user{Live, s.users[name].movie + 1, media}
	s.users[name] = u
	return u.id()
}

func (u user) id() string { return fmt.Sprintf("70000000%d", u.movie) }

// ServeHTTP answers the question about a user, and with the media.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Host == "twitcasting.tv" && r.URL.Path == "/streamserver.php" {
		s.streamServer(w, r)
		return
	}
	parts := strings.SplitN(r.URL.Path, "/", 4) // "", user, movie, file
	if r.Host != "hls.twitcasting.tv" || len(parts) != 4 {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	u := s.users[parts[1]]
	s.mu.Unlock()
	switch {
	case u.media == nil || parts[2] != u.id():
		http.NotFound(w, r)
	case r.Header.Get("Origin") != "https://twitcasting.tv":
		http.Error(w, "403 Forbidden", http.StatusForbidden)
	default:
		http.StripPrefix("/"+parts[1]+"/"+parts[2], u.media.Handler()).ServeHTTP(w, r)
	}
}

func (s *Site) streamServer(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	name := q.Get("target")
	s.mu.Lock()
	u := s.users[name]
	s.mu.Unlock()
	type object = map[string]any
	answer := object{}
	id, _ := strconv.Atoi(u.id())
	switch {
	case u.state == Failing || q.Get("mode") != "client" || q.Get("player") != "pc_web":
		http.Error(w, "503", http.StatusServiceUnavailable)
		return
	case u.state != Unknown:
		answer["movie"] = object{"id": id, "live": u.state != NotLive}
	}
	if u.state == Live {
		streams := object{}
		for i, r := range u.media.Renditions() {
			streams[[]string{"low", "high"}[min(i, 1)]] = fmt.Sprintf("https://hls.twitcasting.tv/%s/%s/itag/%d/index.m3u8", name, u.id(), r.Itag)
		}
		answer["tc-hls"] = object{"streams": streams}
		answer["llfmp4"] = object{"streams": object{"main": "wss://hls.twitcasting.tv/main"}}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}
