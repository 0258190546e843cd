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

// lossySource is a source that loses single renditions.
type lossySource struct {
	youtube.Source
	mu       sync.Mutex
	lost     map[int]bool // itags that answer 404
	unlisted map[int]bool // itags that the master playlist leaves out
}

// setLost loses renditions, and takes them off the master playlist if unlisted,
// until the next call.
func (s *lossySource) setLost(unlisted bool, lost ...livestream.Rendition) {
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

func (s *lossySource) Renditions() []livestream.Rendition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(s.Source.Renditions(), func(r livestream.Rendition) bool { return s.unlisted[r.Itag] })
}

func (s *lossySource) Playlist(itag int) (livestream.Playlist, error) {
	if s.isLost(itag) {
		return livestream.Playlist{}, livestream.ErrNotFound
	}
	return s.Source.Playlist(itag)
}

func (s *lossySource) Segment(ctx context.Context, itag int, sequence uint64) ([]byte, error) {
	if s.isLost(itag) {
		return nil, livestream.ErrNotFound
	}
	return s.Source.Segment(ctx, itag, sequence)
}

func (s *lossySource) isLost(itag int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost[itag]
}

// watchLossyStream is watchStream of a lossySource.
func watchLossyStream(t *testing.T, c livestream.Config) (*watchedStream, *lossySource) {
	t.Helper()
	s := &lossySource{}
	return watchStream(t, shared, c, func(stream *livestream.Stream) youtube.Source {
		s.Source = stream
		return s
	}), s
}

// playlistRead reports whether a playlist of a rendition was requested after a
// time.
func (p *watchedStream) playlistRead(itag string, after time.Time) bool {
	return slices.ContainsFunc(p.env.YouTube.Requests(), func(r youtube.Request) bool {
		return r.Class == youtube.Playlist && r.Video == p.video && r.At.After(after) && strings.Contains(r.Path, "/itag/"+itag+"/")
	})
}

func TestALostRenditionIsReplacedByAnother(t *testing.T) { // decisions S7, S8
	runTimeline(t, 2, 100*time.Second)
	cases := []struct {
		name          string
		unlisted      bool
		limit         time.Duration // until the next one is watched
		watchedStream *watchedStream
		lost          time.Time
	}{
		{name: "it is gone, and no longer listed", unlisted: true, limit: renewalLimit},
		{name: "it is gone, and still listed", limit: 45 * time.Second},
	}
	for i := range cases {
		c := &cases[i]
		p, source := watchLossyStream(t, livestream.Config{})
		c.watchedStream, c.lost = p, time.Now()
		if p.playlistRead("93", p.Began()) {
			t.Fatal("the larger rendition is watched")
		}
		source.setLost(c.unlisted, livestream.Muxed144p)
	}
	for _, c := range cases {
		p := c.watchedStream
		p.subtest(t, c.name, func(t *testing.T) {
			eventually(t, time.Until(c.lost.Add(c.limit)), "the other is watched", func() bool { return p.playlistRead("93", c.lost) })
			p.waitCheck(renewalLimit)
		})
	}
	for _, c := range cases {
		p := c.watchedStream
		p.subtest(t, c.name+", a minute later", func(t *testing.T) {
			p.sleepUntil(c.lost, outageThreshold+5*time.Second) // an alert would have arrived by then
			if v := p.videoHealth(); v != "ok" {
				t.Errorf("the picture's health is %v", v)
			}
			p.assertBlackoutCycle(0)
			p.endAndAssert(blackoutAlert, blackoutRecovered)
		})
	}
}
