package watch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestAFailingTrackDelaysNoCheckOfTheOther(t *testing.T) {
	for _, byMaster := range []bool{false, true} {
		for name, fails := range map[string]option{"its playlist is refused": noPlaylistIn("/sound/", 95, 900), "its segments are": noSegmentIn("/sound/", 95, 900)} {
			for _, limit := range []int{30, 120} {
				t.Run(fmt.Sprintf("%s, listed in a master: %v, threshold %d s", name, byMaster, limit), func(t *testing.T) {
					w := scenario(t, apart, withTaskTimes, fails, failing(watch.FailureExpired), threshold(detector.Blackout, limit), black(300, 500), func(w *world) {
						w.viaMaster = byMaster
					}).from(50).until(900)
					if w.emitted(event.Blackout) != 1 || w.emitted(event.BlackoutRecovered) != 1 || w.emitted(event.SegmentError) != 1 {
						t.Fatalf("emitted %+v", w.events)
					}
					for _, e := range w.events {
						if a, is := e.Data.(event.Alert); is && (e.at > 300+float64(limit)+15 || abs(sec(a.StartedAt)-300) > tolerance) {
							t.Errorf("emitted %s", describe(e))
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
			w := scenario(t, apart, silent(100, 300), segmentsOf(c.segment), checksEvery(c.interval),
				takes(watch.TaskPlaylist, c.read), takes(watch.TaskSegment, c.analyse)).from(50).until(420)
			if w.emitted(event.Silence) != 1 || w.emitted(event.SilenceRecovered) != 1 {
				t.Errorf("emitted %+v", w.events)
			}
		})
	}
}

func TestWhatATroubleCostsIsBounded(t *testing.T) { // S1, S7
	everySecondReading := func(w *world) {
		for at := 100.0; at < 700; at += 2 {
			w.playlistFails = append(w.playlistFails, span{at, at + 1})
		}
	}
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
	} {
		t.Run(name, func(t *testing.T) {
			if n := scenario(t, c.set...).from(50).until(c.in.to+5).begunIn(c.kind, c.in); n > c.most {
				t.Errorf("%s %d times from second %v to %v, want at most %d", c.kind, n, c.in.from, c.in.to, c.most)
			}
		})
	}
}

func TestAnalysesAreNotLostWhenTheOtherTrackIsRenewed(t *testing.T) {
	analyses := func(set ...option) int {
		w := scenario(t, append(set, apart, withTaskTimes, failing(watch.FailureExpired), takes(watch.TaskSegment, 4))...).from(50).until(3000)
		return w.watcher.Report().Statistics.TotalSegmentsAnalyzed
	}
	both := analyses()
	if half := analyses(noPlaylistIn("/sound/", 60, never)); half < both/2*9/10 {
		t.Errorf("%d analyses of the picture, of %d of both", half, both)
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
	follow(t, []timeline{{"", []option{apart, withTaskTimes, liveFrom(3600), endlistIn("/picture/", 0, never), stallsIn("/picture/", 3600, never)}, 0, 4000,
		"3633 started since 3600, 3696.1 segment_error since 3633 for 63 by stalled", nil}})
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
