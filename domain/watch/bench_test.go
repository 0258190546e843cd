package watch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// BenchmarkCheck is what the watcher itself costs at each check: the steps that
// take in a playlist of 15 segments and an analysis, and the tasks after each.
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
			p.Segments[k] = watch.Segment{URI: fmt.Sprint(n), Sequence: uint64(n), Duration: fine.To, ProgramTime: at(float64(2 * n))}
		}
		p.Began = now
		w.Step(now, p)
		for _, task := range w.Next() {
			if task.Kind == watch.TaskSegment {
				w.Step(now, watch.Analysis{Began: now, Segment: task.Segment.ID(), Video: fine, Audio: fine})
			}
		}
		w.Next()
	}
	if got := w.Report().Statistics.TotalSegmentsAnalyzed; got < b.N {
		b.Fatalf("%d of %d checks were done", got, b.N)
	}
}
