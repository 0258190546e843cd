package youtube

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

// maxBody is how much of a request's body is read, in bytes.
const maxBody = 1 << 20

// videoHeader carries the player API's video from its body to classify.
const videoHeader = "X-Stand-In-Video"

// injected is a fault with the requests it is for.
type injected struct {
	class Class
	video string
	left  int // requests; negative: for ever
	what  httpfault.Fault
}

// Inject answers requests of a class for a video with f: the next times of
// them, or all if times is 0. An empty class or id means any. The function
// returned ends it. The latest fault that fits is the one that acts; faults of
// a [Source] come after these.
func (y *Server) Inject(class Class, id string, times int, f httpfault.Fault) (heal func()) {
	if times == 0 {
		times = -1
	}
	i := &injected{class, id, times, f}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.faults = append(y.faults, i)
	return func() {
		y.mu.Lock()
		defer y.mu.Unlock()
		y.faults = slices.DeleteFunc(y.faults, func(other *injected) bool { return other == i })
	}
}

// fault remembers a request and returns what is to happen to it, or nil.
func (y *Server) fault(r *http.Request) httpfault.Fault {
	if r.URL.Path == "/youtubei/v1/player" {
		r.Header.Set(videoHeader, videoInBody(r))
	}
	class, id := classify(r)
	y.mu.Lock()
	defer y.mu.Unlock()
	y.requests = append(y.requests, Request{At: time.Now(), Class: class, Video: id, Host: r.Host, Path: r.URL.Path})
	for _, i := range slices.Backward(y.faults) {
		if i.left != 0 && (i.class == "" || i.class == class) && (i.video == "" || i.video == id) {
			if i.left > 0 {
				i.left--
			}
			return i.what
		}
	}
	part := map[Class]livestream.Part{Manifest: livestream.Masters, Playlist: livestream.Playlists, Segment: livestream.Segments}[class]
	if e := y.videos[id]; e != nil && part != "" && e.Source != nil {
		return e.Source.Fault(part)
	}
	return nil
}

// videoInBody reads the id from the body of a player request and puts the body
// back.
func videoInBody(r *http.Request) string {
	b, _ := io.ReadAll(io.LimitReader(r.Body, maxBody))
	r.Body = io.NopCloser(bytes.NewReader(b))
	var q struct {
		VideoID string `json:"videoId"`
	}
	_ = json.Unmarshal(b, &q)
	return q.VideoID
}
