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

// maxBody is the most that is read of a request's body, in bytes.
const maxBody = 1 << 20

// videoHeader carries the video of a player API request from its body to
// classify.
const videoHeader = "X-Fake-Video"

// injectedFault is a fault with the requests that it is for.
type injectedFault struct {
	class Class  // empty: any
	proxy string // URL; empty: any
	fault httpfault.Fault
}

// Inject answers all requests of a class with f, until remove is called. An empty class means any. The
// latest fault that matches acts; faults of a [Source] come after these.
func (y *Server) Inject(class Class, f httpfault.Fault) (remove func()) {
	return y.inject(&injectedFault{class, "", f})
}

// InjectAt is Inject for the requests that come through a proxy. url is that of the proxy.
func (y *Server) InjectAt(url string, class Class, f httpfault.Fault) (remove func()) {
	return y.inject(&injectedFault{class, url, f})
}

func (y *Server) inject(i *injectedFault) (remove func()) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.faults = append(y.faults, i)
	return func() {
		y.mu.Lock()
		defer y.mu.Unlock()
		y.faults = slices.DeleteFunc(y.faults, func(other *injectedFault) bool { return other == i })
	}
}

// fault records a request and returns the fault that it meets, or nil.
func (y *Server) fault(r *http.Request) httpfault.Fault {
	if r.URL.Path == "/youtubei/v1/player" {
		r.Header.Set(videoHeader, videoInBody(r))
	}
	class, id := classify(r)
	proxy := proxyOf(r)
	request := Request{At: time.Now(), Class: class, Video: id, Path: r.URL.Path, Proxy: proxy}
	if y.onRequest != nil {
		y.onRequest(request)
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.onRequest == nil {
		y.requests = append(y.requests, request)
	}
	for _, i := range slices.Backward(y.faults) {
		if (i.class == "" || i.class == class) && (i.proxy == "" || i.proxy == proxy) {
			return i.fault
		}
	}
	part := map[Class]livestream.Part{Manifest: livestream.Masters, Playlist: livestream.Playlists, Segment: livestream.Segments}[class]
	if e := y.videos[id]; e != nil && part != "" && e.Source != nil {
		return e.Source.Fault(part)
	}
	return nil
}

// videoInBody returns the id in the body of a player request, and leaves the body
// as it was.
func videoInBody(r *http.Request) string {
	b, _ := io.ReadAll(io.LimitReader(r.Body, maxBody))
	r.Body = io.NopCloser(bytes.NewReader(b))
	var q struct {
		VideoID string `json:"videoId"`
	}
	_ = json.Unmarshal(b, &q)
	return q.VideoID
}
