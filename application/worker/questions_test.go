package worker_test

import (
	"context"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/monitor/sourcetest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

func TestMediaAreFetchedThroughTheAddressAndWithTheHeaderOfTheirURLs(t *testing.T) { // decision O8, section 5.5
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		s.resolve = func(context.Context) watch.Resolution {
			const manifest = "https://media.test/list.m3u8"
			header := watch.NewRequestHeader(map[string]string{"X-Token": "s3cr3t"}, nil, []string{manifest})
			return watch.Resolution{State: watch.Live, Manifest: manifest, Egress: "a", Header: header}
		}
		var requests, strays atomic.Int32
		s.onCall = func(ctx context.Context, port string) {
			if port != "playlist" && port != "fetcher" {
				return
			}
			requests.Add(1)
			if request.Egress(ctx) != "a" || request.Header(ctx).For(&url.URL{Scheme: "https", Host: "media.test"})["x-token"] != "s3cr3t" {
				strays.Add(1)
			}
		}
		for range 2 { // the second worker goes on from the snapshot of the first
			stop := runWorker(t, ports(s, g))
			time.Sleep(time.Minute)
			stop()
		}
		if strays.Load() > 0 || requests.Load() < 100 {
			t.Errorf("%d of %d requests left through another address, or without the header", strays.Load(), requests.Load())
		}
		if s.resolves != 1 {
			t.Errorf("the stream was resolved %d times", s.resolves)
		}
	})
}

// The stream is upcoming, but at one address its page says that the video is removed.
func TestARefusalWhileWaitingIsConfirmedThroughAnotherAddress(t *testing.T) { // S19
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		var avoided []string
		s.resolve = func(ctx context.Context) watch.Resolution {
			avoided = append(avoided, request.AvoidedEgress(ctx))
			if len(avoided) > 1 && request.AvoidedEgress(ctx) == "" {
				return watch.Resolution{State: watch.Removed, Egress: "a"}
			}
			return watch.Resolution{State: watch.Upcoming, Egress: "b"}
		}
		stop := runWorker(t, ports(s, g))
		time.Sleep(5 * time.Minute)
		stop()
		if len(avoided) < 6 || !slices.Equal(avoided[:4], []string{"", "", "a", ""}) {
			t.Errorf("avoided %q", avoided)
		}
	})
}

func TestAQuestionThatWaitsBecomesUrgentWhenItsStreamFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		urgent := make(chan time.Time, 1)
		s.resolve = func(ctx context.Context) watch.Resolution {
			if u, raised := worker.UrgencyOf(ctx); u == watch.UrgencyPoll {
				select {
				case <-raised:
					urgent <- time.Now()
				case <-ctx.Done():
				}
			}
			return watch.Resolution{State: watch.Live, Manifest: "https://media.test/list.m3u8"}
		}
		wait := startWorker(t.Context(), t, s, g)
		time.Sleep(time.Hour + time.Minute) // the regular question of the hour waits
		failed := time.Now()
		s.set(func(s *fakeStream) { s.unreadable = true })
		if after := (<-urgent).Sub(failed); after > 10*time.Second {
			t.Errorf("it became urgent after %v", after)
		}
		s.set(func(s *fakeStream) { s.unreadable, s.ended = false, true })
		endsWell(t, wait)
	})
}

// fakeSource is the resolver and prober of one source.
type fakeSource struct{}

func (fakeSource) Resolve(context.Context, monitor.StreamURL) watch.Resolution {
	return watch.Resolution{State: watch.Upcoming}
}

func (fakeSource) Probe(context.Context, monitor.StreamURL) watch.ProbeResult {
	return watch.ProbeResult{Known: true}
}

func TestAStreamIsResolvedByItsSource(t *testing.T) {
	sourcetest.Add(t, sourcetest.Imaginary)
	own := worker.Sources{sourcetest.Imaginary.Name: {Resolver: fakeSource{}}}.Resolve(t.Context(), sourcetest.Stream)
	expect.Equal(t, "the made-up source answers", own, watch.Resolution{State: watch.Upcoming, Lifetime: sourcetest.Imaginary.Lifetime})
	const stream monitor.StreamURL = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
	for name, c := range map[string]struct {
		sources worker.Sources
		state   watch.StreamState
		known   bool
	}{
		"a resolver and a prober": {worker.Sources{monitor.YouTube: {Resolver: fakeSource{}, Prober: fakeSource{}}}, watch.Upcoming, true},
		"no prober":               {worker.Sources{monitor.YouTube: {Resolver: fakeSource{}}}, watch.Upcoming, false},
		"another source":          {worker.Sources{sourcetest.Imaginary.Name: {Resolver: fakeSource{}, Prober: fakeSource{}}}, watch.ToolFailed, false},
	} {
		t.Run(name, func(t *testing.T) {
			if r := c.sources.Resolve(t.Context(), stream); r.State != c.state || (r.Detail == "") != (c.state == watch.Upcoming) {
				t.Errorf("resolved as %+v", r)
			}
			if p := c.sources.Probe(t.Context(), stream); p.Known != c.known || (p.Detail == "") != c.known {
				t.Errorf("probed as %+v", p)
			}
		})
	}
}
