package quality_test

import (
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/dash"
	"github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	"github.com/stream-monitor/stream-monitor/adapters/stream/manifest"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

const (
	packagingInterval = 3 // seconds between two checks
	packagingExact    = 100 * time.Millisecond
)

// TestEveryPackagingIsWatchedAlike watches the same recording in every packaging. The events must not depend on it.
func TestEveryPackagingIsWatchedAlike(t *testing.T) { // section 5.1
	library, err := livestream.Open(livestream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	path, err := testtools.Tool("ffmpeg", "")
	if err != nil {
		t.Fatal(err)
	}
	pool := decoders(t)
	for _, p := range livestream.Packagings() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			watchPackaging(t, library, p, newRemembered(path, pool))
		})
	}
}

func watchPackaging(t *testing.T, library *livestream.Library, p livestream.Packaged, analyser *remembered) {
	t.Helper()
	var elapsed atomic.Int64 // nanoseconds since the epoch
	c := p.Config
	c.Preroll += livestream.ProgramLead
	c.Start, c.Now = epoch, func() time.Time { return epoch.Add(time.Duration(elapsed.Load())) }
	stream, err := library.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(stream.Handler())
	defer server.Close()
	client := localClient(0)
	defer client.Close()

	config := monitor.DefaultConfig()
	config.CheckIntervalSec = packagingInterval
	for _, name := range []detector.Name{detector.Blackout, detector.Silence} {
		config.SetThresholdSec(name, 6)
	}
	tasks := servedTasks{
		at: func(now time.Time, _ string) time.Duration { elapsed.Store(int64(now.Sub(epoch))); return 0 },
		resolve: func() watch.Resolution {
			return watch.Resolution{State: watch.Live, Source: "player", Manifest: server.URL + "/" + stream.Entry(), ActualStart: epoch}
		},
		segments: client,
		reader:   manifest.NewReader(client.Get, hls.Format{}, dash.Format{TimeServers: dash.NewTimeServers(client.Get, client.Head)}),
		analyser: analyser,
		setting:  config.Value,
	}
	events, finished := simulate(watch.New(watch.RulesOf(config, watch.Smallest), epoch), epoch, epoch.Add(5*time.Minute), func(next watch.Task, now time.Time) (watch.Observation, time.Duration) {
		return tasks.observe(t.Context(), next, now)
	})
	if got, want := listTypes(events), strings.Join(p.Events(), " "); got != want || !finished {
		t.Fatalf("the events are %s, want %s; the watch has finished: %t", got, want, finished)
	}
	at := map[event.Type]time.Time{}
	for _, e := range events {
		at[e.Type] = instantOf(e.Event)
	}
	near := func(what event.Type, offset time.Duration) {
		if off := at[what].Sub(stream.At(p.Offset(offset))); off.Abs() > packagingTolerance(p) {
			t.Errorf("%s is off by %s, more than %s", what, off, packagingTolerance(p))
		}
	}
	for _, c := range []struct {
		alert, recovered event.Type
		from, to         time.Duration
	}{
		{event.Blackout, event.BlackoutRecovered, livestream.Program.Black, livestream.Program.Picture},
		{event.Silence, event.SilenceRecovered, livestream.Program.Silence, livestream.Program.Sound},
	} {
		if at[c.recovered].IsZero() { // the track is missing from the start
			if began := at[c.alert].Sub(epoch); began > 5*time.Second {
				t.Errorf("%s began after %s", c.alert, began)
			}
			continue
		}
		near(c.alert, c.from)
		near(c.recovered, c.to)
	}
	if missed := stream.NotFound(); len(missed) > 0 {
		t.Errorf("requested what was not there: %v", missed)
	}
}

// packagingTolerance is how far an instant may be off. Without program times a segment ends when the playlist that lists it is
// fetched (decision S1). That may be a check interval after it appeared.
func packagingTolerance(p livestream.Packaged) time.Duration {
	if p.Packaging.ProgramTime == livestream.NoDateTime {
		return packagingInterval*time.Second + packagingExact
	}
	return packagingExact
}
