package watch_test

import (
	"fmt"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestAConditionIsAlertedFromItsThresholdOn(t *testing.T) {
	bad := func(of func(...float64) option, from float64) func(float64) []option {
		return func(lasts float64) []option { return []option{of(from, from+lasts)} }
	}
	with := func(set option, of func(float64) []option) func(float64) []option {
		return func(lasts float64) []option { return append(of(lasts), set) }
	}
	for _, c := range []struct {
		rule  string
		typ   event.Type
		limit float64 // seconds at which the event is due
		set   func(lasts float64) []option
		until float64
	}{
		{"6.3 a blackout", event.Blackout, 30, bad(black, 100), 300},
		{"6.4 a silence", event.Silence, 30, bad(silent, 100), 300},
		{"6.3 a blackout across unequal segments", event.Blackout, 30, with(segmentsOf(5), bad(black, 101.3)), 300},
		{"6.4 a silence without program time", event.Silence, 30, with(noProgramTime, bad(silent, 100)), 300},
		{"6.6 a playlist that fails", event.SegmentError, 60, bad(noPlaylist, 110), 400},
		{"6.6 a segment that fails", event.SegmentError, 60, bad(noSegment, 110), 400},
		{"S6 a playlist that stands still", event.SegmentError, 60, bad(stalls, 110), 400},
		{"S15 a watchdog that is blind", event.MonitorError, 300, bad(unobservable, 110), 800},
		{"7.3 a late start", event.StreamDelayed, 300, func(lasts float64) []option { return []option{scheduled(100), liveFrom(100 + lasts)} }, 800},
		{"A10 a reservation that expires", event.MonitorError, 300, func(lasts float64) []option {
			return []option{liveFrom(100 + lasts), func(w *world) { w.rules.ScheduledEnd = at(100) }}
		}, 800},
	} {
		// The watcher looks every 10 s or more often, so an alert may come that much
		// later. A threshold on media is exact.
		slack := 12.0
		if c.typ == event.Blackout || c.typ == event.Silence {
			slack = 0.2
		}
		for _, x := range []struct {
			name  string
			lasts float64
			want  int
		}{
			{"just short of it", c.limit - slack, 0},
			{"just over it", c.limit + slack, 1},
			{"far over it", 2*c.limit + 37, 1},
		} {
			t.Run(fmt.Sprintf("%s, %s", c.rule, x.name), func(t *testing.T) {
				if got := scenario(t, c.set(x.lasts)...).from(50).until(c.until).emitted(c.typ); got != x.want {
					t.Errorf("%s was emitted %d times after %v s, want %d", c.typ, got, x.lasts, x.want)
				}
			})
		}
	}
}

// The test steps a watcher itself, because a scenario counts in seconds.
func TestAThresholdIsExactToTheNanosecond(t *testing.T) {
	emitted := func(after float64, r watch.Rules, o watch.Observation) (n int) {
		for _, e := range watch.New(r, at(0)).Step(at(after), o) {
			if _, ok := e.(watch.EventEmitted); ok {
				n++
			}
		}
		return n
	}
	late := rules()
	late.ScheduledStart = at(0)
	for _, c := range []struct {
		rule  string
		after float64
		got   func(after float64) int
		want  int
	}{
		{"7.3: elapsed > tolerance", 300, func(after float64) int {
			return emitted(after, late, watch.Resolution{Began: at(after), State: watch.Upcoming})
		}, 0},
		{"S15: nothing learned", 300, func(after float64) int {
			return emitted(after, rules(), watch.Resolution{Began: at(0), State: watch.Unreachable})
		}, 1},
		{"S15: every attempt waits", 390, func(after float64) int { return emitted(after, rules(), watch.Tick{}) }, 1},
	} {
		for after, want := range map[float64]int{c.after - 1e-9: 0, c.after: c.want, c.after + 1e-9: 1} {
			if got := c.got(after); got != want {
				t.Errorf("%s, after %v s: emitted %d times, want %d", c.rule, after, got, want)
			}
		}
	}
}
