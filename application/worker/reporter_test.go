package worker_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestARejectedReportIsSentInParts(t *testing.T) {
	rejection := monitor.Errorf(monitor.InvalidConfig, "invalid report")
	contains := func(r monitor.Report, typ event.Type) bool {
		for _, e := range r.Events {
			if e.Type == typ {
				return true
			}
		}
		return false
	}
	for name, c := range map[string]struct {
		rejects  func(monitor.Report) bool
		accepted string
		complete bool // every report has events and state, only the snapshot is missing
	}{
		"for its snapshot":      {func(r monitor.Report) bool { return r.Snapshot != nil }, "stream.started alert.blackout stream.ended", true},
		"for one of its events": {func(r monitor.Report) bool { return contains(r, event.Blackout) }, "stream.started stream.ended", false},
	} {
		scenario(t, name, func(t *testing.T) {
			var log bytes.Buffer
			s, g := &fakeStream{black: true}, newFakeGateway()
			g.respond = func(r monitor.Report) (monitor.Order, error) {
				if c.rejects(r) {
					return "", rejection
				}
				return monitor.Run, nil
			}
			wait := startWorker(t.Context(), t, s, g, logTo(&log))
			time.Sleep(30 * time.Second)
			endStream(t, s, wait)
			if got := g.eventTypes(); got != c.accepted {
				t.Errorf("accepted %s, want %s", got, c.accepted)
			}
			if g.lastReport().Status != monitor.Completed {
				t.Errorf("the last reported status is %q", g.lastReport().Status)
			}
			for _, r := range g.reports {
				if c.complete && len(r.Events) > 0 && r.Status == "" {
					t.Errorf("%v was reported without the state after it", r.Events)
				}
			}
			if lost := !strings.Contains(c.accepted, "blackout"); lost != strings.Contains(log.String(), "it is lost") {
				t.Errorf("lost is %v, the log says\n%s", lost, log.String())
			}
		})
	}
}

func TestAWorkerWaitsForItsFirstAssignment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		g := newFakeGateway()
		g.assignmentErr = errGatewayDown
		if err := startWorker(ctx, t, &fakeStream{}, g, logTo(&log))(); err != nil || ctx.Err() == nil {
			t.Errorf("ended with %v", err)
		}
		if n := strings.Count(log.String(), "gives no assignment"); n < 2 || n > 10 {
			t.Errorf("logged %d times in 5 min", n)
		}
	})
}

// fullDisk accepts a number of writes and fails every later one.
type fullDisk struct{ left int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left--; d.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestAFailedRecordingIsLoggedOnceAndDisturbsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, g := &fakeStream{}, newFakeGateway()
		wait := startWorker(t.Context(), t, s, g, func(c *worker.Config) {
			c.Recording, c.Log = &fullDisk{left: 3}, slog.New(slog.NewTextHandler(&log, nil))
		})
		time.Sleep(30 * time.Second)
		endStream(t, s, wait)
		if n := strings.Count(log.String(), "The recording cannot be written"); n != 1 {
			t.Errorf("logged %d times", n)
		}
		if got := g.eventTypes(); got != "stream.started stream.ended" {
			t.Errorf("accepted %s", got)
		}
	})
}

// signals returns the distinct signals of the stored reports, in order.
func (g *fakeGateway) signals() (all []monitor.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	seen := map[monitor.Signal]bool{}
	for _, r := range g.reports {
		for _, s := range r.Signals {
			if !seen[s] {
				seen[s] = true
				all = append(all, s)
			}
		}
	}
	return all
}

func TestSignalsAreRepeatedUntilTheGatewayHasThem(t *testing.T) {
	for name, away := range map[string]time.Duration{"a gateway that answers": 0, "a gateway that is away until after the outage": 5 * time.Minute} {
		scenario(t, name, func(t *testing.T) {
			s, g := &fakeStream{}, newFakeGateway()
			back := time.Now().Add(away)
			g.respond = func(monitor.Report) (monitor.Order, error) {
				if time.Now().Before(back) {
					return "", errGatewayDown
				}
				return monitor.Run, nil
			}
			wait := startWorker(t.Context(), t, s, g)
			time.Sleep(20 * time.Second)
			s.set(func(s *fakeStream) { s.unreadable = true })
			time.Sleep(2*time.Minute + time.Second) // not at the moment of a retry
			s.set(func(s *fakeStream) { s.unreadable = false })
			time.Sleep(time.Minute + away)
			endStream(t, s, wait)
			all := g.signals()
			if len(all) != 2 || all[0].Condition != trouble.NoMedia || !all[0].EndedAt.IsZero() ||
				all[1].EndedAt.IsZero() || !all[1].StartedAt.Equal(all[0].StartedAt) {
				t.Errorf("the signals are %v", all)
			}
			if got, want := g.eventTypes(), "stream.started alert.segment_error stream.ended"; got != want {
				t.Errorf("events %s, want %s", got, want)
			}
			if last := g.lastReport(); len(last.Signals) > 0 && len(g.reports) > 30 && away == 0 {
				t.Errorf("the last report repeats %v", last.Signals)
			}
		})
	}
}

// Decision S15. The content of such a report is tested in domain/watch.
func TestBlindnessIsReportedAndItsBeginningAndEndAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		var log bytes.Buffer
		wait := startWorker(t.Context(), t, s, g, logTo(&log))
		expect := func(when string, blind bool, lines string) {
			t.Helper()
			if v := g.lastReport().Visibility; v == nil || v.BlindSince.IsZero() == blind || (v.LastError == "") == blind {
				t.Errorf("%s: %+v", when, v)
			}
			if text := log.String(); strings.Contains(text, `level=WARN msg="The stream cannot be observed"`) != (lines != "") ||
				strings.Contains(text, `level=INFO msg="The stream can be observed again"`) != (lines == "both") {
				t.Errorf("%s the log says\n%s", when, text)
			}
		}
		time.Sleep(30 * time.Second)
		expect("while the stream can be observed", false, "")
		s.set(func(s *fakeStream) {
			s.unreadable, s.resolve = true, func(context.Context) watch.Resolution {
				return watch.Resolution{State: watch.Unreachable, Detail: "DNS does not resolve www.youtube.com"}
			}
		})
		time.Sleep(8 * time.Minute)
		expect("while it is blind", true, "the first")
		s.set(func(s *fakeStream) { s.unreadable, s.resolve = false, nil })
		time.Sleep(2 * time.Minute)
		expect("when it can be observed again", false, "both")
		endStream(t, s, wait)
	})
}
