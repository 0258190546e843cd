// Package twitch is a fake Twitch. The real yt-dlp and streamlink find its API, the server that lists the playlists of a
// channel, and media with advertisements; applications find Helix, and the server of their tokens. It answers behind the proxy of test/fake/youtube.
package twitch

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// State is the state of a channel.
type State string

// The states. In parentheses what the API and the server of playlists say.
const (
	NotLive     State = "not_live"    // (no stream; 404)
	Live        State = "live"        // (a stream; a playlist)
	Late        State = "late"        // it ended, but the API does not know yet (a stream; 404)
	Rerun       State = "rerun"       // (a stream of type rerun; a playlist)
	Gone        State = "gone"        // (no user; 404)
	Subscribers State = "subscribers" // (a stream; 403 unauthorized_entitlements without the login of a subscriber)
	Region      State = "region"      // (a stream; 403 content_geoblocked)
	Broken      State = "broken"      // (neither data nor an error about the stream; a playlist)
	Null        State = "null"        // (null in place of data, and an error; a playlist)
	Limited     State = "limited"     // (429; 429)
	Refused     State = "refused"     // (403; 403 without a reason)
	Failing     State = "failing"     // (503; 503)
	NoPlaylist  State = "no_playlist" // (a stream; 503)
)

// statuses are those of states in which nothing is answered.
var statuses = map[State]int{Limited: http.StatusTooManyRequests, Refused: http.StatusForbidden, Failing: http.StatusServiceUnavailable}

// SubscriberToken is the value of the cookie auth-token of an account that has subscribed to every channel.
const SubscriberToken = "subscr1ber-t0ken"

// Site is the fake Twitch. It is safe for concurrent use.
type Site struct {
	EventSub EventSub
	mu       sync.Mutex
	channels map[string]channel
	helix    Helix
}

// channel is a channel with what it shows.
type channel struct {
	state      State
	broadcast  int // counts from 1
	media, ads youtube.Source
	breaks     []adBreak
	started    time.Time
	issue      int // of the URLs of its media that are answered
	refused    int // requests with URLs that have expired
}

// New makes a Site that answers behind the proxy of a server.
func New(y *youtube.Server) *Site {
	s := &Site{channels: map[string]channel{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST gql.twitch.tv/gql", s.api)
	mux.HandleFunc("POST id.twitch.tv/oauth2/token", s.token)
	mux.HandleFunc("GET api.twitch.tv/helix/streams", s.streams)
	for _, at := range []string{"users", "eventsub/subscriptions", "eventsub/conduits", "eventsub/conduits/shards"} {
		mux.HandleFunc("api.twitch.tv/helix/"+at, s.eventSub)
	}
	mux.HandleFunc("GET eventsub.wss.twitch.tv/ws", s.serveSocket)
	mux.HandleFunc("GET cell-b.wss.twitch.tv/ws", s.serveSocket)
	y.Host("twitch.tv", mux)
	y.Host("ttvnw.net", http.HandlerFunc(s.serveMedia))
	return s
}

// URL is the URL of a channel.
func URL(login string) string { return "https://www.twitch.tv/" + login }

// Set changes the state of a channel. One that was not set is Gone.
func (s *Site) Set(login string, state State) {
	s.change(login, func(c *channel) { c.state = state })
}

// Broadcast begins a new broadcast of a channel, with these media, and returns its id.
func (s *Site) Broadcast(login string, media youtube.Source) (id string) {
	s.change(login, func(c *channel) {
		*c = channel{state: Live, broadcast: c.broadcast + 1, media: media, started: time.Now()}
		id = c.id()
	})
	return id
}

func (s *Site) change(login string, f func(*channel)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[login]
	f(&c)
	s.channels[login] = c
}

// channel returns a copy of a channel.
func (s *Site) channel(login string) channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, known := s.channels[login]
	if !known {
		c.state = Gone
	}
	return c
}

// id returns the id of the broadcast.
func (c channel) id() string { return fmt.Sprintf("4000000000%d", c.broadcast) }

type object = map[string]any

// operation is one question to the API.
type operation struct {
	Name      string `json:"operationName"`
	Query     string `json:"query"`
	Variables struct {
		ChannelLogin string `json:"channelLogin"`
		Channel      string `json:"channel"`
		Login        string `json:"login"`
	} `json:"variables"`
}

var channelInQuery = regexp.MustCompile(`channelName: "([^"]*)"`)

// api answers the questions of both tools, alone or in a list.
func (s *Site) api(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Client-Id") == "" {
		http.NotFound(w, r)
		return
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	subscriber := r.Header.Get("Authorization") == "OAuth "+SubscriberToken
	var list []operation
	alone := json.Unmarshal(body, &list) != nil
	if alone {
		list = make([]operation, 1)
		if err := json.Unmarshal(body, &list[0]); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	answers := []any{}
	for _, o := range list {
		if status := statuses[s.channel(o.login()).state]; status != 0 {
			http.Error(w, http.StatusText(status), status)
			return
		}
		answers = append(answers, s.answer(o, subscriber))
	}
	if alone {
		writeJSON(w, answers[0])
		return
	}
	writeJSON(w, answers)
}

// login returns the login that a question is about.
func (o operation) login() string {
	if m := channelInQuery.FindStringSubmatch(o.Query); m != nil {
		return m[1]
	}
	return o.Variables.ChannelLogin + o.Variables.Channel + o.Variables.Login
}

// answer answers one question.
func (s *Site) answer(o operation, subscriber bool) object {
	login := o.login()
	c := s.channel(login)
	data := func(d object) object { return object{"data": d} }
	switch {
	case c.state == Broken && o.Name == "StreamMetadata":
		return object{"extensions": object{}}
	case c.state == Null:
		return object{"data": nil, "errors": []object{{"message": "service error"}}}
	case o.Query != "", o.Name == "PlaybackAccessToken":
		if c.state == Gone {
			return data(object{"streamPlaybackAccessToken": nil})
		}
		value, _ := json.Marshal(object{"channel": login, "chansub": object{"restricted_bitrates": []string{}}, "subscriber": subscriber})
		return data(object{"streamPlaybackAccessToken": object{"value": string(value), "signature": "s1gnature"}})
	case o.Name == "ChannelShell":
		return data(object{"userOrError": object{"displayName": strings.ToUpper(login)}})
	case c.state == Gone:
		return data(object{"user": nil})
	case o.Name == "StreamMetadata":
		return data(object{"user": object{"lastBroadcast": object{"title": "A test"}, "stream": c.stream()}})
	case o.Name == "ComscoreStreamingQuery":
		return data(object{"user": object{"displayName": strings.ToUpper(login), "broadcastSettings": object{"title": "A test"}}})
	}
	return data(object{"user": object{"stream": nil}})
}

// stream returns what the API says of the broadcast; nil: there is none.
func (c channel) stream() any {
	kind := "live"
	switch c.state {
	case NotLive:
		return nil
	case Rerun:
		kind = "rerun"
	}
	return object{"id": c.id(), "type": kind, "createdAt": c.started.UTC().Format(time.RFC3339), "game": nil}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
