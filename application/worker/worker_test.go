package worker_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

const blackoutEvents = "stream.started alert.blackout alert.blackout_recovered stream.ended"

// playBlackout lets a stream go black, recover and end. It takes 45 s.
func playBlackout(s *fakeStream) {
	time.Sleep(20 * time.Second)
	s.set(func(s *fakeStream) { s.black = true })
	time.Sleep(15 * time.Second)
	s.set(func(s *fakeStream) { s.black = false })
	time.Sleep(10 * time.Second)
	s.set(func(s *fakeStream) { s.ended = true })
}

func TestShutdownFinishesTheAnalysisAndReportsItsEvents(t *testing.T) { // section 8.3
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{black: true}, newFakeGateway()
		g.config.SetThresholdSec(detector.Blackout, 1)
		s.analyse = func(ctx context.Context) {
			select {
			case <-time.After(8 * time.Second):
			case <-ctx.Done():
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		wait := startWorker(ctx, t, s, g)
		time.Sleep(2 * time.Second) // the first analysis is in flight
		cancel()
		began := time.Now()
		endsWell(t, wait)
		if took := time.Since(began); took != 6*time.Second {
			t.Errorf("took %s, want the 6 s that the analysis still needed", took)
		}
		if got := g.eventTypes(); got != "stream.started alert.blackout" {
			t.Errorf("events %s", got)
		}
	})
}

// ownMedia is a source's own way to its media.
type ownMedia struct {
	*fakeStream

	ends atomic.Int32
}

func (m *ownMedia) Close() { m.ends.Add(1) }

func TestASourceMayReadItsMediaInItsOwnWay(t *testing.T) { // section 5.6
	synctest.Test(t, func(t *testing.T) {
		own, other, g := &ownMedia{fakeStream: &fakeStream{}}, &fakeStream{}, newFakeGateway()
		other.onCall = func(_ context.Context, port string) {
			if port == "playlist" || port == "fetcher" {
				t.Errorf("the %s of all other sources is called", port)
			}
		}
		var asked monitor.StreamURL
		p := ports(other, g)
		p.Media = func(url monitor.StreamURL) worker.Media { asked = url; return own }
		stop := runWorker(t, p)
		time.Sleep(30 * time.Second)
		if own.opened.Load() == 0 || own.ends.Load() != 0 || asked == "" {
			t.Errorf("%d segments of %q were read; closed %d times", own.opened.Load(), asked, own.ends.Load())
		}
		stop()
		if own.ends.Load() != 1 {
			t.Errorf("closed %d times", own.ends.Load())
		}
	})
}

func TestShutdownEndsInTimeWhateverHangs(t *testing.T) { // section 8.3
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		s.analyse = func(ctx context.Context) { <-ctx.Done() }
		ctx, cancel := context.WithCancel(t.Context())
		wait := startWorker(ctx, t, s, g)
		time.Sleep(2 * time.Second)
		g.isDown(true)
		cancel()
		began := time.Now()
		endsWell(t, wait)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("took %s, more than the 30 s until SIGKILL", took)
		}
	})
}

func TestAHungResolverDoesNotDelayTheMedia(t *testing.T) { // decision S16
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		ctx, cancel := context.WithCancel(t.Context())
		wait := startWorker(ctx, t, s, g)
		time.Sleep(59*time.Minute + 50*time.Second)
		s.set(func(s *fakeStream) {
			s.resolve = func(ctx context.Context) watch.Resolution {
				<-ctx.Done()
				return watch.Resolution{State: watch.Unreachable}
			}
		})
		time.Sleep(20 * time.Second) // the regular question after an hour hangs
		before := g.lastReport().Statistics.TotalSegmentsAnalyzed
		time.Sleep(60 * time.Second)
		if got := g.lastReport().Statistics.TotalSegmentsAnalyzed - before; got < 29 {
			t.Errorf("%d checks in 60 s, want 30", got)
		}
		if s.resolves != 2 {
			t.Errorf("%d calls of Resolve, want 2", s.resolves)
		}
		cancel()
		endsWell(t, wait)
	})
}

func TestARecordingReplaysToTheSameEffects(t *testing.T) {
	var recording bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		wait := startWorker(t.Context(), t, s, g, func(c *worker.Config) { c.Recording = &recording })
		playBlackout(s)
		endsWell(t, wait)
	})
	text := recording.String()
	var types []string
	err := worker.Replay(&recording, func(m watch.RecordedStep) {
		for _, e := range m.Effects {
			if e, ok := e.(watch.EventEmitted); ok {
				types = append(types, string(e.Event.Type))
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(types, " "); got != blackoutEvents {
		t.Errorf("replayed %s, want %s", got, blackoutEvents)
	}

	t.Run("a watcher with other effects is ErrDiverged", func(t *testing.T) {
		changed := strings.Replace(text, `"blackout":6000000000`, `"blackout":9000000000`, 1)
		err := worker.Replay(strings.NewReader(changed), func(watch.RecordedStep) {})
		if !errors.Is(err, worker.ErrDiverged) {
			t.Errorf("got %v", err)
		}
	})
	for name, broken := range map[string]string{
		"an empty recording":  "",
		"no recording at all": "hello\n",
		"a line cut off":      text[:len(text)-20],
		"an unknown kind":     strings.SplitAfter(text, "\n")[0] + `{"at":"2026-01-01T00:00:00Z","kind":"unknown","observation":{}}` + "\n",
	} {
		t.Run(name+" is an error", func(t *testing.T) {
			if err := worker.Replay(strings.NewReader(broken), func(watch.RecordedStep) {}); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestACalmStreamIsReportedAtEachCheckAndHeartbeat(t *testing.T) { // decision S11
	for name, c := range map[string]struct {
		resolve            func(context.Context) watch.Resolution
		reports, snapshots [2]int // fewest and most in ten minutes
	}{
		"while it is checked every 2 s": {nil, [2]int{290, 310}, [2]int{10, 14}},
		"while nothing happens but a question every 30 s": {
			func(context.Context) watch.Resolution { return watch.Resolution{State: watch.Upcoming} }, [2]int{59, 63}, [2]int{1, 21},
		},
	} {
		scenario(t, name, func(t *testing.T) {
			g := newFakeGateway()
			stop := runWorker(t, ports(&fakeStream{resolve: c.resolve}, g))
			time.Sleep(10 * time.Minute)
			if age := time.Since(g.lastReport().At); age > 41*time.Second {
				t.Errorf("the last report is %s old", age)
			}
			stop()
			snapshots := 0
			for _, r := range g.reports {
				if r.Snapshot != nil {
					snapshots++
				}
			}
			if n := len(g.reports); n < c.reports[0] || n > c.reports[1] || snapshots < c.snapshots[0] || snapshots > c.snapshots[1] {
				t.Errorf("%d snapshots in %d reports of 10 minutes", snapshots, n)
			}
		})
	}
}
