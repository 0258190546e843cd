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
	class     Class
	video     string
	proxy     string // empty: any
	remaining int    // requests; negative: no limit
	fault     httpfault.Fault
}

// Inject answers the next times requests of a class for a video with f, or all
// of them if times is 0, until remove is called. An empty class or id means any.
// The latest fault that matches acts; faults of a [Source] come after these.
func (y *Server) Inject(class Class, id string, times int, f httpfault.Fault) (remove func()) {
	if times == 0 {
		times = -1
	}
	return y.inject(&injectedFault{class, id, "", times, f})
}

// InjectAt answers all requests of a class that come through a proxy with f, until remove is
// called. url is that of the proxy.
func (y *Server) InjectAt(url string, class Class, f httpfault.Fault) (remove func()) {
	return y.inject(&injectedFault{class, "", url, -1, f})
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
	request := Request{At: time.Now(), Class: class, Video: id, Host: r.Host, Path: r.URL.Path, Proxy: proxy}
	if y.onRequest != nil {
		y.onRequest(request)
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.onRequest == nil {
		y.requests = append(y.requests, request)
	}
	for _, i := range slices.Backward(y.faults) {
		if i.remaining != 0 && (i.class == "" || i.class == class) && (i.video == "" || i.video == id) && (i.proxy == "" || i.proxy == proxy) {
			if i.remaining > 0 {
				i.remaining--
			}
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
