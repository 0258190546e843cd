package watch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// everySecond is every second segment from second 100 on.
func everySecond(sequence uint64) bool { return sequence > 50 && sequence%2 == 0 }

func TestWhatATroubleCostsIsBounded(t *testing.T) { // S1, S7
	everySecondReading := func(w *world) {
		for at := 100.0; at < 700; at += 2 {
			w.playlistFails = append(w.playlistFails, span{at, at + 1})
		}
	}
	rare := func(w *world) { w.segment, w.rules.CheckInterval = 10, seconds(100) }
	for name, c := range map[string]struct {
		set  []option
		kind watch.TaskKind
		in   span
		most int
	}{
		"refusals of every rendition of a master that can be read": {[]option{withTaskTimes, renditions(144, 240, 360, 480, 720), func(w *world) { w.viaMaster = true },
			failing(watch.FailureExpired), noPlaylistIn("p/", 95, never)}, watch.TaskResolve, span{95, 395}, 15},
		"refusals of every second reading": {[]option{withTaskTimes, checksEvery(1), failing(watch.FailureExpired), everySecondReading}, watch.TaskResolve, span{100, 700}, 11},
		// With the screen.
		"a bisection of segments that take 9 s each": {[]option{checksEvery(100), black(160, 400), takes(watch.TaskSegment, 9),
			func(w *world) { w.window = 100 }}, watch.TaskSegment, span{240, 290}, 5},
		// All segments fail but the newest at each check; that of the last check is looked at again.
		"a bisection of segments that fail": {[]option{black(193, 260), failsSegments(func(n uint64) bool { return n%5 != 4 })}, watch.TaskSegment, span{196, 204}, 6},
		"a bisection of many segments that fail": {[]option{segmentsOf(1), checksEvery(40), black(193, 360), failsSegments(func(n uint64) bool { return n%40 != 9 }),
			func(w *world) { w.window = 60 }}, watch.TaskSegment, span{205, 215}, 10},
		"refusals of every second segment": {[]option{checksEvery(2), failing(watch.FailureExpired), failsSegments(everySecond)}, watch.TaskResolve, span{150, 450}, 7},
		"refusals of the sound alone":      {[]option{apart, withTaskTimes, failing(watch.FailureExpired), noPlaylistIn("/sound/", 95, 900)}, watch.TaskResolve, span{100, 900}, 85},
		"a black playlist that stands":     {[]option{stalls(110, never), black(100, never)}, watch.TaskPlaylist, span{300, 900}, 65},
		"a black picture of 30 segments":   {[]option{segmentsOf(10), black(100, never)}, watch.TaskPlaylist, span{200, 500}, 35},
		// Until six hours after the alert, each new segment is looked at.
		"no sound for hours":                     {[]option{rare, noSound}, watch.TaskSegment, span{22_000, 23_000}, 11},
		"no sound for hours, readings":           {[]option{rare, noSound}, watch.TaskPlaylist, span{22_000, 23_000}, 40},
		"no sound for hours and then no picture": {[]option{rare, noSound, black(22_000, never)}, watch.TaskSegment, span{45_000, 46_000}, 11},
		"no sound for hours, after a restart":    {[]option{rare, noSound, restarts(22_000, 22_003)}, watch.TaskSegment, span{22_003, 23_003}, 11},
	} {
		t.Run(name, func(t *testing.T) {
			if n := scenario(t, c.set...).from(50).restarting(c.in.to+5).begunIn(c.kind, c.in); n > c.most {
				t.Errorf("%s %d times from second %v to %v, want at most %d", c.kind, n, c.in.from, c.in.to, c.most)
			}
		})
	}
}

// BenchmarkCheck measures the watcher at one check: a step with a playlist of 15
// segments, one with an analysis, and the tasks after each.
func BenchmarkCheck(b *testing.B) {
	w := watch.New(rules(), at(0))
	w.Step(at(0), watch.Resolution{Began: at(0), State: watch.Live, Manifest: "m"})
	p := watch.Playlist{URL: "m", TargetDuration: 2 * time.Second, Segments: make([]watch.Segment, 15)}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i += 5 // segments in 10 s
		now := at(float64(2 * i))
		for k := range p.Segments {
			n := i - len(p.Segments) + k
			p.Segments[k] = watch.Segment{URI: fmt.Sprint(n), Sequence: uint64(n), Duration: decoded.To, ProgramTime: at(float64(2 * n))}
		}
		p.Began = now
		w.Step(now, p)
		for _, task := range w.Next() {
			if task.Kind == watch.TaskSegment {
				w.Step(now, watch.Analysis{Began: now, Segment: task.Segment.ID(), Video: decoded, Audio: decoded})
			}
		}
		w.Next()
	}
	if got := w.Report().Statistics.TotalSegmentsAnalyzed; got < b.N {
		b.Fatalf("%d of %d checks were done", got, b.N)
	}
}
