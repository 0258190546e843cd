package youtube

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

// NewVideoID returns a random id of a video.
func NewVideoID() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	id := make([]byte, 11)
	for i := range id {
		id[i] = letters[rand.IntN(len(letters))]
	}
	return string(id)
}

// Video is a video. The zero value is an upcoming one.
type Video struct {
	State     State     // default Upcoming
	Title     string    // default "A test of the stream monitor"
	Scheduled time.Time // start of an upcoming one; zero: unknown
	Started   time.Time // actual start; default: when it was first set Live
	LateIndex bool      // the Data API says upcoming of the live video, with its actual start
	Source    Source    // of the media; nil: live without formats, unless there is an Origin
	Login     bool      // who is not signed in gets Members, see Server.AcceptLogin
	Origin    *Origin   // of the media, instead of a Source
	OnlyFor   string    // the one client whose media URLs work, such as ANDROID; those of others answer 403. Empty: all work

	Channel     string // id; default DefaultChannelID
	MembersOnly bool   // the player refuses it as Members, and the channel's pages show State with a badge
}

func (v Video) channel() string { return cmp.Or(v.Channel, DefaultChannelID) }

func (v Video) isMembersOnly() bool { return v.MembersOnly || v.State == Members }

// Origin is an HTTP origin of a live video's media, with any packaging. It is
// reachable below a path of its own, which expires like any media URL, so URLs in
// its manifests must be relative. Its paths begin without a slash.
type Origin struct {
	Handler http.Handler
	HLS     string // path of a master or media playlist (hlsManifestUrl); empty: none
	DASH    string // path of an MPD (dashManifestUrl); empty: none
}

// Source provides the media of a live video, such as *livestream.Stream. It must
// be safe for concurrent use.
type Source interface {
	Renditions() []livestream.Rendition
	Playlist(itag int) (livestream.Playlist, error)                         // livestream.ErrNotFound: 404
	Segment(ctx context.Context, itag int, sequence uint64) ([]byte, error) // livestream.ErrNotFound: 404
	Fault(part livestream.Part) httpfault.Fault                             // the fault that requests meet now, or nil
}

// entry is a video with the state of its media URLs.
type entry struct {
	Video
	issue   int  // of the latest media URLs
	expired int  // URLs of issues up to this one have expired
	replay  bool // a stand-in may print the recording
	number  int  // of its addition
}

// Add adds a video, or replaces it. id is 11 of A-Z a-z 0-9 _ -.
func (y *Server) Add(id string, v Video) {
	y.change(id, func(e *entry) {
		if v.State == "" {
			v.State = Upcoming
		}
		if v.Title == "" {
			v.Title = "A test of the stream monitor"
		}
		e.Video = v
		e.setStarted()
	})
}

// Set changes the state of a video.
func (y *Server) Set(id string, s State) {
	y.change(id, func(e *entry) {
		e.State = s
		e.setStarted()
	})
}

// Broadcast makes a video live, with these media.
func (y *Server) Broadcast(id string, source Source) {
	y.change(id, func(e *entry) {
		e.State, e.Source, e.Origin = Live, source, nil
		e.setStarted()
	})
}

// ExpireNow makes every media URL given out so far for a video answer 403.
func (y *Server) ExpireNow(id string) {
	y.change(id, func(e *entry) { e.expired = e.issue })
}

// setStarted records when the video first became live.
func (e *entry) setStarted() {
	if e.State == Live && e.Started.IsZero() {
		e.Started = time.Now()
	}
}

func (y *Server) change(id string, f func(*entry)) {
	y.mu.Lock()
	defer y.mu.Unlock()
	e := y.videos[id]
	if e == nil {
		e = &entry{Video: Video{Title: "A test of the stream monitor"}, number: len(y.videos)}
		y.videos[id] = e
	}
	f(e)
}

// video returns a copy of a video; one that was not added is Unavailable.
func (y *Server) video(id string) entry {
	y.mu.Lock()
	defer y.mu.Unlock()
	if e := y.videos[id]; e != nil {
		return *e
	}
	return entry{Video: Video{State: Unavailable}}
}

// newIssue returns the number of a new issue of media URLs.
func (y *Server) newIssue(id string) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.videos[id].issue++
	return y.videos[id].issue
}
