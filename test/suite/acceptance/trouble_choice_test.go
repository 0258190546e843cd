package acceptance_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// incomplete is a stream of which single renditions are lost.
type incomplete struct {
	youtube.Source
	mu       sync.Mutex
	lost     map[int]bool // itags of which nothing is answered
	unlisted map[int]bool // itags that the master playlist leaves out
}

// set makes renditions lost, and unlisted if so wished, until the next call.
func (s *incomplete) set(unlisted bool, lost ...livestream.Rendition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost, s.unlisted = map[int]bool{}, map[int]bool{}
	for _, r := range lost {
		s.lost[r.Itag] = true
	}
	if unlisted {
		s.unlisted = maps.Clone(s.lost)
	}
}

func (s *incomplete) Renditions() []livestream.Rendition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(s.Source.Renditions(), func(r livestream.Rendition) bool { return s.unlisted[r.Itag] })
}

func (s *incomplete) Playlist(itag int) (livestream.Playlist, error) {
	if s.without(itag) {
		return livestream.Playlist{}, livestream.ErrNotThere
	}
	return s.Source.Playlist(itag)
}

func (s *incomplete) Segment(ctx context.Context, itag int, sequence uint64) ([]byte, error) {
	if s.without(itag) {
		return nil, livestream.ErrNotThere
	}
	return s.Source.Segment(ctx, itag, sequence)
}

func (s *incomplete) without(itag int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost[itag]
}

// lossy puts a stream on the air of which renditions can be lost.
func lossy(t *testing.T, c livestream.Config) (*show, *incomplete) {
	t.Helper()
	s := &incomplete{}
	return onAir(t, common, c, func(stream *livestream.Stream) youtube.Source {
		s.Source = stream
		return s
	}), s
}

// watched tells whether a playlist of a rendition was read after a time.
func (p *show) watched(itag string, after time.Time) bool {
	return slices.ContainsFunc(p.stage.YouTube.Requests(), func(r youtube.Request) bool {
		return r.Class == youtube.Playlist && r.Video == p.video && r.At.After(after) && strings.Contains(r.Path, "/itag/"+itag+"/")
	})
}

func TestTroubleWithTheRenditionThatIsWatched(t *testing.T) { // S7, S8
	t.Parallel()
	cases := []struct {
		name     string
		unlisted bool
		limit    time.Duration // until the next one is watched
		show     *show
		lost     time.Time
	}{
		{name: "it is gone, and no longer listed", unlisted: true, limit: renewal},
		{name: "it is gone, and still listed", limit: 45 * time.Second},
	}
	for i := range cases {
		c := &cases[i]
		p, source := lossy(t, livestream.Config{})
		c.show, c.lost = p, time.Now()
		if p.watched("93", p.Began()) {
			t.Fatal("the larger rendition is watched")
		}
		source.set(c.unlisted, livestream.Muxed144p)
	}
	for _, c := range cases {
		p := c.show
		p.in(t, c.name, func(t *testing.T) {
			eventually(t, time.Until(c.lost.Add(c.limit)), "the other is watched", func() bool { return p.watched("93", c.lost) })
			p.checked(renewal)
		})
	}
	for _, c := range cases {
		p := c.show
		p.in(t, c.name+", a minute later", func(t *testing.T) {
			p.lasts(c.lost, outage+5*time.Second) // an alert would have come by then
			if v := p.health(); v != "ok" {
				t.Errorf("the picture is said to be %v", v)
			}
			p.blackout(0)
			p.ends(blackout, recovered)
		})
	}
}
