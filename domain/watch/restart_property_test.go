package watch_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// TestARestartAtAnyMomentChangesNoEvent kills the watcher at any moments. Some of its
// last reports are not stored. The successors emit the same events (decision S11).
func TestARestartAtAnyMomentChangesNoEvent(t *testing.T) {
	const end = 500
	rapid.Check(t, func(r *rapid.T) {
		segment := rapid.SampledFrom([]float64{1, 2, 5}).Draw(r, "segment")
		interval := rapid.SampledFrom([]int{1, 5, 10}).Draw(r, "interval")
		apart := rapid.Bool().Draw(r, "picture and sound apart")
		// Bad media last longer, and are further apart, than the longest time in
		// which nobody watches.
		spans := func(what string) (out []span) {
			at := 40.0
			for range rapid.IntRange(0, 4).Draw(r, what) {
				from := at + float64(rapid.IntRange(50, 90).Draw(r, what+" after"))
				at = from + float64(rapid.IntRange(50, 80).Draw(r, what+" for"))
				if at > end-30 {
					break // a change just before the end may be over before the watcher sees it
				}
				out = append(out, span{from, at})
			}
			return out
		}
		blacks, silences := spans("black"), spans("silent")
		set := func() *world {
			return scenario(t, withTaskTimes, segmentsOf(segment), checksEvery(interval), endsAt(end, true), func(w *world) {
				w.separateTracks, w.black, w.silent, w.window = apart, blacks, silences, 60
			})
		}
		unrestarted := set().from(10).until(end + 60)

		w := set()
		w.storesReports = true
		w.reportsRefused = someSpans(r, "no report accepted", end)
		for i := range w.reportsRefused {
			w.reportsRefused[i].to = min(w.reportsRefused[i].to, w.reportsRefused[i].from+15)
		}
		w.from(10).until(20)
		for range rapid.IntRange(1, 5).Draw(r, "deaths") {
			next := w.now + rapid.Float64Range(0.1, 150).Draw(r, "lives for")
			if next >= end-20 {
				break
			}
			w.until(next).restart(rapid.Float64Range(0, 10).Draw(r, "pause"))
		}
		w.until(end + 60)
		if got, want := outline(w), outline(unrestarted); len(w.events) != len(unrestarted.events) || !sameOutline(got, want, 0.05) {
			r.Fatalf("emitted\n%s\nand without the restarts\n%s", lines(got), lines(want))
		}
	})
}

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
