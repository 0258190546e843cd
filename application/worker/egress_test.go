package worker_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestMediaAreFetchedThroughTheAddressOfTheirURLs(t *testing.T) { // decision O8
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		s.resolve = func(context.Context) watch.Resolution {
			return watch.Resolution{State: watch.Live, Manifest: "https://media.test/list.m3u8", Egress: "a"}
		}
		var requests, strays atomic.Int32
		s.onCall = func(ctx context.Context, port string) {
			if port != "playlist" && port != "fetcher" {
				return
			}
			requests.Add(1)
			if request.Egress(ctx) != "a" {
				strays.Add(1)
			}
		}
		for range 2 { // the second worker goes on from the snapshot of the first
			stop := runWorker(t, ports(s, g))
			time.Sleep(time.Minute)
			stop()
		}
		if strays.Load() > 0 || requests.Load() < 100 {
			t.Errorf("%d of %d requests left through another address", strays.Load(), requests.Load())
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
