package youtube

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

// maxBody is the most that is read of a request's body, in bytes.
const maxBody = 1 << 20

// subjectHeader carries the video or channel of a request of the pages' own API from its
// body to classify.
const subjectHeader = "X-Fake-Subject"

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
	if strings.HasPrefix(r.URL.Path, "/youtubei/v1/") {
		r.Header.Set(subjectHeader, askedIn(r).subject())
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

// askedIn returns the body of a request of the pages' own API, and leaves it as it was.
func askedIn(r *http.Request) (a asked) {
	b, _ := io.ReadAll(io.LimitReader(r.Body, maxBody))
	r.Body = io.NopCloser(bytes.NewReader(b))
	_ = json.Unmarshal(b, &a)
	return a
}
