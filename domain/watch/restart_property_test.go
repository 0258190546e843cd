package watch_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// TestARestartNeedsNoSnapshotThatIsNotDue restarts the watcher of a stream with any faults at
// any moments. It goes on from the last snapshot that was due, and in a second world from one
// of each report. The clocks of starts, outages, blindness and ends show the same (decision
// S11). At most 10 s of a standstill are lost at each restart, until the next reading. There are
// no copies of different age: the two worlds would not read them in the same turn.
func TestARestartNeedsNoSnapshotThatIsNotDue(t *testing.T) {
	const end = 900
	rapid.Check(t, func(r *rapid.T) {
		w := anyWorld(r, t, end)
		w.live.from, w.copyDelays, w.storesReports = 0, nil, true
		deaths := rapid.SliceOfN(rapid.Float64Range(20, end), 1, 4).Draw(r, "deaths")
		pauses := rapid.SliceOfN(rapid.Float64Range(0, 30), 4, 4).Draw(r, "pauses")
		slices.Sort(deaths)
		clocks := func(w *world) (all []seenEvent) {
			w.from(10)
			for i, at := range deaths {
				if w.until(max(at, w.now)); w.over {
					break
				}
				w.restart(pauses[i])
			}
			w.until(end + 700)
			return slices.DeleteFunc(w.events, func(e seenEvent) bool {
				return strings.Contains(string(e.Type), "blackout") || strings.Contains(string(e.Type), "silence")
			})
		}
		every := *w
		every.begun, every.urls, every.everySnapshot = map[watch.TaskKind][]float64{}, map[string]bool{}, true
		got, want := clocks(w), clocks(&every)
		if t.Failed() {
			r.Fatal("see above")
		}
		later := 10*float64(len(deaths)) + min(30, w.rules.CheckInterval.Seconds()) + w.taskTime[watch.TaskPlaylist] + w.taskTime[watch.TaskResolve]
		if !slices.EqualFunc(got, want, func(a, b seenEvent) bool { return a.Type == b.Type && a.at <= b.at+later }) {
			r.Fatalf("deaths at %v, pauses %v: emitted\n%+v\nand with each snapshot\n%+v", deaths, pauses, got, want)
		}
	})
}
