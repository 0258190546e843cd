package youtube

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

// NewID makes the id of a video that there has not been yet.
func NewVideoID() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	id := make([]byte, 11)
	for i := range id {
		id[i] = letters[rand.IntN(len(letters))]
	}
	return string(id)
}

// Video is what there is to know of one.
type Video struct {
	State     State     // default Upcoming
	Title     string    // default "A test of the stream monitor"
	Scheduled time.Time // start of an upcoming one; zero: not told
	Started   time.Time // actual start; default: when it was first set Live
	Reason    string    // instead of the state's own words
	Source    Source    // of the media; nil: live without formats, unless there is an Origin
	Origin    *Origin   // of the media, instead of a Source
}

// Origin is an HTTP origin that a live video's media come from, whatever their
// shape. It is reachable below a path of its own on the manifests' and on the
// segments' hosts, which expires like any media URL, so what its manifests say
// must be relative. Paths are the handler's own and begin with no slash.
type Origin struct {
	Handler http.Handler
	HLS     string // path of a master or media playlist (hlsManifestUrl); empty: none
	DASH    string // path of an MPD (dashManifestUrl); empty: none
}

// Source is where the media of a live video come from. *livestream.Stream is
// one. It is used from several goroutines.
type Source interface {
	Renditions() []livestream.Rendition
	Playlist(itag int) (livestream.Playlist, error)                         // livestream.ErrNotThere: 404
	Segment(ctx context.Context, itag int, sequence uint64) ([]byte, error) // livestream.ErrNotThere: 404
	Fault(part livestream.Part) httpfault.Fault                             // what it suffers from now, or nil
}

// entry is a video with what changes behind it.
type entry struct {
	Video
	issue   int // of the latest media URLs
	expired int // issues up to this one are no longer good
}

// Add puts a video up, or replaces it. id is 11 of A-Z a-z 0-9 _ -.
func (y *Server) Add(id string, v Video) {
	y.change(id, func(e *entry) {
		if v.State == "" {
			v.State = Upcoming
		}
		if v.Title == "" {
			v.Title = "A test of the stream monitor"
		}
		e.Video = v
		e.arrive()
	})
}

// Set changes the state of a video.
func (y *Server) Set(id string, s State) {
	y.change(id, func(e *entry) {
		e.State, e.Reason = s, ""
		e.arrive()
	})
}

// Broadcast makes a video live, with these media.
func (y *Server) Broadcast(id string, source Source) {
	y.change(id, func(e *entry) {
		e.State, e.Reason, e.Source, e.Origin = Live, "", source, nil
		e.arrive()
	})
}

// ExpireNow makes every media URL given out so far for a video answer 403.
func (y *Server) ExpireNow(id string) {
	y.change(id, func(e *entry) { e.expired = e.issue })
}

func (e *entry) arrive() {
	if e.State == Live && e.Started.IsZero() {
		e.Started = time.Now()
	}
}

func (y *Server) change(id string, f func(*entry)) {
	y.mu.Lock()
	defer y.mu.Unlock()
	e := y.videos[id]
	if e == nil {
		e = &entry{Video: Video{Title: "A test of the stream monitor"}}
		y.videos[id] = e
	}
	f(e)
}

// video returns a copy of what is known of id now.
func (y *Server) video(id string) entry {
	y.mu.Lock()
	defer y.mu.Unlock()
	if e := y.videos[id]; e != nil {
		return *e
	}
	return entry{Video: Video{State: Unavailable}}
}

// issued gives out a new issue of media URLs.
func (y *Server) issued(id string) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.videos[id].issue++
	return y.videos[id].issue
}
