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
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

const wholeStory = "stream.started alert.blackout alert.blackout_recovered stream.ended"

// play has a stream go black, recover and end.
func play(s *stream) {
	time.Sleep(20 * time.Second)
	s.set(func(s *stream) { s.black = true })
	time.Sleep(15 * time.Second)
	s.set(func(s *stream) { s.black = false })
	time.Sleep(10 * time.Second)
	s.set(func(s *stream) { s.ended = true })
}

func TestAWorkerReportsAWholeStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &stream{}, newFakeGateway()
		wait := watching(t.Context(), t, s, d)
		play(s)
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		if got := d.types(); got != wholeStory {
			t.Errorf("events %s, want %s", got, wholeStory)
		}
		last := d.last()
		if last.Status != monitor.Completed || last.StreamStatus != monitor.StreamEnded {
			t.Errorf("the last report says %s, %s", last.Status, last.StreamStatus)
		}
		if last.Statistics.Alerts(detector.Blackout) != 1 || last.Statistics.TotalSegmentsAnalyzed < 15 || len(last.Snapshot) == 0 {
			t.Errorf("the last report counts %+v with a snapshot of %d bytes", last.Statistics, len(last.Snapshot))
		}
	})
}

func TestAGatewayThatIsAwayLosesNoEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &stream{}, newFakeGateway()
		calls := 0
		d.answer = func(monitor.Report) (monitor.Order, error) {
			if calls++; calls%4 != 0 { // three of four reports fail
				return "", errAway
			}
			return monitor.Run, nil
		}
		wait := watching(t.Context(), t, s, d)
		play(s)
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		if got := d.types(); got != wholeStory {
			t.Errorf("events %s, want %s", got, wholeStory)
		}
	})
}

func TestAFinishedWorkerStaysUntilItsLastEventIsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &stream{}, newFakeGateway()
		wait := watching(t.Context(), t, s, d)
		time.Sleep(10 * time.Second)
		d.set(func(d *fakeGateway) { d.answer = func(monitor.Report) (monitor.Order, error) { return "", errAway } })
		s.set(func(s *stream) { s.ended = true })
		time.Sleep(10 * time.Minute)
		d.set(func(d *fakeGateway) { d.answer = nil })
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		if got := d.types(); got != "stream.started stream.ended" {
			t.Errorf("events %s", got)
		}
	})
}

func TestADismissedWorkerExitsAtOnceAndSaysNothingMore(t *testing.T) {
	for name, dismissal := range map[string]error{
		"because another has taken over":   monitor.ErrSuperseded,
		"because its monitor is gone":      monitor.Errorf(monitor.NotFound, "no such monitor"),
		"by an error that says more words": fmt.Errorf("report: %w", monitor.ErrSuperseded),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, d := &stream{}, newFakeGateway()
				wait := watching(t.Context(), t, s, d)
				time.Sleep(10 * time.Second)
				d.set(func(d *fakeGateway) { d.answer = func(monitor.Report) (monitor.Order, error) { return "", dismissal } })
				began := time.Now()
				if err := wait(); !errors.Is(err, dismissal) {
					t.Fatalf("ended with %v", err)
				}
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("took %s, more than a heartbeat", took)
				}
			})
		})
	}
}

func TestAnOrderToStopIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &stream{}, newFakeGateway()
		wait := watching(t.Context(), t, s, d)
		time.Sleep(10 * time.Second)
		d.set(func(d *fakeGateway) {
			d.answer = func(monitor.Report) (monitor.Order, error) { return monitor.Stop, nil }
		})
		if err := wait(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestShutdownFinishesTheAnalysisAndReportsWhatCameOfIt(t *testing.T) { // 8.3
	synctest.Test(t, func(t *testing.T) {
		s, d := &stream{black: true}, newFakeGateway()
		d.config.SetThresholdSec(detector.Blackout, 1)
		s.analyse = func(ctx context.Context) {
			select {
			case <-time.After(8 * time.Second):
			case <-ctx.Done():
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		wait := watching(ctx, t, s, d)
		time.Sleep(2 * time.Second) // the first analysis is in flight
		cancel()
		began := time.Now()
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 6*time.Second {
			t.Errorf("took %s, want the 6 s that the analysis still needed", took)
		}
		if got := d.types(); got != "stream.started alert.blackout" {
			t.Errorf("events %s", got)
		}
	})
}

func TestShutdownIsBoundedWhateverHangs(t *testing.T) { // 8.3
	synctest.Test(t, func(t *testing.T) {
		s, d := &stream{}, newFakeGateway()
		s.analyse = func(ctx context.Context) { <-ctx.Done() }
		ctx, cancel := context.WithCancel(t.Context())
		wait := watching(ctx, t, s, d)
		time.Sleep(2 * time.Second)
		d.set(func(d *fakeGateway) { d.answer = func(monitor.Report) (monitor.Order, error) { return "", errAway } })
		cancel()
		began := time.Now()
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("took %s, more than the 30 s until SIGKILL", took)
		}
	})
}

func TestAHungResolverDoesNotDelayTheMedia(t *testing.T) { // S16
	synctest.Test(t, func(t *testing.T) {
		s, d := &stream{}, newFakeGateway()
		ctx, cancel := context.WithCancel(t.Context())
		wait := watching(ctx, t, s, d)
		time.Sleep(4*time.Minute + 50*time.Second)
		s.set(func(s *stream) {
			s.resolve = func(ctx context.Context) watch.Resolution {
				<-ctx.Done()
				return watch.Resolution{State: watch.Unreachable}
			}
		})
		time.Sleep(20 * time.Second) // the periodic check at 5 minutes hangs
		before := d.last().Statistics.TotalSegmentsAnalyzed
		time.Sleep(60 * time.Second)
		if got := d.last().Statistics.TotalSegmentsAnalyzed - before; got < 29 {
			t.Errorf("%d checks in 60 s, want 30", got)
		}
		if s.resolved != 2 {
			t.Errorf("asked %d times, want 2", s.resolved)
		}
		cancel()
		if err := wait(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestASuccessorGoesOnWhereAWorkerStood(t *testing.T) { // S11
	synctest.Test(t, func(t *testing.T) {
		s, d := &stream{}, newFakeGateway()
		ctx, cancel := context.WithCancel(t.Context())
		wait := watching(ctx, t, s, d)
		time.Sleep(10 * time.Second)
		s.set(func(s *stream) { s.black = true })
		time.Sleep(10 * time.Second)
		cancel()
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		d.set(func(d *fakeGateway) { d.snapshot = d.reports[len(d.reports)-1].Snapshot })
		wait = watching(t.Context(), t, s, d, func(c *worker.Config) {
			c.NewEventID = func() string { return time.Now().String() }
		})
		time.Sleep(10 * time.Second)
		s.set(func(s *stream) { s.black = false })
		time.Sleep(5 * time.Second)
		s.set(func(s *stream) { s.ended = true })
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		if got := d.types(); got != wholeStory {
			t.Errorf("events %s, want %s", got, wholeStory)
		}
	})
}

func TestARecordingReplaysToTheSameEffects(t *testing.T) {
	var recording bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		s, d := &stream{}, newFakeGateway()
		wait := watching(t.Context(), t, s, d, func(c *worker.Config) { c.Recording = &recording })
		play(s)
		if err := wait(); err != nil {
			t.Fatal(err)
		}
	})
	text := recording.String()
	var told []string
	err := worker.Replay(&recording, func(m watch.RecordedStep) {
		for _, e := range m.Effects {
			if e, ok := e.(watch.EventEmitted); ok {
				told = append(told, string(e.Event.Type))
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(told, " "); got != wholeStory {
		t.Errorf("replayed %s, want %s", got, wholeStory)
	}

	t.Run("and a watcher that does otherwise is found out", func(t *testing.T) {
		forged := strings.Replace(text, `"blackout":6000000000`, `"blackout":9000000000`, 1)
		err := worker.Replay(strings.NewReader(forged), func(watch.RecordedStep) {})
		if !errors.Is(err, worker.ErrDiverged) {
			t.Errorf("got %v", err)
		}
	})
	for name, broken := range map[string]string{
		"an empty recording":  "",
		"no recording at all": "hello\n",
		"a line cut off":      text[:len(text)-20],
		"an unknown kind":     strings.SplitAfter(text, "\n")[0] + `{"at":"2026-01-01T00:00:00Z","kind":"dream","observation":{}}` + "\n",
	} {
		t.Run(name+" is an error", func(t *testing.T) {
			if err := worker.Replay(strings.NewReader(broken), func(watch.RecordedStep) {}); err == nil {
				t.Error("no error")
			}
		})
	}
}
