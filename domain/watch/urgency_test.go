package watch_test

import (
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestAQuestionIsAsUrgentAsItsAnswer(t *testing.T) {
	const (
		poll   = watch.UrgencyPoll
		start  = watch.UrgencyStart
		outage = watch.UrgencyOutage
	)
	for name, c := range map[string]struct {
		setup func(*world)
		until float64
		from  float64
		want  []watch.Urgency
	}{
		"a stream that has not begun is asked about at once, then by its cadence": {
			func(w *world) { w.live.from = never }, 70, 0, []watch.Urgency{start, poll, poll},
		},
		"from its scheduled start on it may have begun": {
			func(w *world) { w.live.from, w.rules.ScheduledStart = never, at(35) }, 50, 0, []watch.Urgency{start, poll, start, start},
		},
		"a refused URL is renewed": {
			func(w *world) {
				w.failure, w.playlistFails = watch.FailureExpired, []span{{195, 200.5}}
			}, 300, 99, []watch.Urgency{start, outage},
		},
		"an outage": {
			func(w *world) { w.playlistFails = []span{{195, never}} }, 261, 100, []watch.Urgency{start, outage},
		},
		"the regular question while all is well": {
			func(*world) {}, 3701, 100, []watch.Urgency{start, poll},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if w := scenario(t, c.setup).from(c.from).until(c.until); !slices.Equal(w.urgencies, c.want) {
				t.Errorf("got %v at %v, want %v", w.urgencies, w.begun[watch.TaskResolve], c.want)
			}
		})
	}
}
