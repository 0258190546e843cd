package worker_test

import (
	"context"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// addressedStream is a stream whose URLs are bound to an address. It counts the requests that
// come through others.
type addressedStream struct {
	*fakeStream

	mu               sync.Mutex
	address          string
	requests, strays int
}

func (s *addressedStream) count(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if request.Egress(ctx) != s.address {
		s.strays++
	}
}

func (s *addressedStream) Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.fakeStream.Resolve(ctx, url)
	r.Egress = s.address
	return r
}

func (s *addressedStream) ReadPlaylist(ctx context.Context, url string) watch.Playlist {
	s.count(ctx)
	return s.fakeStream.ReadPlaylist(ctx, url)
}

func (s *addressedStream) FetchSegment(ctx context.Context, segment watch.Segment) (io.ReadCloser, error) {
	s.count(ctx)
	return s.fakeStream.FetchSegment(ctx, segment)
}

func TestMediaAreFetchedThroughTheAddressOfTheirURLs(t *testing.T) { // decision O8
	synctest.Test(t, func(t *testing.T) {
		s, g := &addressedStream{fakeStream: &fakeStream{}, address: "a"}, newFakeGateway()
		p := worker.Ports{Gateway: g, Resolver: s, Prober: s, Playlists: s, Segments: s, Analyser: s}
		for range 2 { // the second worker goes on from the snapshot of the first
			ctx, cancel := context.WithCancel(t.Context())
			wait := startWorkerUntil(ctx, context.Background(), p)
			time.Sleep(time.Minute)
			cancel()
			endsWell(t, wait)
		}
		if s.strays > 0 || s.requests < 100 {
			t.Errorf("%d of %d requests left through another address", s.strays, s.requests)
		}
		if s.resolves != 1 {
			t.Errorf("the stream was resolved %d times", s.resolves)
		}
	})
}

// suspectStream is upcoming, but at one address its page says that the video is removed.
type suspectStream struct {
	*fakeStream

	mu      sync.Mutex
	asked   int
	avoided []string
}

func (s *suspectStream) Resolve(ctx context.Context, _ monitor.StreamURL) watch.Resolution {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	avoided := request.AvoidedEgress(ctx)
	s.avoided = append(s.avoided, avoided)
	if s.asked > 1 && avoided == "" {
		return watch.Resolution{State: watch.Removed, Egress: "a"}
	}
	return watch.Resolution{State: watch.Upcoming, Egress: "b"}
}

func TestARefusalWhileWaitingIsConfirmedThroughAnotherAddress(t *testing.T) { // S19
	synctest.Test(t, func(t *testing.T) {
		s, g := &suspectStream{fakeStream: &fakeStream{}}, newFakeGateway()
		p := worker.Ports{Gateway: g, Resolver: s, Prober: s, Playlists: s, Segments: s, Analyser: s}
		ctx, cancel := context.WithCancel(t.Context())
		wait := startWorkerUntil(ctx, context.Background(), p)
		time.Sleep(5 * time.Minute)
		cancel()
		endsWell(t, wait)
		if len(s.avoided) < 6 || !slices.Equal(s.avoided[:4], []string{"", "", "a", ""}) {
			t.Errorf("avoided %q", s.avoided)
		}
	})
}
