package watch_test

import (
	"fmt"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// apart gives picture and sound a playlist each.
func apart(w *world) { w.separateTracks = true }

func TestPictureAndSoundInTwoPlaylistsAreBothWatched(t *testing.T) {
	t.Run("each condition from its own track", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.black, w.silent = []span{{100, 140}}, []span{{120.5, 200}}
		}).from(50).until(300).expect(
			emits(50, event.StreamStarted, since(0)),
			emits(130, event.Blackout, since(100), lasting(30)),
			emits(142, event.BlackoutRecovered, since(100), lasting(40)),
			emits(152, event.Silence, since(120.5), lasting(31)),
			emits(202, event.SilenceRecovered, since(120.5), lasting(79)),
		)
	})
	t.Run("also when one is behind the other", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.black, w.stallsIn = []span{{100, 160}}, map[string][]span{"/sound/": {{90, 140}}}
		}).from(50).until(300).expect(
			emits(50, event.StreamStarted),
			emits(130, event.Blackout, since(100), lasting(30)),
			emits(162, event.BlackoutRecovered, since(100), lasting(60)),
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

func TestPictureAndSoundInTwoPlaylistsAreIndependent(t *testing.T) {
	t.Run("nothing is looked at for the sake of the other", func(t *testing.T) {
		w := scenario(t, apart, func(w *world) { w.silent = []span{{101, 145}} }).from(50).until(200)
		w.expect(
			emits(50, event.StreamStarted),
			emits(132, event.Silence, since(101)),
			emits(146, event.SilenceRecovered, since(101), lasting(44)),
		)
		if n := w.begunIn(watch.TaskSegment, span{60, 100}); n != 8 {
			t.Errorf("%d analyses for four checks of two playlists", n)
		}
		w.expectBegun(watch.TaskPlaylist, span{121, 133}, 130, 130, 131, 132) // from then on that of the sound with each of its segments
		if n := w.begunIn(watch.TaskPlaylist, span{133, 139}); n != 4 {
			t.Errorf("%d readings in 6 s", n)
		}
	})
	t.Run("the program time of one is reset", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.black, w.resetFrom, w.resetBy, w.resetIn = []span{{100, 160}}, 110, 3600, "/sound/"
		}).from(50).until(300).expect(
			emits(50, event.StreamStarted),
			emits(130, event.Blackout, since(100), lasting(30)),
			emits(162, event.BlackoutRecovered, since(100), lasting(60)),
		)
	})
	t.Run("one is out for long while the other is bad", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.rules.Thresholds[detector.Blackout] = seconds(110)
			w.black = []span{{100, 300}}
			w.playlistFailsIn = map[string][]span{"/sound/": {{105, 169}}}
		}).from(50).until(400).expect(
			emits(50, event.StreamStarted),
			emits(210, event.Blackout, since(100), lasting(110)),
			emits(302, event.BlackoutRecovered, since(100), lasting(200)),
		)
	})
}

func TestAFailingTrackIsAnOutage(t *testing.T) { // 6.6
	for _, track := range []string{"sound", "picture"} {
		t.Run(fmt.Sprintf("the %s for 90 s, and the other is watched meanwhile", track), func(t *testing.T) {
			w := scenario(t, apart, func(w *world) {
				w.playlistFailsIn = map[string][]span{"/" + track + "/": {{95, 185}}}
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
				emits(152, recovery, since(110), lasting(40)),
				emits(160, event.SegmentError, since(100), lasting(60), because("manifest")),
			)
		})
	}
	t.Run("both at once are one outage", func(t *testing.T) {
		scenario(t, apart, func(w *world) { w.playlistFails = []span{{95, 250}} }).from(50).until(400).expect(
			emits(50, event.StreamStarted),
			emits(160, event.SegmentError, since(100), lasting(60)),
		)
	})
	t.Run("also when both are back at once", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.playlistFails, w.taskTime[watch.TaskResolve] = []span{{95, 163}}, 2
		}).from(50).until(400).expect(
			emits(52, event.StreamStarted),
			emits(164, event.SegmentError, since(102), lasting(62)),
		)
	})
	t.Run("since the first of them", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.playlistFailsIn = map[string][]span{"/picture/": {{105, 400}}, "/sound/": {{95, 400}}}
			w.unanswered = []span{{60, 250}}
		}).from(50).until(380).expect(
			emits(50, event.StreamStarted),
			emits(315, event.SegmentError, since(100)),
		)
	})
	t.Run("one after the other, without a pause, likewise", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.playlistFailsIn = map[string][]span{"/picture/": {{95, 200}}, "/sound/": {{175, 400}}}
		}).from(50).until(600).expect(
			emits(50, event.StreamStarted),
			emits(160, event.SegmentError, since(100)),
		)
	})
	t.Run("one after the other, with a pause, are two", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.playlistFailsIn = map[string][]span{"/picture/": {{95, 200}}, "/sound/": {{295, 400}}}
		}).from(50).until(600).expect(
			emits(50, event.StreamStarted),
			emits(160, event.SegmentError, since(100)),
			emits(360, event.SegmentError, since(300)),
		)
	})
}

func TestAStreamWithTwoPlaylistsEndsWhenBothEnd(t *testing.T) { // 7.6
	t.Run("both at once", func(t *testing.T) {
		scenario(t, apart, func(w *world) { w.live.to, w.endlist = 200, true }).from(50).until(600).expect(
			emits(50, event.StreamStarted),
			emits(200, event.StreamEnded, because("endlist"), lasting(200)),
		)
	})
	t.Run("the second a moment later", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.endlistIn = map[string]span{"/picture/": {200, never}, "/sound/": {205, never}}
		}).from(50).until(600).expect(
			emits(50, event.StreamStarted),
			emits(210, event.StreamEnded, because("endlist")),
		)
	})
	t.Run("the other is read at once when one is", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.silent, w.endlistIn = []span{{171, never}}, map[string]span{"/picture/": {200.5, never}, "/sound/": {200.5, never}}
		}).from(50).until(600).expect(
			emits(50, event.StreamStarted),
			emits(201, event.StreamEnded, because("endlist"), lasting(200)),
		)
	})
	t.Run("with the last media of either", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.stallsIn = map[string][]span{"/sound/": {{180, never}}}
			w.endlistIn = map[string]span{"/picture/": {200, never}, "/sound/": {200, never}}
		}).from(50).until(600).expect(
			emits(50, event.StreamStarted),
			emits(200, event.StreamEnded, lasting(200)),
		)
	})
	t.Run("one that went on after all is not over", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.endlistIn = map[string]span{"/sound/": {195, 215}, "/picture/": {300, never}}
		}).from(50).until(340).expect(
			emits(50, event.StreamStarted),
		)
	})
	t.Run("one alone has come to a standstill", func(t *testing.T) {
		scenario(t, apart, func(w *world) {
			w.endlistIn, w.stallsIn = map[string]span{"/sound/": {200, never}}, map[string][]span{"/sound/": {{200, never}}}
		}).from(50).until(600).expect(
			emits(50, event.StreamStarted),
			emits(250, event.SegmentError, since(190), because("stalled")),
		)
	})
}
