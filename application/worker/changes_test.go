package worker_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// wallClock is a machine's wall clock, which is wrong by an offset. The virtual time of
// synctest is the true time and the monotonic clock.
type wallClock struct{ offset atomic.Int64 }

func (c *wallClock) set(offset time.Duration) { c.offset.Store(int64(offset)) }

func (c *wallClock) now() time.Time {
	return time.Now().Round(0).Add(time.Duration(c.offset.Load()))
}

// A worker that starts before the clock is synchronised gives right times once it is.
// The step itself causes no event.
func TestAWorkerFollowsTheClockWhenItIsSet(t *testing.T) {
	for _, wrong := range []time.Duration{-5 * time.Hour, -10 * time.Minute, -5 * time.Second, 5 * time.Second, 10 * time.Minute, 5 * time.Hour} {
		t.Run(fmt.Sprintf("from %s off", wrong), func(t *testing.T) {
			var recording bytes.Buffer
			synctest.Test(t, func(t *testing.T) {
				s, g := &fakeStream{}, newFakeGateway()
				var clock wallClock
				clock.set(wrong)
				wait := startWorker(t.Context(), t, s, g, func(c *worker.Config) { c.Now, c.Recording = clock.now, &recording })
				time.Sleep(20 * time.Second)
				clock.set(0)
				stepped := time.Now()
				time.Sleep(10 * time.Minute) // longer than any limit on an outage or blindness
				began := time.Now()
				playBlackout(s)
				endsWell(t, wait)
				if got := g.eventTypes(); got != blackoutEvents {
					t.Errorf("events %s, want %s", got, blackoutEvents)
				}
				for _, e := range g.accepted[1:] {
					if off := e.At.Sub(began); off < 0 || off > time.Minute {
						t.Errorf("%s is stamped %s from when the clock was set", e.Type, e.At.Sub(stepped))
					}
					if a, ok := e.Data.(event.Alert); ok && a.StartedAt.Sub(began.Add(20*time.Second)).Abs() > 3*time.Second {
						t.Errorf("black since %s after the true onset", a.StartedAt.Sub(began.Add(20*time.Second)))
					}
				}
				if last := g.lastReport(); time.Since(last.At).Abs() > 5*time.Second || last.Status != monitor.Completed {
					t.Errorf("the last report says %s, %s ago", last.Status, time.Since(last.At))
				}
			})
			if err := worker.Replay(&recording, func(watch.RecordedStep) {}); err != nil {
				t.Errorf("the recording does not replay: %v", err)
			}
		})
	}
}

// A report that is older than the newest one counts as overtaken (monitor.Report).
// This must not happen to many minutes of reports after the clock is set back.
func TestReportsAreNotOvertakenWhenTheClockIsSetBack(t *testing.T) {
	for _, back := range []time.Duration{3 * time.Second, 10 * time.Minute, 29 * time.Minute, 5 * time.Hour} {
		scenario(t, back.String(), func(t *testing.T) {
			s, g := &fakeStream{}, newFakeGateway()
			var newest time.Time
			overtaken := 0
			g.respond = func(r monitor.Report) (monitor.Order, error) {
				if r.Overtaken(newest, monitor.Monitoring) {
					overtaken++
				}
				newest = r.At
				return monitor.Run, nil
			}
			var clock wallClock
			wait := startWorker(t.Context(), t, s, g, func(c *worker.Config) { c.Now = clock.now })
			time.Sleep(30 * time.Second)
			clock.set(-back)
			time.Sleep(time.Minute)
			endStream(t, s, wait)
			if overtaken > 0 {
				t.Errorf("%d reports count as overtaken", overtaken)
			}
			if off := time.Since(g.lastReport().At.Add(back)); off > 5*time.Second {
				t.Errorf("the end is stamped %s off", off)
			}
		})
	}
}

// change stores a changed configuration, as the gateway does.
func (g *fakeGateway) change(change func(*monitor.Config)) {
	g.set(func(g *fakeGateway) {
		change(&g.config)
		g.revision++
	})
}

func (g *fakeGateway) alerts() (all []event.Alert) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range g.accepted {
		if a, is := e.Data.(event.Alert); is {
			all = append(all, a)
		}
	}
	return all
}

// settingSpy notes the silence threshold of each analysis.
type settingSpy struct {
	worker.Analyser

	silence atomic.Value // float64
}

func (s *settingSpy) Analyse(ctx context.Context, segment watch.Segment, calm watch.Look, body io.Reader, setting func(string) float64) (watch.Analysis, error) {
	s.silence.Store(setting("silence_db_threshold"))
	return s.Analyser.Analyse(ctx, segment, calm, body, setting)
}

func TestAChangedConfigurationIsAdoptedWithoutAGap(t *testing.T) { // 16.6
	var recording bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		g.config.SetThresholdSec(detector.Blackout, 300)
		g.set(func(g *fakeGateway) { g.revision = 3 })
		spy := &settingSpy{Analyser: s}
		all := ports(s, g)
		all.Analyser = spy
		wait := startWorkerUntil(t.Context(), context.Background(), all, func(c *worker.Config) { c.Recording = &recording })
		time.Sleep(10 * time.Second)
		black := time.Now()
		s.set(func(s *fakeStream) { s.black = true })
		time.Sleep(40 * time.Second)
		g.change(func(c *monitor.Config) {
			c.SetThresholdSec(detector.Blackout, 20)
			c.Set("silence_db_threshold", -42)
			g.references = []detector.Reference{{Name: "soon"}}
		})
		time.Sleep(13 * time.Second) // one heartbeat, and one check
		alerts := g.alerts()
		if len(alerts) != 1 || alerts[0].ThresholdSec != 20 || alerts[0].StartedAt.Sub(black).Abs() > 4*time.Second {
			t.Errorf("the alerts are %+v; it was black from %v", alerts, black)
		}
		if got := spy.silence.Load(); got != -42.0 {
			t.Errorf("the analyser has silence_db_threshold %v", got)
		}
		endStream(t, s, wait)
		if got, want := g.eventTypes(), "stream.started alert.blackout stream.ended"; got != want {
			t.Errorf("events %s, want %s", got, want)
		}
	})
	err := worker.Replay(&recording, func(s watch.RecordedStep) {
		if o, is := s.Observation.(watch.RulesChanged); is && (len(o.Rules.References) != 1 || o.Rules.References[0].Name != "soon") {
			t.Errorf("the references of the changed rules are %+v", o.Rules.References)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAPausedWorkerReportsAndAsksNothing(t *testing.T) { // 16.9
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		calls := atomic.Int32{}
		hangs, cancelled := make(chan struct{}), make(chan struct{})
		s.onCall = func(context.Context, string) { calls.Add(1) }
		wait := startWorker(t.Context(), t, s, g)
		time.Sleep(10 * time.Second)
		s.set(func(s *fakeStream) {
			s.black = true
			s.analyse = func(ctx context.Context) { close(hangs); <-ctx.Done(); close(cancelled) }
		})
		<-hangs
		changed := time.Now()
		g.change(func(*monitor.Config) { g.pausedUntil = changed.Add(10 * time.Minute) })
		<-cancelled
		if after := time.Since(changed); after > 12*time.Second { // a heartbeat; by itself the analysis would end after 20 s
			t.Errorf("what hung was cancelled %v after the pause was stored", after)
		}
		s.set(func(s *fakeStream) { s.analyse = nil })
		before, reports := calls.Load(), len(g.reports)
		time.Sleep(9*time.Minute + 40*time.Second)
		if n := calls.Load() - before; n > 0 {
			t.Errorf("%d calls of adapters in the pause", n)
		}
		if n := len(g.reports) - reports; n < 50 {
			t.Errorf("%d reports in the pause, which do not keep the lease", n)
		}
		if last := g.lastReport(); !last.Paused || last.Revision != 1 || last.Status != monitor.Monitoring {
			t.Errorf("the report in the pause is %+v", last)
		}
		time.Sleep(time.Minute) // the end of the pause, and a threshold
		if last := g.lastReport(); last.Paused {
			t.Errorf("the report after the pause is %+v", last)
		}
		endStream(t, s, wait)
		if got, want := g.eventTypes(), "stream.started alert.blackout stream.ended"; got != want {
			t.Errorf("events %s, want %s", got, want)
		}
	})
}

func TestNoReportWaitsForAChangedConfiguration(t *testing.T) { // 16.6
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		wait := startWorker(t.Context(), t, s, g)
		time.Sleep(10 * time.Second)
		g.change(func(c *monitor.Config) { c.SetThresholdSec(detector.Blackout, 60) })
		g.set(func(g *fakeGateway) { g.assignmentErr = errGatewayDown })
		time.Sleep(15 * time.Second)
		s.set(func(s *fakeStream) { s.black = true })
		time.Sleep(10 * time.Second)
		if alerts := g.alerts(); len(alerts) != 1 || alerts[0].ThresholdSec != 6 {
			t.Errorf("the alerts by the old configuration are %+v", alerts)
		}
		s.set(func(s *fakeStream) { s.black = false })
		g.set(func(g *fakeGateway) { g.assignmentErr = nil })
		time.Sleep(5 * time.Second)
		s.set(func(s *fakeStream) { s.black = true })
		time.Sleep(50 * time.Second)
		if alerts := g.alerts(); len(alerts) != 1 {
			t.Errorf("the alerts by the new configuration are %+v", alerts)
		}
		endStream(t, s, wait)
	})
}
