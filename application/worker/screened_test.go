package worker_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// screening is a stream whose analyser looks as closely as it is asked to. Every segment is
// black for a moment, on its key frame.
type screening struct {
	*fakeStream

	size    int // bytes of a segment
	fetched map[string]int
	looked  map[string][]watch.Look
	wrong   []string // bodies that were not those of their segment
}

func (s *screening) FetchSegment(_ context.Context, segment watch.Segment) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetched[segment.ID()]++
	return io.NopCloser(strings.NewReader(s.content(segment))), nil
}

func (s *screening) content(segment watch.Segment) string {
	return segment.URI + strings.Repeat(" ", s.size)
}

func (s *screening) Analyse(_ context.Context, segment watch.Segment, look watch.Look, body io.Reader, _ func(string) float64) (watch.Analysis, error) {
	content, err := io.ReadAll(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || string(content) != s.content(segment) {
		s.wrong = append(s.wrong, segment.URI)
	}
	s.looked[segment.ID()] = append(s.looked[segment.ID()], look)
	luma := 100.0
	a := watch.Analysis{
		Video:     watch.Track{Present: true, To: segment.Duration},
		Audio:     watch.Track{Present: true, To: segment.Duration},
		Intervals: map[detector.Name][]watch.Interval{detector.Blackout: {{To: segment.Duration / 10}}},
		Measures:  []watch.Measure{{Luma: &luma}},
	}
	if look == watch.KeyFrames {
		a.Screen = &watch.Screen{KeyFrames: 1}
	}
	return a, nil
}

func TestACloserLookNeedsNoSecondDownload(t *testing.T) { // S18
	for name, c := range map[string]struct{ size, downloads int }{
		"of a segment that was just screened": {1 << 10, 1},
		"unless the segment is too large":     {9 << 20, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, g := &screening{fakeStream: &fakeStream{}, size: c.size, fetched: map[string]int{}, looked: map[string][]watch.Look{}}, newFakeGateway()
				ctx, cancel := context.WithCancel(t.Context())
				wait := startWorkerUntil(ctx, context.Background(), worker.Ports{Gateway: g, Resolver: s, Prober: s, Playlists: s, Segments: s, Analyser: s})
				time.Sleep(21 * time.Second) // between two checks
				cancel()
				if err := wait(); err != nil {
					t.Fatal(err)
				}
				screened := 0
				for id, looks := range s.looked {
					if looks[0] != watch.KeyFrames {
						continue // the first one
					}
					screened++
					if len(looks) != 2 || looks[1] != watch.EveryFrame || s.fetched[id] != c.downloads {
						t.Errorf("%s was looked at %q and fetched %d times", id, looks, s.fetched[id])
					}
				}
				if screened < 3 || len(s.wrong) > 0 {
					t.Errorf("%d segments were screened; wrong bytes of %q", screened, s.wrong)
				}
				minutes := minutesOf(g.reports)
				measured := 0
				for _, m := range minutes {
					measured += m.N
				}
				if measured > len(s.looked) {
					t.Errorf("%d measures of %d segments", measured, len(s.looked))
				}
			})
		})
	}
}
