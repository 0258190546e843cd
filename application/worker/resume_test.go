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

// streamLength is the length of the streams of these tests.
const streamLength = 8 * time.Minute

// newTroubledStream makes a stream with random blackouts and silences, and its gateway.
// Each of them, the gaps between them and the rest until the end of the stream are longer
// than any time without a worker.
func newTroubledStream(rng *rand.Rand) (*fakeStream, *fakeGateway) {
	s, g := &fakeStream{}, newFakeGateway()
	g.config.SetThresholdSec(detector.Silence, 8)
	s.blackAt, s.silentAt = randomIntervals(rng), randomIntervals(rng)
	return s, g
}

// randomIntervals reports whether a segment is in one of several intervals, which last
// from 30 to 60 s and are as far apart.
func randomIntervals(rng *rand.Rand) func(watch.Segment) bool {
	var changes []time.Time // begin, end, begin, end …
	latest := time.Now().Add(streamLength - time.Minute)
	for at := time.Now(); ; {
		begin := at.Add(time.Duration(30+rng.IntN(30)) * time.Second)
		if at = begin.Add(time.Duration(30+rng.IntN(30)) * time.Second); at.After(latest) {
			break
		}
		changes = append(changes, begin, at)
	}
	return func(s watch.Segment) bool {
		inside := false
		for _, t := range changes {
			if !s.ProgramTime.Before(t) {
				inside = !inside
			}
		}
		return inside
	}
}

// acceptedEvents lists the accepted events of one subject without their own times: a
// successor may send an event later.
func acceptedEvents(g *fakeGateway, subject string) string {
	var b strings.Builder
	for _, e := range g.accepted {
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

// failures are the failures of the workers and the gateway in one run.
type failures struct {
	rng                                      *rand.Rand
	lostRequests, lostResponses, hungReports float64 // shares of the reports
	kills                                    int     // of workers
}

// injectInto makes a share of the reports to g fail.
func (f failures) injectInto(g *fakeGateway) {
	g.set(func(g *fakeGateway) {
		g.onRequest = func(ctx context.Context) error {
			switch x := f.rng.Float64(); {
			case x < f.lostRequests:
				return errGatewayDown
			case x < f.lostRequests+f.hungReports:
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		g.onResponse = func() error {
			if f.rng.Float64() < f.lostResponses {
				return errGatewayDown
			}
			return nil
		}
	})
}

// runWorkers runs workers, one after another, until the stream has ended and a worker has
// ended without an error. It kills workers at random times; a killed worker loses the
// events that it has not reported.
func (f failures) runWorkers(t *testing.T, s *fakeStream, g *fakeGateway) {
	t.Helper()
	end := time.Now().Add(streamLength)
	kills := make([]time.Time, f.kills)
	for i := range kills {
		kills[i] = time.Now().Add(time.Duration(f.rng.Int64N(int64(streamLength))))
	}
	time.AfterFunc(streamLength, func() { s.set(func(s *fakeStream) { s.ended = true }) })
	var log bytes.Buffer
	for generation := 1; ; generation++ {
		g.set(func(g *fakeGateway) { g.newestGeneration = generation })
		force, kill := context.WithCancel(context.Background())
		for _, at := range kills {
			if at.After(time.Now()) {
				defer time.AfterFunc(time.Until(at), kill).Stop()
			}
		}
		ids := 0
		err := startWorkerUntil(t.Context(), force, ports(s, g), func(c *worker.Config) {
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

// Decisions S11 and W1 together: with any loss of reports and workers, the gateway
// accepts the same events as from one undisturbed worker.
func TestNoEventIsLostOrRepeatedWhateverFails(t *testing.T) {
	const seeds = 100
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			run := func(f failures) *fakeGateway {
				var g *fakeGateway
				synctest.Test(t, func(t *testing.T) {
					var s *fakeStream
					s, g = newTroubledStream(rand.New(rand.NewPCG(seed, 0)))
					f.injectInto(g)
					f.runWorkers(t, s, g)
				})
				return g
			}
			rng := rand.New(rand.NewPCG(seed, 1))
			undisturbed := run(failures{rng: rng})
			g := run(failures{
				rng: rng, lostRequests: 0.4 * rng.Float64(), lostResponses: 0.4 * rng.Float64(), hungReports: 0.1 * rng.Float64(),
				kills: rng.IntN(8),
			})
			for _, subject := range []string{"stream", "blackout", "silence"} {
				if got, want := acceptedEvents(g, subject), acceptedEvents(undisturbed, subject); got != want {
					t.Errorf("accepted\n%s\nand from an undisturbed worker\n%s", got, want)
				}
			}
			if n := strings.Count(acceptedEvents(undisturbed, "alert"), "\n"); n < 6 {
				t.Errorf("the stream has only %d alerts", n)
			}
			checkOrder(t, g)
			types := g.eventTypes()
			recovered := strings.Count(types, "recovered") - strings.Count(types, "silence_recovered")
			alerts := strings.Count(types, "alert.blackout") - recovered
			if last := g.lastReport(); last.Status != monitor.Completed || last.StreamStatus != monitor.StreamEnded || last.Statistics.Alerts(detector.Blackout) != alerts {
				t.Errorf("the last report says %s, %s, %+v; %d alerts were accepted", last.Status, last.StreamStatus, last.Statistics, alerts)
			}
		})
	}
}

// The 200 accepted events end with an alert. The successor knows of it and sends its
// recovery.
func TestASuccessorContinuesBetweenTwoReportsOfABacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		g.config.SetThresholdSec(detector.Blackout, 1)
		s.blackAt = func(s watch.Segment) bool { return s.Sequence/4%2 == 0 }
		g.respond = func(monitor.Report) (monitor.Order, error) { return "", errGatewayDown }
		force, kill := context.WithCancel(t.Context())
		wait := startWorkerUntil(t.Context(), force, ports(s, g))
		time.Sleep(time.Hour)
		g.set(func(g *fakeGateway) {
			g.respond = func(monitor.Report) (monitor.Order, error) {
				if len(g.accepted) > 0 {
					return "", errGatewayDown
				}
				return monitor.Run, nil
			}
		})
		time.Sleep(5 * time.Second)
		kill()
		if err := wait(); !errors.Is(err, worker.ErrForced) || len(g.accepted) != 200 || g.accepted[199].Type != event.Blackout {
			t.Fatalf("ended with %v after %d events", err, len(g.accepted))
		}
		g.isDown(false)
		s.set(func(s *fakeStream) { s.blackAt = nil })
		wait = startWorker(t.Context(), t, s, g, func(c *worker.Config) { c.NewEventID = func() string { return time.Now().String() } })
		time.Sleep(20 * time.Second)
		endStream(t, s, wait)
		if got := g.eventTypes(); !strings.HasSuffix(got, "alert.blackout alert.blackout_recovered stream.ended") || len(g.accepted) != 202 {
			t.Errorf("%d events were accepted, the last are %s", len(g.accepted), got[len(got)-80:])
		}
	})
}
