package watch_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// TestARestartNeedsNoSnapshotThatIsNotDue restarts the watcher of a stream with any faults at
// any moments. It goes on from the last snapshot that was due, and in a second world from one
// of each report. The clocks of starts, outages, blindness and ends show the same (decision
// S11). Each restart loses at most 10 s of a standstill, until the next reading. An outage that ends
// by then is told by one world alone. There are no copies of different age: the two worlds would not read them in the same turn.
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
		if !sameButLater(got, want, later, w) {
			r.Fatalf("deaths at %v, pauses %v: emitted\n%+v\nand with each snapshot\n%+v", deaths, pauses, got, want)
		}
	})
}

// sameButLater reports whether the events of a world are those of another, each at most so many seconds later. The alert of
// an outage that ends about then may be missing.
func sameButLater(got, want []seenEvent, later float64, w *world) bool {
	troubles := slices.Concat(w.stalls, w.playlistFails, w.segmentsFail)
	for _, in := range []map[string][]span{w.stallsIn, w.playlistFailsIn, w.segmentsFailIn} {
		for _, spans := range in {
			troubles = append(troubles, spans...)
		}
	}
	for _, e := range want {
		switch {
		case len(got) > 0 && got[0].Type == e.Type && got[0].at <= e.at+later:
			got = got[1:]
		case e.Type == event.SegmentError && slices.ContainsFunc(troubles, func(s span) bool { return math.Abs(s.to-e.at) <= later }):
		default:
			return false
		}
	}
	return len(got) == 0
}
