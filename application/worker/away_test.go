package worker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// outages are the ways in which a gateway can fail until the time end: what becomes of a report before.
var outages = map[string]func(ctx context.Context, end time.Time) error{
	"refuses connections": func(context.Context, time.Time) error { return errGatewayDown },
	"has no database":     func(context.Context, time.Time) error { return monitor.Errorf(monitor.Internal, "no database") },
	"is halted and continues": func(ctx context.Context, end time.Time) error {
		select {
		case <-time.After(time.Until(end)):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	},
	"is cut off and loses every report": func(ctx context.Context, _ time.Time) error {
		<-ctx.Done()
		return ctx.Err()
	},
}

func TestAnAlertArrivesWithin5SecondsOfTheGatewaysReturn(t *testing.T) {
	for name, outage := range outages {
		for _, duration := range []time.Duration{time.Second, 7 * time.Second, 33 * time.Second, time.Minute} {
			scenario(t, fmt.Sprintf("a gateway that %s for %s", name, duration), func(t *testing.T) {
				s, g := &fakeStream{}, newFakeGateway()
				stop := runWorker(t, ports(s, g))
				time.Sleep(20 * time.Second)
				s.set(func(s *fakeStream) { s.black = true })
				end := time.Now().Add(6*time.Second + duration) // the alert is due in about 6 s
				g.set(func(g *fakeGateway) {
					g.onRequest = func(ctx context.Context) error {
						if time.Now().Before(end) {
							return outage(ctx, end)
						}
						return nil
					}
				})
				time.Sleep(time.Until(end))
				for g.eventTypes() != "stream.started alert.blackout" && time.Since(end) < time.Minute {
					time.Sleep(10 * time.Millisecond)
				}
				if took := time.Since(end); took > 5*time.Second {
					t.Errorf("the alert arrived %s after the return", took)
				}
				stop()
			})
		}
	}
}

func TestEachAttemptSaysWhenItWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		calls := 0
		g.respond = func(r monitor.Report) (monitor.Order, error) {
			if late := time.Since(r.SentAt).Abs(); late > time.Second {
				t.Errorf("a report says that it was sent %s ago", late)
			}
			if calls++; calls%4 != 0 {
				return "", errGatewayDown
			}
			return monitor.Run, nil
		}
		wait := startWorker(t.Context(), t, s, g)
		time.Sleep(time.Minute)
		endStream(t, s, wait)
	})
}

func TestASlowGatewayGetsEveryEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{black: true}, newFakeGateway()
		g.onRequest = func(ctx context.Context) error {
			select {
			case <-time.After(12 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		stop := runWorker(t, ports(s, g))
		time.Sleep(3 * time.Minute)
		if got := g.eventTypes(); got != "stream.started alert.blackout" {
			t.Errorf("accepted %s", got)
		}
		s.set(func(s *fakeStream) { s.black = false })
		time.Sleep(30 * time.Second)
		if got := g.eventTypes(); got != "stream.started alert.blackout alert.blackout_recovered" {
			t.Errorf("once the worker knows that the gateway is slow: accepted %s", got)
		}
		stop()
	})
}

func TestAGatewayOutageIsLoggedEvery30Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, g := &fakeStream{}, newFakeGateway()
		wait := startWorker(t.Context(), t, s, g, logTo(&log))
		time.Sleep(20 * time.Second)
		g.isDown(true)
		time.Sleep(10 * time.Minute)
		g.isDown(false)
		time.Sleep(10 * time.Second)
		endStream(t, s, wait)
		if n := strings.Count(log.String(), "trying again"); n < 19 || n > 21 {
			t.Errorf("logged %d times in 10 minutes, want every 30 s", n)
		}
		if n := strings.Count(log.String(), "accepts reports again"); n != 1 {
			t.Errorf("the return is logged %d times", n)
		}
	})
}

// alternatingBlackout makes every other segment black, and so one event per segment.
func alternatingBlackout(g *fakeGateway) func(watch.Segment) bool {
	g.config.CheckIntervalSec = 2
	g.config.SetThresholdSec(detector.Blackout, 1)
	return func(s watch.Segment) bool { return s.Sequence%2 == 0 }
}

func TestManyEventsAreSplitIntoConsistentReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		s.blackAt = alternatingBlackout(g)
		largest := 0
		g.respond = func(monitor.Report) (monitor.Order, error) { return "", errGatewayDown }
		wait := startWorker(t.Context(), t, s, g)
		time.Sleep(45 * time.Minute)
		g.set(func(g *fakeGateway) {
			g.respond = func(r monitor.Report) (monitor.Order, error) {
				largest = max(largest, len(r.Events))
				return monitor.Run, nil
			}
		})
		began := time.Now()
		for g.eventCount() < 1200 && time.Since(began) < time.Minute {
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("took %s", took)
		}
		endStream(t, s, wait)
		if largest > 200 || len(g.accepted) < 1200 {
			t.Errorf("%d events were accepted, at most %d in one report", len(g.accepted), largest)
		}
		counted := 0
		for i, r := range g.reports {
			for _, e := range r.Events {
				if e.Type == event.Blackout {
					counted++
				}
			}
			if r.Status == "" || r.Snapshot == nil || r.Statistics.Alerts(detector.Blackout) != counted {
				t.Errorf("report %d counts %+v, but %d alerts were accepted so far", i, r.Statistics, counted)
			}
		}
		checkOrder(t, g)
	})
}

// checkOrder checks that events are in order and none is repeated.
func checkOrder(t *testing.T, g *fakeGateway) {
	t.Helper()
	seen := map[string]bool{}
	for i, e := range g.accepted {
		if i > 0 && e.At.Before(g.accepted[i-1].At) {
			t.Errorf("event %d, %s, is older than the event before", i, e.Type)
		}
		if seen[e.ID] {
			t.Errorf("event %s was accepted twice", e.ID)
		}
		seen[e.ID] = true
	}
}

func TestAReplacedWorkerEndsAtOnce(t *testing.T) { // decision O2
	waiting := func(context.Context) watch.Resolution { return watch.Resolution{State: watch.Upcoming} }
	for name, c := range map[string]struct {
		resolve func(context.Context) watch.Resolution
		reason  error // nil: it is ordered to stop
		limit   time.Duration
	}{
		"at the next heartbeat while it waits for the start": {waiting, monitor.ErrSuperseded, 10 * time.Second},
		"at the next check while it analyses":                {nil, fmt.Errorf("report: %w", monitor.ErrSuperseded), 2500 * time.Millisecond},
		"if its monitor is gone":                             {nil, monitor.Errorf(monitor.NotFound, "no such monitor"), 2500 * time.Millisecond},
		"if it is ordered to stop":                           {nil, nil, 2500 * time.Millisecond},
	} {
		scenario(t, name, func(t *testing.T) {
			s, g := &fakeStream{resolve: c.resolve}, newFakeGateway()
			wait := startWorker(t.Context(), t, s, g)
			time.Sleep(time.Minute + time.Millisecond)
			g.set(func(g *fakeGateway) {
				g.respond = func(monitor.Report) (monitor.Order, error) { return monitor.Stop, c.reason }
			})
			began := time.Now()
			if err := wait(); !errors.Is(err, c.reason) {
				t.Errorf("ended with %v", err)
			}
			if took := time.Since(began); took > c.limit {
				t.Errorf("took %s", took)
			}
		})
	}
	scenario(t, "it leaves unsent events to its successor", func(t *testing.T) {
		var log bytes.Buffer
		s, g := &fakeStream{}, newFakeGateway()
		wait := startWorker(t.Context(), t, s, g, logTo(&log))
		time.Sleep(20 * time.Second)
		g.isDown(true)
		s.set(func(s *fakeStream) { s.black = true })
		time.Sleep(20 * time.Second)
		g.set(func(g *fakeGateway) { g.newestGeneration = 2 })
		began := time.Now()
		if err := wait(); !errors.Is(err, monitor.ErrSuperseded) {
			t.Errorf("ended with %v", err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("took %s", took)
		}
		if strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "The worker that took over sends the remaining events") {
			t.Errorf("the log says\n%s", log.String())
		}
	})
}

func TestForceEndsEveryTaskAtOnce(t *testing.T) {
	hang := func(ctx context.Context) { <-ctx.Done() }
	hangReport := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, set := range map[string]func(s *fakeStream, g *fakeGateway){
		"an analysis that hangs": func(s *fakeStream, _ *fakeGateway) { s.analyse = hang },
		"a resolver that hangs": func(s *fakeStream, _ *fakeGateway) {
			s.resolve = func(ctx context.Context) watch.Resolution { hang(ctx); return watch.Resolution{} }
		},
		"a report that hangs":  func(_ *fakeStream, g *fakeGateway) { g.onRequest = hangReport },
		"an unsent last event": func(s *fakeStream, g *fakeGateway) { s.ended, g.onRequest = true, hangReport },
		"no task":              func(*fakeStream, *fakeGateway) {},
		"no assignment yet":    func(_ *fakeStream, g *fakeGateway) { g.assignmentErr = errGatewayDown },
	} {
		stopHangs := !strings.HasPrefix(name, "no ") && name != "a resolver that hangs"
		for _, stopped := range []bool{true, false} {
			scenario(t, fmt.Sprintf("%s, stopped before is %v", name, stopped), func(t *testing.T) {
				s, g := &fakeStream{}, newFakeGateway()
				set(s, g)
				ctx, stop := context.WithCancel(t.Context())
				force, kill := context.WithCancel(t.Context())
				defer stop()
				wait := startWorkerUntil(ctx, force, ports(s, g))
				time.Sleep(3 * time.Second)
				if stopped && stopHangs {
					stop()
					time.Sleep(time.Second)
				}
				began := time.Now()
				kill()
				if err := wait(); !errors.Is(err, worker.ErrForced) {
					t.Errorf("ended with %v", err)
				}
				if took := time.Since(began); took > 0 {
					t.Errorf("took %s", took)
				}
			})
		}
	}
}

func TestAWorkerGoesOnUntilTheEndOfItsStreamIsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		wait := startWorker(t.Context(), t, s, g)
		time.Sleep(20 * time.Second)
		g.isDown(true)
		s.set(func(s *fakeStream) { s.ended = true })
		began := time.Now()
		time.AfterFunc(20*time.Minute, func() { g.isDown(false) })
		if err := wait(); err != nil || time.Since(began) < 20*time.Minute || g.eventTypes() != "stream.started stream.ended" {
			t.Errorf("ended with %v after %v and the events %s", err, time.Since(began), g.eventTypes())
		}
	})
}
