package worker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// ways are how a gateway can be away for a time: each gives what a report meets
// then.
var ways = map[string]func(back time.Time) func(context.Context) error{
	"refuses connections": func(back time.Time) func(context.Context) error {
		return func(context.Context) error {
			if time.Now().Before(back) {
				return errAway
			}
			return nil
		}
	},
	"has no database": func(back time.Time) func(context.Context) error {
		return func(context.Context) error {
			if time.Now().Before(back) {
				return monitor.Errorf(monitor.Internal, "no database")
			}
			return nil
		}
	},
	"is halted and goes on": func(back time.Time) func(context.Context) error {
		return func(ctx context.Context) error {
			select {
			case <-time.After(time.Until(back)):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	},
	"is cut off, and what was sent is lost": func(back time.Time) func(context.Context) error {
		return func(ctx context.Context) error {
			if !time.Now().Before(back) {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
	},
}

func TestAnAlertIsToldWithin5SecondsOfTheGatewaysReturn(t *testing.T) {
	for name, way := range ways {
		for _, away := range []time.Duration{time.Second, 7 * time.Second, 33 * time.Second, time.Minute} {
			t.Run(fmt.Sprintf("one that %s for %s", name, away), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					s, d := &stream{}, newFakeGateway()
					wait := watching(ctx, t, s, d)
					time.Sleep(20 * time.Second)
					s.set(func(s *stream) { s.black = true })
					back := time.Now().Add(6*time.Second + away) // the alert is due in some 6 s
					d.set(func(d *fakeGateway) { d.way = way(back) })
					time.Sleep(time.Until(back))
					for d.types() != "stream.started alert.blackout" && time.Since(back) < time.Minute {
						time.Sleep(10 * time.Millisecond)
					}
					if took := time.Since(back); took > 5*time.Second {
						t.Errorf("told %s after the return", took)
					}
					cancel()
					if err := wait(); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

func TestAGatewayThatIsSlowIsHeardInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &stream{black: true}, newFakeGateway()
		d.way = func(ctx context.Context) error {
			select {
			case <-time.After(12 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		wait := watching(ctx, t, s, d)
		time.Sleep(3 * time.Minute)
		if got := d.types(); got != "stream.started alert.blackout" {
			t.Errorf("accepted %s", got)
		}
		s.set(func(s *stream) { s.black = false })
		time.Sleep(30 * time.Second)
		if got := d.types(); got != "stream.started alert.blackout alert.blackout_recovered" {
			t.Errorf("once it is known to be slow, accepted %s", got)
		}
		cancel()
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
}

func TestAGatewayThatStaysAwayIsSpokenOfNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, d := &stream{}, newFakeGateway()
		wait := watching(t.Context(), t, s, d, func(c *worker.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		time.Sleep(20 * time.Second)
		d.set(func(d *fakeGateway) { d.answer = func(monitor.Report) (monitor.Order, error) { return "", errAway } })
		time.Sleep(10 * time.Minute)
		d.set(func(d *fakeGateway) { d.answer = nil })
		time.Sleep(10 * time.Second)
		s.set(func(s *stream) { s.ended = true })
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), "trying again"); n < 19 || n > 21 {
			t.Errorf("said %d times in 10 minutes, want every 30 s", n)
		}
		if n := strings.Count(log.String(), "accepts reports again"); n != 1 {
			t.Errorf("its return is told %d times", n)
		}
	})
}

// blinking is black in every other segment, which makes an event at each.
func blinking(d *fakeGateway) func(watch.Segment) bool {
	d.config.CheckIntervalSec = 2
	d.config.SetThresholdSec(detector.Blackout, 1)
	return func(s watch.Segment) bool { return s.Sequence%2 == 0 }
}

func TestManyEventsGoInSeveralReportsEachTrueByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &stream{}, newFakeGateway()
		s.blackAt = blinking(d)
		largest := 0
		d.answer = func(monitor.Report) (monitor.Order, error) { return "", errAway }
		wait := watching(t.Context(), t, s, d)
		time.Sleep(45 * time.Minute)
		d.set(func(d *fakeGateway) {
			d.answer = func(r monitor.Report) (monitor.Order, error) {
				largest = max(largest, len(r.Events))
				return monitor.Run, nil
			}
		})
		began := time.Now()
		for d.count() < 1200 && time.Since(began) < time.Minute {
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("took %s", took)
		}
		s.set(func(s *stream) { s.ended = true })
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		if largest > 200 || len(d.accepted) < 1200 {
			t.Errorf("%d events came, of which %d in one report", len(d.accepted), largest)
		}
		counted := 0
		for i, r := range d.reports {
			for _, e := range r.Events {
				if e.Type == event.Blackout {
					counted++
				}
			}
			if r.Status == "" || r.Snapshot == nil || r.Statistics.Alerts(detector.Blackout) != counted {
				t.Errorf("report %d counts %+v, %d were told until then", i, r.Statistics, counted)
			}
		}
		inOrder(t, d)
	})
}

// inOrder checks that nothing came out of order or twice.
func inOrder(t *testing.T, d *fakeGateway) {
	t.Helper()
	seen := map[string]bool{}
	for i, e := range d.accepted {
		if i > 0 && e.At.Before(d.accepted[i-1].At) {
			t.Errorf("event %d, %s, is older than the one before", i, e.Type)
		}
		if seen[e.ID] {
			t.Errorf("event %s came twice", e.ID)
		}
		seen[e.ID] = true
	}
}

func TestASupersededWorkerIsGoneWithinAHeartbeat(t *testing.T) { // O2
	waiting := func(context.Context) watch.Resolution { return watch.Resolution{State: watch.Upcoming} }
	for name, c := range map[string]struct {
		resolve func(context.Context) watch.Resolution
		most    time.Duration
	}{
		"while it waits and has nothing to say": {waiting, 10 * time.Second},
		"and at the next check while it looks":  {nil, 2500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, d := &stream{resolve: c.resolve}, newFakeGateway()
				wait := watching(t.Context(), t, s, d)
				time.Sleep(time.Minute + time.Millisecond)
				d.set(func(d *fakeGateway) { d.newest = 2 })
				began := time.Now()
				if err := wait(); !errors.Is(err, monitor.ErrSuperseded) {
					t.Errorf("ended with %v", err)
				}
				if took := time.Since(began); took > c.most {
					t.Errorf("took %s", took)
				}
			})
		})
	}
	t.Run("and leaves what it has not told to its successor", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			s, d := &stream{}, newFakeGateway()
			wait := watching(t.Context(), t, s, d, func(c *worker.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
			time.Sleep(20 * time.Second)
			d.set(func(d *fakeGateway) { d.answer = func(monitor.Report) (monitor.Order, error) { return "", errAway } })
			s.set(func(s *stream) { s.black = true })
			time.Sleep(20 * time.Second)
			d.set(func(d *fakeGateway) { d.newest = 2 })
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
	})
}

func TestForceBreaksOffWhateverIsDone(t *testing.T) {
	hang := func(ctx context.Context) { <-ctx.Done() }
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, set := range map[string]func(s *stream, d *fakeGateway){
		"a check that hangs": func(s *stream, _ *fakeGateway) { s.analyse = hang },
		"a question that hangs": func(s *stream, _ *fakeGateway) {
			s.resolve = func(ctx context.Context) watch.Resolution { hang(ctx); return watch.Resolution{} }
		},
		"a report that hangs":    func(_ *stream, d *fakeGateway) { d.way = hangs },
		"an event that must out": func(s *stream, d *fakeGateway) { s.ended, d.way = true, hangs },
		"nothing in particular":  func(*stream, *fakeGateway) {},
		"nothing to do yet":      func(_ *stream, d *fakeGateway) { d.refusal = errAway },
	} {
		lasts := !strings.HasPrefix(name, "nothing") && !strings.HasPrefix(name, "a question") // when asked to end
		for _, asked := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, asked before is %v", name, asked), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, d := &stream{}, newFakeGateway()
					set(s, d)
					ctx, ask := context.WithCancel(t.Context())
					force, hasten := context.WithCancel(t.Context())
					defer ask()
					wait := watchingUntil(ctx, force, ports(s, d))
					time.Sleep(3 * time.Second)
					if asked && lasts {
						ask()
						time.Sleep(time.Second)
					}
					began := time.Now()
					hasten()
					if err := wait(); !errors.Is(err, worker.ErrForced) {
						t.Errorf("ended with %v", err)
					}
					if took := time.Since(began); took > 0 {
						t.Errorf("took %s", took)
					}
				})
			})
		}
	}
}

func TestAWorkerThatEndsUntoldSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &stream{}, newFakeGateway()
		wait := watching(t.Context(), t, s, d, func(c *worker.Config) { c.GatewayTimeout = 5 * time.Minute })
		time.Sleep(20 * time.Second)
		d.set(func(d *fakeGateway) { d.answer = func(monitor.Report) (monitor.Order, error) { return "", errAway } })
		s.set(func(s *stream) { s.ended = true })
		if err := wait(); !errors.Is(err, worker.ErrGatewayGone) {
			t.Errorf("ended with %v though nobody knows how the stream ended", err)
		}
	})
}

func TestAHeartbeatTellsHowThingsStandNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &stream{resolve: func(context.Context) watch.Resolution { return watch.Resolution{State: watch.Upcoming} }}, newFakeGateway()
		ctx, cancel := context.WithCancel(t.Context())
		wait := watching(ctx, t, s, d)
		time.Sleep(10 * time.Minute) // nothing happens, but that it is asked for every 30 s
		if age := time.Since(d.last().At); age > 41*time.Second {
			t.Errorf("the last report is of %s ago", age)
		}
		if n := len(d.reports); n < 59 || n > 63 {
			t.Errorf("%d reports in 10 minutes, want one every 10 s", n)
		}
		cancel()
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
}
