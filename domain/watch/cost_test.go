package watch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// withTaskTimes gives each kind of task a usual duration.
func withTaskTimes(w *world) {
	w.taskTime[watch.TaskResolve], w.taskTime[watch.TaskPlaylist], w.taskTime[watch.TaskSegment] = 3, 0.1, 0.3
}

func TestAFailingTrackDelaysNoCheckOfTheOther(t *testing.T) {
	for _, byMaster := range []bool{false, true} {
		for name, change := range map[string]func(*world){
			"its playlist is refused": func(w *world) { w.playlistFailsIn = map[string][]span{"/sound/": {{95, 900}}} },
			"its segments are":        func(w *world) { w.segmentsFailIn = map[string][]span{"/sound/": {{95, 900}}} },
		} {
			for _, threshold := range []int{30, 120} {
				t.Run(fmt.Sprintf("%s, listed in a master: %v, threshold %d s", name, byMaster, threshold), func(t *testing.T) {
					w := scenario(t, apart, withTaskTimes, change, func(w *world) {
						w.viaMaster, w.failure = byMaster, watch.FailureExpired
						w.rules.Thresholds[detector.Blackout] = seconds(threshold)
						w.black = []span{{300, 500}}
					}).from(50).until(900)
					if w.emitted(event.Blackout) != 1 || w.emitted(event.BlackoutRecovered) != 1 || w.emitted(event.SegmentError) != 1 {
						t.Fatalf("emitted %+v", w.events)
					}
					for _, e := range w.events {
						if e.Type == event.Blackout && (e.at > 300+float64(threshold)+15 || since(300)(e.Data) != "") {
							t.Errorf("emitted at %v: %+v", e.at, e.Data)
						}
					}
					if n := w.begunIn(watch.TaskResolve, span{100, 900}); n > 85 {
						t.Errorf("asked yt-dlp %d times in 800 s", n)
					}
					if n := w.begunIn(watch.TaskSegment, span{550, 850}); n < 25 {
						t.Errorf("%d analyses in 300 s", n)
					}
				})
			}
		}
	}
}

func TestASlowTrackDoesNotStarveTheOther(t *testing.T) { // S16
	for _, c := range []struct {
		interval               int
		segment, read, analyse float64
	}{
		{1, 1, 0.2, 0.2}, {1, 1, 0.3, 0.8}, {2, 2, 1, 1.2}, {10, 2, 4, 7},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			w := scenario(t, apart, func(w *world) {
				w.silent, w.segment, w.rules.CheckInterval = []span{{100, 300}}, c.segment, seconds(c.interval)
				w.taskTime[watch.TaskPlaylist], w.taskTime[watch.TaskSegment] = c.read, c.analyse
			}).from(50).until(420)
			if w.emitted(event.Silence) != 1 || w.emitted(event.SilenceRecovered) != 1 {
				t.Errorf("emitted %+v", w.events)
			}
		})
	}
}

func TestRefusalsCauseABoundedNumberOfQuestions(t *testing.T) { // S7
	most := func(t *testing.T, w *world, s span, n int) {
		t.Helper()
		if got := w.begunIn(watch.TaskResolve, s); got > n {
			t.Errorf("asked %d times from second %v to %v", got, s.from, s.to)
		}
	}
	t.Run("of every rendition of a master that can be read", func(t *testing.T) {
		w := scenario(t, withTaskTimes, func(w *world) {
			w.heights, w.viaMaster, w.failure = []int{144, 240, 360, 480, 720}, true, watch.FailureExpired
			w.playlistFailsIn = map[string][]span{"p/": {{95, never}}}
		}).from(50).until(400)
		most(t, w, span{95, 395}, 15)
	})
	t.Run("of every second reading", func(t *testing.T) {
		w := scenario(t, withTaskTimes, func(w *world) {
			w.rules.CheckInterval, w.failure = seconds(1), watch.FailureExpired
			for at := 100.0; at < 700; at += 2 {
				w.playlistFails = append(w.playlistFails, span{at, at + 1})
			}
		}).from(50).until(700)
		most(t, w, span{100, 700}, 11)
	})
}

func TestAnalysesAreNotLostWhenTheOtherTrackIsRenewed(t *testing.T) {
	analysed := func(change func(*world)) int {
		w := scenario(t, apart, withTaskTimes, change, func(w *world) {
			w.failure, w.taskTime[watch.TaskSegment] = watch.FailureExpired, 4
		}).from(50).until(3000)
		return w.watcher.Report().Statistics.TotalSegmentsAnalyzed
	}
	wholeSegment := analysed(func(*world) {})
	if half := analysed(func(w *world) { w.playlistFailsIn = map[string][]span{"/sound/": {{60, never}}} }); half < wholeSegment/2*9/10 {
		t.Errorf("%d analyses of the picture, of %d of both", half, wholeSegment)
	}
}

func TestABisectionIsBounded(t *testing.T) {
	w := scenario(t, func(w *world) {
		w.rules.CheckInterval, w.window, w.black = seconds(100), 100, []span{{160, 400}}
		w.taskTime[watch.TaskSegment] = 9
	}).from(50).until(290)
	if n := w.begunIn(watch.TaskSegment, span{240, 290}); n > 5 { // with the screen
		t.Errorf("%d analyses of 9 s each at one check", n)
	}
}

func TestNothingIsReadInATightLoop(t *testing.T) {
	count := func(w *watch.Watcher, now, end float64, playlist func(now float64, url string) watch.Playlist) (reads int) {
		for now < end {
			next := now + 0.1
			for _, task := range w.Next() {
				switch {
				case task.At.After(at(now)):
				case task.Kind == watch.TaskPlaylist:
					reads++
					next = now + 0.01
					w.Step(at(next), playlist(next, task.URL))
				case task.Kind == watch.TaskSegment:
					w.Step(at(now), watch.Analysis{Began: at(now), Segment: task.Segment.ID(), Video: decoded, Audio: decoded})
				case task.Kind == watch.TaskResolve:
					w.Step(at(now), watch.Resolution{Began: at(now), State: watch.Live, Renditions: []watch.Rendition{{URL: "u", HasVideo: true, HasAudio: true}}})
				}
			}
			now = next
		}
		return reads
	}
	list := func(now float64, url string, last int) watch.Playlist {
		p := watch.Playlist{Began: at(now), URL: url, TargetDuration: 2 * time.Second}
		for n := last - 5; n <= last; n++ {
			p.Segments = append(p.Segments, watch.Segment{URI: fmt.Sprint("s", n), Duration: 2 * time.Second, ProgramTime: at(float64(2 * n))})
		}
		return p
	}
	t.Run("picture and sound at one URL", func(t *testing.T) {
		w := watch.New(rules(), at(0))
		w.Step(at(0), watch.Resolution{Began: at(0), State: watch.Live, Renditions: []watch.Rendition{{URL: "u", HasVideo: true}, {URL: "u", HasAudio: true}}})
		if n := count(w, 0, 9, func(now float64, url string) watch.Playlist { return list(now, url, int(now)/2) }); n > 4 {
			t.Errorf("read %d times in 9 s", n)
		}
		if n := w.Report().Statistics.TotalSegmentsAnalyzed; n != 1 {
			t.Errorf("%d analyses of one check", n)
		}
	})
	t.Run("a successor in an outage, given a copy that lags behind", func(t *testing.T) {
		w := watch.New(rules(), at(100))
		w.Step(at(100), watch.Resolution{Began: at(100), State: watch.Live, Renditions: []watch.Rendition{{URL: "u", HasVideo: true, HasAudio: true}}})
		w.Step(at(100), list(100, "u", 50))
		w.Step(at(100), watch.Analysis{Began: at(100), Segment: "s50", Failure: watch.NewFailure(watch.FailureNetwork, "x")})
		snapshot, err := w.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if w, err = watch.Restore(rules(), snapshot, at(101)); err != nil {
			t.Fatal(err)
		}
		if n := count(w, 101, 115, func(now float64, url string) watch.Playlist { return list(now, url, int(now)/2-5) }); n > 6 {
			t.Errorf("read %d times in 14 s", n)
		}
	})
}

func TestAnOutageDoesNotBeginBeforeTheStream(t *testing.T) {
	w := scenario(t, apart, withTaskTimes, func(w *world) {
		w.live.from = 3600
		w.endlistIn, w.stallsIn = map[string]span{"/picture/": {0, never}}, map[string][]span{"/picture/": {{3600, never}}}
	}).from(0).until(4000)
	if w.emitted(event.SegmentError) != 1 {
		t.Fatalf("emitted %+v", w.events)
	}
	for _, e := range w.events {
		if o, ok := e.Data.(event.Outage); ok && (sec(o.StartedAt) < 3600 || e.at < sec(o.StartedAt)+60) {
			t.Errorf("emitted at %v: %+v", e.at, o)
		}
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
