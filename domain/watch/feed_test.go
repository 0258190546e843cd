package watch_test

import (
	"fmt"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// apart is a stream whose picture and sound have playlists of their own.
func apart(w *world) { w.apart = true }

func TestPictureAndSoundApartAreBothWatched(t *testing.T) {
	t.Run("each condition from its own track", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.black, w.silent = []span{{100, 140}}, []span{{120.5, 200}}
		}).from(50).until(300).expect(
			emits(50, event.StreamStarted, since(0)),
			emits(130, event.Blackout, since(100), lasting(30)),
			emits(150, event.BlackoutRecovered, since(100), lasting(40)),
			emits(152, event.Silence, since(120.5), lasting(31)),
			emits(202, event.SilenceRecovered, since(120.5), lasting(79)),
		)
	})
	t.Run("also when one is behind the other", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.black, w.stands = []span{{100, 160}}, map[string][]span{"/sound/": {{90, 140}}}
		}).from(50).until(300).expect(
			emits(50, event.StreamStarted),
			emits(130, event.Blackout, since(100), lasting(30)),
			emits(170, event.BlackoutRecovered, since(100), lasting(60)),
		)
	})
	t.Run("also by a successor", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.black, w.silent = []span{{100, 160}}, []span{{100, 160}}
		}).from(50).until(115).resume(3).until(140).resume(2).until(300).expect(
			emits(50, event.StreamStarted),
			emits(130, event.Blackout, since(100)),
			emits(130, event.Silence, since(100)),
			emits(162, event.BlackoutRecovered, since(100), lasting(60)),
			emits(162, event.SilenceRecovered, since(100), lasting(60)),
		)
	})
}

func TestATrackThatIsOutIsAnOutage(t *testing.T) { // 6.6
	for _, track := range []string{"sound", "picture"} {
		t.Run(fmt.Sprintf("the %s for 90 s, and the other is watched meanwhile", track), func(t *testing.T) {
			w := scenario(t, apart, func(w *world) {
				w.fails = map[string][]span{"/" + track + "/": {{95, 185}}}
				w.black, w.silent = []span{{110, 150}}, []span{{110, 150}}
			}).from(50).until(165)
			health := w.watcher.Report().Health
			alert, recovery, other, out := event.Blackout, event.BlackoutRecovered, health.Video, health.Audio
			if track == "picture" {
				alert, recovery, other, out = event.Silence, event.SilenceRecovered, health.Audio, health.Video
			}
			if other != monitor.OK || out != monitor.Unknown {
				t.Errorf("health %+v", health)
			}
			w.until(400).expect(
				emits(50, event.StreamStarted),
				emits(140, alert, since(110), lasting(30)),
				emits(160, recovery, since(110), lasting(40)),
				emits(160, event.SegmentError, since(100), lasting(60), because("manifest")),
			)
		})
	}
	t.Run("both at once are one outage", func(t *testing.T) {
		scenario(t, apart, func(w *world) { w.noList = []span{{95, 250}} }).from(50).until(400).expect(
			emits(50, event.StreamStarted),
			emits(160, event.SegmentError, since(100), lasting(60)),
		)
	})
	t.Run("one after the other, without a pause, likewise", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.fails = map[string][]span{"/picture/": {{95, 200}}, "/sound/": {{150, 400}}}
		}).from(50).until(600).expect(
			emits(50, event.StreamStarted),
			emits(160, event.SegmentError, since(100)),
		)
	})
	t.Run("one after the other, with a pause, are two", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.fails = map[string][]span{"/picture/": {{95, 200}}, "/sound/": {{295, 400}}}
		}).from(50).until(600).expect(
			emits(50, event.StreamStarted),
			emits(160, event.SegmentError, since(100)),
			emits(360, event.SegmentError, since(300)),
		)
	})
}

func TestAStreamApartIsOverWhenBothTracksAre(t *testing.T) { // 7.6
	t.Run("both at once", func(t *testing.T) {
		scenario(t, apart, func(w *world) { w.live.to, w.endlist = 200, true }).from(50).until(600).expect(
			emits(50, event.StreamStarted),
			emits(200, event.StreamEnded, because("endlist"), lasting(200)),
		)
	})
	t.Run("the second a moment later", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.ends = map[string]float64{"/picture/": 200, "/sound/": 205}
		}).from(50).until(600).expect(
			emits(50, event.StreamStarted),
			emits(210, event.StreamEnded, because("endlist")),
		)
	})
	t.Run("one alone has come to a standstill", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.ends, w.stands = map[string]float64{"/sound/": 200}, map[string][]span{"/sound/": {{200, never}}}
		}).from(50).until(600).expect(
			emits(50, event.StreamStarted),
			emits(250, event.SegmentError, since(190), because("stalled")),
		)
	})
}

func TestARenditionThatGoesAwayIsReplaced(t *testing.T) { // S7, S8
	qualities := func(w *world) { w.qualities, w.failure = []int{144, 360, 720}, watch.FailureExpired }
	t.Run("by the next, if it fails with a renewed URL, too", func(t *testing.T) {
		w := scenario(t, qualities, func(w *world) {
			w.fails = map[string][]span{"/144p/": {{95, never}}}
			w.black = []span{{100, 140}}
		}).from(50).until(400)
		w.expect(
			emits(50, event.StreamStarted),
			emits(130, event.Blackout, since(100)),
			emits(150, event.BlackoutRecovered, since(100), lasting(40)),
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
		w := scenario(t, qualities, func(w *world) { w.noList = []span{{95, 395}} }).from(50).until(600)
		w.expect(
			emits(50, event.StreamStarted),
			emits(160, event.SegmentError, since(100)),
		)
		if n := w.askedIn(watch.TaskResolve, span{95, 395}); n > 15 {
			t.Errorf("asked %d times in five minutes", n)
		}
	})
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
