package youtube

import (
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Class is what a request is for.
type Class string

// The classes.
const (
	Watch    Class = "watch"    // the watch page
	Player   Class = "player"   // the player API
	Manifest Class = "manifest" // the master playlist, an MPD, or what else is an origin's entry
	Playlist Class = "playlist" // a media playlist
	Segment  Class = "segment"  // or a part, a key, an initialisation section
	OEmbed   Class = "oembed"
	Other    Class = "other" // scripts, configuration pages
)

// Request is one that was made, faults included.
type Request struct {
	At    time.Time
	Class Class
	Video string // id, if it is of one
	Host  string
	Path  string // without the query
}

// Requests lists every request so far, in order.
func (y *Server) Requests() []Request {
	y.mu.Lock()
	defer y.mu.Unlock()
	return append([]Request(nil), y.requests...)
}

// Count is how many requests of a class there were for a video; an empty class
// or id counts all.
func (y *Server) Count(class Class, id string) int {
	n := 0
	for _, r := range y.Requests() {
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

// classify tells what a request is for. The player API names its video in the
// body, which is read elsewhere.
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
	case path == "/watch":
		return Watch, inQuery(r.URL.RawQuery)
	case path == "/oembed":
		return OEmbed, inQuery(r.URL.Query().Get("url"))
	case path == "/youtubei/v1/player":
		return Player, r.Header.Get(videoHeader)
	}
	return Other, ""
}
