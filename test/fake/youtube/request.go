package youtube

import (
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Class is the purpose of a request.
type Class string

// The classes.
const (
	Watch    Class = "watch"    // the watch page
	Player   Class = "player"   // the player API
	Manifest Class = "manifest" // the master playlist, an MPD, or another entry of an origin
	Playlist Class = "playlist" // a media playlist
	Segment  Class = "segment"  // or a part, a key, an init section
	OEmbed   Class = "oembed"
	Page     Class = "page"   // a page of a channel
	Browse   Class = "browse" // the API behind the pages of channels
	API      Class = "api"    // the YouTube Data API, and the Live Streaming API
	OAuth    Class = "oauth"  // Google's token endpoint
	Other    Class = "other"  // scripts, configuration pages
)

// Request is a request that was made, also one that met a fault.
type Request struct {
	At    time.Time
	Class Class
	Video string // id; for Page and Browse, the id or handle of the channel; empty: of neither
	Path  string // without the query
	Proxy string // URL of the proxy through which it came
}

// proxyOf returns the URL of the proxy through which a request came: its tunnel ends there.
func proxyOf(r *http.Request) string {
	address, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if address == nil {
		return ""
	}
	return "http://" + address.String()
}

// Requests returns every request so far, in order; none if Config.OnRequest got them.
func (y *Server) Requests() []Request {
	y.mu.Lock()
	defer y.mu.Unlock()
	return append([]Request(nil), y.requests...)
}

// Count returns the number of requests of a class for a video or channel; 0 if Config.OnRequest got
// them. An empty class or id means any.
func (y *Server) Count(class Class, id string) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	n := 0
	for _, r := range y.requests {
		if (class == "" || r.Class == class) && (id == "" || r.Video == id) {
			n++
		}
	}
	return n
}

var (
	idInPath  = regexp.MustCompile(`/id/([A-Za-z0-9_-]{11})`)
	idInQuery = regexp.MustCompile(`[?&]v=([A-Za-z0-9_-]{11})`)
)

// classify returns a request's class and its video or channel. The APIs of pages name it in
// the body, which fault has read.
func classify(r *http.Request) (Class, string) {
	path, host := r.URL.Path, strings.ToLower(r.Host)
	inPath := func() string {
		if m := idInPath.FindStringSubmatch(path); m != nil {
			return m[1]
		}
		return ""
	}
	inQuery := func(query string) string {
		if m := idInQuery.FindStringSubmatch("?" + query); m != nil {
			return m[1]
		}
		return ""
	}
	switch {
	case strings.HasSuffix(host, ".googlevideo.com") && strings.HasPrefix(path, "/api/manifest/hls_variant/"):
		return Manifest, inPath()
	case strings.HasSuffix(host, ".googlevideo.com") && strings.HasPrefix(path, "/api/manifest/hls_playlist/"):
		return Playlist, inPath()
	case strings.HasSuffix(host, ".googlevideo.com") && strings.HasPrefix(path, "/videoplayback/"):
		return Segment, inPath()
	case strings.HasSuffix(host, ".googlevideo.com") && strings.HasPrefix(path, originPrefix):
		return originClass(path), inPath()
	case host == "www.googleapis.com":
		return API, ""
	case host == "oauth2.googleapis.com":
		return OAuth, ""
	case path == "/watch":
		return Watch, inQuery(r.URL.RawQuery)
	case path == "/oembed":
		return OEmbed, inQuery(r.URL.Query().Get("url"))
	case path == "/youtubei/v1/player":
		return Player, r.Header.Get(subjectHeader)
	case path == "/youtubei/v1/browse", path == "/youtubei/v1/navigation/resolve_url":
		return Browse, r.Header.Get(subjectHeader)
	case strings.HasPrefix(path, "/@"), strings.HasPrefix(path, "/channel/"), strings.HasPrefix(path, "/c/"), strings.HasPrefix(path, "/user/"):
		address, _ := pageOf(path)
		return Page, address
	}
	return Other, ""
}
