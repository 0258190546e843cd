package worker_test

import (
	"bytes"
	"context"
	"errors"
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

func TestAReportThatIsRefusedIsGivenInParts(t *testing.T) {
	never := monitor.Errorf(monitor.InvalidConfig, "not so")
	carries := func(r monitor.Report, typ event.Type) bool {
		for _, e := range r.Events {
			if e.Type == typ {
				return true
			}
		}
		return false
	}
	for name, c := range map[string]struct {
		refuses  func(monitor.Report) bool
		accepted string
		whole    bool // but for the snapshot
	}{
		"for its snapshot":      {func(r monitor.Report) bool { return r.Snapshot != nil }, "stream.started alert.blackout stream.ended", true},
		"for one of its events": {func(r monitor.Report) bool { return carries(r, event.Blackout) }, "stream.started stream.ended", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				s, d := &stream{black: true}, newFakeGateway()
				d.answer = func(r monitor.Report) (monitor.Order, error) {
					if c.refuses(r) {
						return "", never
					}
					return monitor.Run, nil
				}
				wait := watching(t.Context(), t, s, d, func(c *worker.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
				time.Sleep(30 * time.Second)
				s.set(func(s *stream) { s.ended = true })
				if err := wait(); err != nil {
					t.Fatal(err)
				}
				if got := d.types(); got != c.accepted {
					t.Errorf("accepted %s, want %s", got, c.accepted)
				}
				if d.last().Status != monitor.Completed {
					t.Errorf("the last status told is %q", d.last().Status)
				}
				for _, r := range d.reports {
					if c.whole && len(r.Events) > 0 && r.Status == "" {
						t.Errorf("%v came without the state after it", r.Events)
					}
				}
				if lost := !strings.Contains(c.accepted, "blackout"); lost != strings.Contains(log.String(), "it is lost") {
					t.Errorf("lost is %v, the log says\n%s", lost, log.String())
				}
			})
		})
	}
}

func TestAWorkerWhoseGatewayIsGoneEnds(t *testing.T) {
	patient := func(c *worker.Config) { c.GatewayTimeout = 5 * time.Minute }
	for name, c := range map[string]struct {
		answer error
		change func(*worker.Config)
		ends   bool
	}{
		"after its patience":                      {errAway, patient, true},
		"but not while the gateway says anything": {monitor.Errorf(monitor.Internal, "no database"), patient, false},
		"but not where somebody else cares":       {errAway, func(*worker.Config) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				s, d := &stream{}, newFakeGateway()
				wait := watching(ctx, t, s, d, c.change)
				time.Sleep(time.Minute)
				d.set(func(d *fakeGateway) { d.answer = func(monitor.Report) (monitor.Order, error) { return "", c.answer } })
				began := time.Now()
				end := time.AfterFunc(20*time.Minute, cancel)
				err := wait()
				if ended := end.Stop(); ended != c.ends || errors.Is(err, worker.ErrGatewayGone) != c.ends {
					t.Fatalf("ended by itself is %v, with %v", ended, err)
				}
				cancel()
				if took := time.Since(began); c.ends && (took < 5*time.Minute-10*time.Second || took > 6*time.Minute) {
					t.Errorf("took %s", took)
				}
			})
		})
	}
	t.Run("even if it never had an assignment", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			d := newFakeGateway()
			d.refusal = errAway
			err := watching(t.Context(), t, &stream{}, d, patient, func(c *worker.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })()
			if !errors.Is(err, worker.ErrGatewayGone) {
				t.Errorf("ended with %v", err)
			}
			if n := strings.Count(log.String(), "gives no assignment"); n < 2 || n > 10 {
				t.Errorf("said %d times in 5 min", n)
			}
		})
	})
}

// full is a disk that takes so many writes and no more.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestARecordingThatCannotBeWrittenIsSaidOnceAndDisturbsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, d := &stream{}, newFakeGateway()
		wait := watching(t.Context(), t, s, d, func(c *worker.Config) {
			c.Recording, c.Log = &full{left: 3}, slog.New(slog.NewTextHandler(&log, nil))
		})
		time.Sleep(30 * time.Second)
		s.set(func(s *stream) { s.ended = true })
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), "The recording cannot be written"); n != 1 {
			t.Errorf("said %d times", n)
		}
		if got := d.types(); got != "stream.started stream.ended" {
			t.Errorf("accepted %s", got)
		}
	})
}
