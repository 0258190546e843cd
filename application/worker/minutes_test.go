package worker_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// measuring is an Analyser that measures every second of each segment. The luma is the
// number of the second in its minute, by program time.
type measuring struct {
	*fakeStream

	ahead int // frames that it also claims after each segment, an hour apart
}

func (m measuring) Analyse(ctx context.Context, s watch.Segment, calm watch.Look, body io.Reader, setting func(string) float64) (watch.Analysis, error) {
	a, err := m.fakeStream.Analyse(ctx, s, calm, body, setting)
	for at := time.Duration(0); at < s.Duration; at += time.Second {
		luma := float64(s.ProgramTime.Add(at).Second())
		a.Measures = append(a.Measures, watch.Measure{At: at, Luma: &luma})
	}
	for hour := range m.ahead {
		a.Measures = append(a.Measures, watch.Measure{At: time.Duration(hour+1) * time.Hour, Luma: new(float64)})
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

// watchMinutes runs a worker for 15 minutes that measures. Each report gets the error of answer, if it has one.
// It returns the reports that were stored.
func watchMinutes(t *testing.T, ahead int, answer func(r monitor.Report, call int, elapsed time.Duration) error) (stored []monitor.Report) {
	t.Helper()
	s, g := &fakeStream{}, newFakeGateway()
	calls, began := 0, time.Now()
	g.respond = func(r monitor.Report) (monitor.Order, error) {
		calls++
		return monitor.Run, answer(r, calls, time.Since(began))
	}
	p := ports(s, g)
	p.Analyser = measuring{s, ahead}
	stop := runWorker(t, p)
	time.Sleep(15 * time.Minute)
	stop()
	return g.reports
}

func TestMinutesAreReportedUntilTheyAreAccepted(t *testing.T) {
	rejected := monitor.Errorf(monitor.InvalidConfig, "invalid report")
	for name, c := range map[string]struct {
		err   error
		fails func(r monitor.Report, call int, elapsed time.Duration) bool
	}{
		"to a gateway that accepts all":         {nil, func(monitor.Report, int, time.Duration) bool { return false }},
		"to a gateway that refuses every other": {errGatewayDown, func(_ monitor.Report, call int, _ time.Duration) bool { return call%2 == 0 }},
		"to a gateway that is away for 10 min": {errGatewayDown, func(_ monitor.Report, _ int, elapsed time.Duration) bool {
			return elapsed > time.Minute && elapsed < 11*time.Minute
		}},
		"with snapshots that are rejected": {rejected, func(r monitor.Report, _ int, _ time.Duration) bool { return r.Snapshot != nil }},
		"with snapshots that are rejected for 3 min": {rejected, func(r monitor.Report, _ int, elapsed time.Duration) bool {
			return r.Snapshot != nil && elapsed < 3*time.Minute
		}},
	} {
		scenario(t, name, func(t *testing.T) {
			began := time.Now()
			expectMinutes(t, began, watchMinutes(t, 0, func(r monitor.Report, call int, elapsed time.Duration) error {
				if c.fails(r, call, elapsed) {
					return c.err
				}
				return nil
			}))
		})
	}
	scenario(t, "and not again", func(t *testing.T) {
		for _, r := range watchMinutes(t, 0, func(monitor.Report, int, time.Duration) error { return nil }) {
			if n := len(r.Minutes); n > 2 { // the present one, and the one before it
				t.Fatalf("a report has %d minutes", n)
			}
		}
	})
	scenario(t, "but no report is lost with minutes that are rejected", func(t *testing.T) {
		stored := watchMinutes(t, 0, func(r monitor.Report, _ int, _ time.Duration) error {
			if len(r.Minutes) > 0 {
				return rejected
			}
			return nil
		})
		if n := len(minutesOf(stored)); n > 0 || len(stored) < 50 {
			t.Errorf("%d minutes and %d reports are stored", n, len(stored))
		}
	})
}

// The container of a segment may claim any timestamps.
func TestMeasuresBeyondTheirSegmentAreLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		minutes := minutesOf(watchMinutes(t, 600, func(monitor.Report, int, time.Duration) error { return nil }))
		if n := len(minutes); n < 14 || n > 17 {
			t.Errorf("%d minutes are reported of 15 minutes of media", n)
		}
		for at := range minutes {
			if at.After(time.Now().Add(time.Minute)) {
				t.Errorf("the minute %s is reported, which is %v ahead", at.Format(time.DateTime), time.Until(at))
			}
		}
	})
}
