package watch_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

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
