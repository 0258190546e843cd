package worker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
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

// broadcastTime is how long the streams of these tests last.
const broadcastTime = 8 * time.Minute

// troubled makes a stream with black and silent times, all of them longer and
// further apart, and from the stream's end, than nobody ever looks, and a desk
// for it.
func troubled(rng *rand.Rand) (*stream, *fakeGateway) {
	spans := func() func(watch.Segment) bool {
		var bad []time.Time // from, to, from, to …
		latest := time.Now().Add(broadcastTime - time.Minute)
		for at := time.Now(); ; {
			from := at.Add(time.Duration(30+rng.IntN(30)) * time.Second)
			if at = from.Add(time.Duration(30+rng.IntN(30)) * time.Second); at.After(latest) {
				break
			}
			bad = append(bad, from, at)
		}
		return func(s watch.Segment) bool {
			in := false
			for _, t := range bad {
				if !s.ProgramTime.Before(t) {
					in = !in
				}
			}
			return in
		}
	}
	s, d := &stream{}, newFakeGateway()
	d.config.SetThresholdSec(detector.Silence, 8)
	s.blackAt, s.silentAt = spans(), spans()
	return s, d
}

// told is what was accepted of one subject, without when it was told: that may
// be later after a death.
func told(d *fakeGateway, subject string) string {
	var b strings.Builder
	for _, e := range d.accepted {
		if !strings.Contains(string(e.Type), subject) {
			continue
		}
		switch data := e.Data.(type) {
		case event.Alert:
			fmt.Fprintln(&b, e.Type, data.StartedAt.Format(time.TimeOnly))
		case event.Recovered:
			fmt.Fprintln(&b, e.Type, data.StartedAt.Format(time.TimeOnly), data.RecoveredAt.Format(time.TimeOnly))
		default:
			fmt.Fprintln(&b, e.Type)
		}
	}
	return b.String()
}

// fate is what befalls a worker and its gateway in one run.
type fate struct {
	rng                       *rand.Rand
	lost, unanswered, hanging float64 // shares of the reports
	deaths                    int
}

// befall makes the way to a desk as bad as that.
func (f fate) befall(d *fakeGateway) {
	d.set(func(d *fakeGateway) {
		d.way = func(ctx context.Context) error {
			switch x := f.rng.Float64(); {
			case x < f.lost:
				return errAway
			case x < f.lost+f.hanging:
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		d.back = func() error {
			if f.rng.Float64() < f.unanswered {
				return errAway
			}
			return nil
		}
	})
}

// live runs workers, one after another, until the stream has ended and a worker
// has ended well. Events that a killed worker had not reported are lost with it.
func (f fate) live(t *testing.T, s *stream, d *fakeGateway) {
	t.Helper()
	end := time.Now().Add(broadcastTime)
	deaths := make([]time.Time, f.deaths)
	for i := range deaths {
		deaths[i] = time.Now().Add(time.Duration(f.rng.Int64N(int64(broadcastTime))))
	}
	time.AfterFunc(broadcastTime, func() { s.set(func(s *stream) { s.ended = true }) })
	var log bytes.Buffer
	for generation := 1; ; generation++ {
		d.set(func(d *fakeGateway) { d.newest = generation })
		force, kill := context.WithCancel(context.Background())
		for _, at := range deaths {
			if at.After(time.Now()) {
				defer time.AfterFunc(time.Until(at), kill).Stop()
			}
		}
		ids := 0
		err := watchingUntil(t.Context(), force, ports(s, d), func(c *worker.Config) {
			c.Generation = generation
			c.NewEventID = func() string { ids++; return fmt.Sprintf("event-%d-%d", generation, ids) }
			c.Log = slog.New(slog.NewTextHandler(&log, nil))
		})()
		killed := force.Err() != nil
		kill()
		switch {
		case err == nil:
			return
		case !killed || !errors.Is(err, worker.ErrForced) || time.Now().After(end.Add(5*time.Minute)):
			t.Fatalf("generation %d ended with %v\n%s", generation, err, log.String())
		}
		time.Sleep(time.Duration(f.rng.IntN(5000)) * time.Millisecond)
	}
}

// TestNothingIsLostAndNothingIsToldTwice is decisions S11 and W1 at work
// together: whatever happens to reports and workers, what has been accepted in
// the end is what one worker would have told that nothing ever happened to.
func TestNothingIsLostAndNothingIsToldTwice(t *testing.T) {
	const seeds = 100
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			run := func(f fate) *fakeGateway {
				var d *fakeGateway
				synctest.Test(t, func(t *testing.T) {
					var s *stream
					s, d = troubled(rand.New(rand.NewPCG(seed, 0)))
					f.befall(d)
					f.live(t, s, d)
				})
				return d
			}
			rng := rand.New(rand.NewPCG(seed, 1))
			whole := run(fate{rng: rng})
			d := run(fate{rng: rng, lost: 0.4 * rng.Float64(), unanswered: 0.4 * rng.Float64(), hanging: 0.1 * rng.Float64(), deaths: rng.IntN(8)})
			for _, subject := range []string{"stream", "blackout", "silence"} {
				if got, want := told(d, subject), told(whole, subject); got != want {
					t.Errorf("told\n%s\nand undisturbed\n%s", got, want)
				}
			}
			if n := strings.Count(told(whole, "alert"), "\n"); n < 6 {
				t.Errorf("the world is too quiet: %d alerts", n)
			}
			inOrder(t, d)
			last := d.last()
			if last.Status != monitor.Completed || last.Statistics.Alerts(detector.Blackout) != strings.Count(d.types(), "alert.blackout")-strings.Count(d.types(), "recovered")+strings.Count(d.types(), "silence_recovered") {
				t.Errorf("the last report says %s, %+v", last.Status, last.Statistics)
			}
		})
	}
}

// TestADeathBetweenTwoReportsOfABacklog: the 200 events that were accepted end
// with an alert; whoever goes on knows that, and tells of its recovery.
func TestADeathBetweenTwoReportsOfABacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &stream{}, newFakeGateway()
		d.config.SetThresholdSec(detector.Blackout, 1)
		s.blackAt = func(s watch.Segment) bool { return s.Sequence/4%2 == 0 }
		d.answer = func(monitor.Report) (monitor.Order, error) { return "", errAway }
		force, kill := context.WithCancel(t.Context())
		wait := watchingUntil(t.Context(), force, ports(s, d))
		time.Sleep(time.Hour)
		d.set(func(d *fakeGateway) {
			d.answer = func(monitor.Report) (monitor.Order, error) {
				if len(d.accepted) > 0 {
					return "", errAway
				}
				return monitor.Run, nil
			}
		})
		time.Sleep(5 * time.Second)
		kill()
		if err := wait(); !errors.Is(err, worker.ErrForced) || len(d.accepted) != 200 || d.accepted[199].Type != event.Blackout {
			t.Fatalf("ended with %v after %d events", err, len(d.accepted))
		}
		d.set(func(d *fakeGateway) { d.answer = nil })
		s.set(func(s *stream) { s.blackAt = nil })
		wait = watching(t.Context(), t, s, d, func(c *worker.Config) { c.NewEventID = func() string { return time.Now().String() } })
		time.Sleep(20 * time.Second)
		s.set(func(s *stream) { s.ended = true })
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		if got := d.types(); !strings.HasSuffix(got, "alert.blackout alert.blackout_recovered stream.ended") || len(d.accepted) != 202 {
			t.Errorf("in the end %d events were told, %s", len(d.accepted), got[len(got)-80:])
		}
	})
}
