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
