package watch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestARenditionThatGoesAwayIsReplaced(t *testing.T) { // S7, S8
	qualities := func(w *world) {
		w.qualities, w.failure = []int{144, 360, 720}, watch.FailureExpired
		w.took[watch.TaskResolve], w.took[watch.TaskPlaylist] = 1, 0.1
	}
	watched := func(w *world) (url string) {
		for _, task := range w.watcher.Next() {
			if task.Kind == watch.TaskPlaylist {
				url = task.URL
			}
		}
		return url
	}
	t.Run("but not when only its URL has expired", func(t *testing.T) {
		w := scenario(t, qualities, func(w *world) { w.fails = map[string][]span{"/1/": {{95, never}}} }).from(50).until(400)
		w.expect(emits(51, event.StreamStarted))
		if url := watched(w); !strings.Contains(url, "/144p/") {
			t.Errorf("watches %s", url)
		}
	})
	t.Run("nor before its renewed URL has been tried", func(t *testing.T) {
		w := scenario(t, qualities, func(w *world) { w.failure, w.noList = watch.FailureNetwork, []span{{95, 110}} }).from(50).until(103)
		for range 2 {
			r := w.resolve(w.now)
			w.step(r)
		}
		w.until(200)
		if url := watched(w); !strings.Contains(url, "/144p/") {
			t.Errorf("watches %s", url)
		}
	})
	t.Run("nor when there is no other", func(t *testing.T) {
		w := scenario(t, qualities, func(w *world) { w.qualities, w.noList = []int{144}, []span{{95, 300}} }).from(50).until(400)
		if slices.ContainsFunc(w.notes, func(n string) bool { return strings.Contains(n, "another is tried") }) {
			t.Errorf("the log says %q", w.notes)
		}
	})
	t.Run("until there is reason to hope again", func(t *testing.T) {
		w := scenario(t, qualities, func(w *world) { w.fails = map[string][]span{"/144p/": {{95, 300}}} }).from(50).until(400)
		if url := watched(w); !strings.Contains(url, "/360p/") {
			t.Errorf("watches %s", url)
		}
		w.until(5 * 3600)
		if url := watched(w); !strings.Contains(url, "/144p/") {
			t.Errorf("watches %s after the manifest has been renewed", url)
		}
	})
	t.Run("by the next, if it fails with a renewed URL, too", func(t *testing.T) {
		w := scenario(t, qualities, func(w *world) {
			w.fails = map[string][]span{"/144p/": {{95, never}}}
			w.black = []span{{100, 140}}
		}).from(50).until(400)
		w.expect(
			emits(51, event.StreamStarted),
			emits(131.1, event.Blackout, since(100)),
			emits(151.1, event.BlackoutRecovered, since(100), lasting(40)),
		)
		if n := w.askedIn(watch.TaskResolve, span{95, 125}); n > 3 {
			t.Errorf("asked %d times for the next", n)
		}
	})
	t.Run("and those of picture or sound each by its own", func(t *testing.T) {
		w := scenario(t, func(w *world) { w.failure = watch.FailureExpired }, func(w *world) {
			w.answer = func(r *watch.Resolution) {
				r.Manifest = ""
				for _, track := range []string{"picture", "sound"} {
					for _, size := range []int{1, 2} {
						r.Renditions = append(r.Renditions, watch.Rendition{
							URL: fmt.Sprintf("https://media.test/%d/%s/%d/list.m3u8", w.issue, track, size), Bandwidth: size,
							HasVideo: track == "picture", HasAudio: track == "sound",
						})
					}
				}
			}
			w.fails = map[string][]span{"/sound/1/": {{95, never}}}
		}).from(50).until(400)
		w.expect(emits(50, event.StreamStarted))
	})
	t.Run("but when all are gone it is an outage, and nobody is asked without end", func(t *testing.T) {
		w := scenario(t, qualities, func(w *world) {
			w.qualities, w.noList = []int{144, 160, 180, 240, 270, 360, 480, 540, 720, 1080}, []span{{95, 395}}
		}).from(50).until(600)
		w.expect(
			emits(51, event.StreamStarted),
			emits(162.1, event.SegmentError, since(101)),
		)
		if n := w.askedIn(watch.TaskResolve, span{95, 395}); n > 14 {
			t.Errorf("asked %d times in five minutes", n)
		}
	})
}

func TestTheLayoutMayChangeInAnOutage(t *testing.T) { // S6: it stays one outage
	w := scenario(t, apart, func(w *world) {
		w.fails = map[string][]span{"/sound/": {{95, never}}, "/picture/": {{125, never}}, "/144p/": {{95, 170}}}
		w.failure = watch.FailureExpired
	}).from(50).until(140)
	w.apart, w.qualities = false, []int{144}
	w.until(400).expect(
		emits(50, event.StreamStarted),
		emits(160, event.SegmentError, since(100)),
	)
}

func TestAListOfRenditionsIsNotNestedDeeperThanOnce(t *testing.T) {
	deep := func(depth int) *watch.Watcher {
		w := watch.New(rules(), at(0))
		w.Step(at(0), watch.Resolution{Began: at(0), State: watch.Live, Manifest: "0"})
		for i := range depth {
			w.Step(at(0), watch.Playlist{Began: at(0), URL: fmt.Sprint(i), Renditions: []watch.Rendition{{URL: fmt.Sprint(i + 1), HasVideo: true, HasAudio: true}}})
		}
		return w
	}
	read := func(w *watch.Watcher) string {
		for _, task := range w.Next() {
			if task.Kind == watch.TaskPlaylist && !task.At.After(at(0)) {
				return task.URL
			}
		}
		return ""
	}
	if got := read(deep(1)); got != "1" {
		t.Errorf("one list of renditions: reads %q next", got)
	}
	if got := read(deep(2)); got != "" {
		t.Errorf("a list inside a list: reads %q at once", got)
	}
}
