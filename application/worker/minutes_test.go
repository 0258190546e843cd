package worker_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// measuring is an Analyser that measures every second of each segment. The luma is the
// number of the second in its minute, by program time.
type measuring struct{ *fakeStream }

func (m measuring) Analyse(ctx context.Context, s watch.Segment, calm watch.Look, body io.Reader, setting func(string) float64) (watch.Analysis, error) {
	a, err := m.fakeStream.Analyse(ctx, s, calm, body, setting)
	for at := time.Duration(0); at < s.Duration; at += time.Second {
		luma := float64(s.ProgramTime.Add(at).Second())
		a.Measures = append(a.Measures, watch.Measure{At: at, Luma: &luma})
	}
	return a, err
}

// minutesOf merges what the gateway got, as the database does: of each minute the
// report with the most measurements counts.
func minutesOf(reports []monitor.Report) map[time.Time]monitor.Range {
	merged := map[time.Time]monitor.Range{}
	for _, r := range reports {
		for _, m := range r.Minutes {
			if m.Luma.N > merged[m.At].N {
				merged[m.At] = m.Luma
			}
		}
	}
	return merged
}

// expectMinutes expects nearly every second of each minute since a time but the last two.
func expectMinutes(t *testing.T, began time.Time, reports []monitor.Report) {
	t.Helper()
	minutes := minutesOf(reports)
	for at := began.Truncate(time.Minute).Add(time.Minute); at.Before(time.Now().Add(-2 * time.Minute)); at = at.Add(time.Minute) {
		if r := minutes[at.UTC()]; r.N < 50 || r.Min > 1 || r.Max < 58 {
			t.Errorf("the minute %s has %+v", at.Format("15:04"), r)
		}
	}
}

func TestMinutesAreReportedUntilTheyAreAccepted(t *testing.T) {
	for name, fails := range map[string]func(call int, elapsed time.Duration) bool{
		"to a gateway that accepts all":         func(int, time.Duration) bool { return false },
		"to a gateway that refuses every other": func(call int, _ time.Duration) bool { return call%2 == 0 },
		"to a gateway that is away for 10 min": func(_ int, elapsed time.Duration) bool {
			return elapsed > time.Minute && elapsed < 11*time.Minute
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, g := &fakeStream{}, newFakeGateway()
				calls, began := 0, time.Now()
				g.respond = func(monitor.Report) (monitor.Order, error) {
					if calls++; fails(calls, time.Since(began)) {
						return "", errGatewayDown
					}
					return monitor.Run, nil
				}
				p := ports(s, g)
				p.Analyser = measuring{s}
				ctx, cancel := context.WithCancel(t.Context())
				wait := startWorkerUntil(ctx, context.Background(), p)
				time.Sleep(15 * time.Minute)
				cancel()
				endsWell(t, wait)
				expectMinutes(t, began, g.reports)
			})
		})
	}
}

// The container of a segment may claim any timestamps.
func TestMeasuresBeyondTheirSegmentAreLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		p := ports(s, g)
		p.Analyser = measuringFarAhead{measuring{s}}
		ctx, cancel := context.WithCancel(t.Context())
		wait := startWorkerUntil(ctx, context.Background(), p)
		time.Sleep(5 * time.Minute)
		cancel()
		endsWell(t, wait)
		minutes := minutesOf(g.reports)
		if n := len(minutes); n < 4 || n > 7 {
			t.Errorf("%d minutes are reported of 5 minutes of media", n)
		}
		for at := range minutes {
			if at.After(time.Now().Add(time.Minute)) {
				t.Errorf("the minute %s is reported, which is %v ahead", at.Format(time.DateTime), time.Until(at))
			}
		}
	})
}

// measuringFarAhead also claims frames up to 25 days after each segment, an hour apart.
type measuringFarAhead struct{ measuring }

func (m measuringFarAhead) Analyse(ctx context.Context, s watch.Segment, calm watch.Look, body io.Reader, setting func(string) float64) (watch.Analysis, error) {
	a, err := m.measuring.Analyse(ctx, s, calm, body, setting)
	for hour := range 600 {
		luma := 0.
		a.Measures = append(a.Measures, watch.Measure{At: time.Duration(hour+1) * time.Hour, Luma: &luma})
	}
	return a, err
}

func TestMinutesOfARejectedReportAreReportedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		rejected func(monitor.Report) bool
		kept     bool
	}{
		"its snapshot is refused":               {func(r monitor.Report) bool { return r.Snapshot != nil }, true},
		"every report with minutes is refused":  {func(r monitor.Report) bool { return len(r.Minutes) > 0 }, false},
		"its snapshot is refused for 3 minutes": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, g := &fakeStream{}, newFakeGateway()
				began := time.Now()
				var stored []monitor.Report
				g.respond = func(r monitor.Report) (monitor.Order, error) {
					refused := r.Snapshot != nil && time.Since(began) < 3*time.Minute
					if c.rejected != nil {
						refused = c.rejected(r)
					}
					if refused {
						return "", monitor.Errorf(monitor.InvalidConfig, "invalid report")
					}
					stored = append(stored, r)
					return monitor.Run, nil
				}
				p := ports(s, g)
				p.Analyser = measuring{s}
				ctx, cancel := context.WithCancel(t.Context())
				wait := startWorkerUntil(ctx, context.Background(), p)
				time.Sleep(10 * time.Minute)
				cancel()
				endsWell(t, wait)
				if c.kept {
					expectMinutes(t, began, stored)
				} else if n := len(minutesOf(stored)); n > 0 || len(stored) < 50 {
					t.Errorf("%d minutes and %d reports are stored", n, len(stored))
				}
			})
		})
	}
}

var _ worker.Analyser = measuring{}
