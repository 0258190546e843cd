package watch_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestPictureAndSoundInTwoPlaylistsAreBothWatched(t *testing.T) {
	follow(t, []timeline{
		{"each condition from its own track", []option{apart, black(100, 140), silent(120.5, 200)}, 50, 300,
			"50 started since 0, 130 blackout since 100 for 30, 142 blackout_recovered since 100 until 140 for 40, " +
				"152 silence since 120.5 for 31, 202 silence_recovered since 120.5 until 200 for 79", nil},
		{"also when one is behind the other", []option{apart, black(100, 160), stallsIn("/sound/", 90, 140)}, 50, 300,
			"50 started since 0, 130 blackout since 100 for 30, 162 blackout_recovered since 100 until 160 for 60", nil},
		{"also by a successor", []option{apart, black(100, 160), silent(100, 160), restarts(115, 118, 140, 142)}, 50, 300,
			"50 started since 0, 130 blackout since 100 for 30, 130 silence since 100 for 30, " +
				"162 blackout_recovered since 100 until 160 for 60, 162 silence_recovered since 100 until 160 for 60", nil},
		// From 130 on the playlist of the sound is read with each of its segments.
		{"nothing is looked at for the sake of the other", []option{apart, silent(101, 145)}, 50, 200,
			"50 started since 0, 132 silence since 101 for 31, 146 silence_recovered since 101 until 145 for 44", []tasks{
				analysed(60, 100, 60, 60, 70, 70, 80, 80, 90, 90), read(121, 139, 130, 130, 131, 132, 134, 135.9, 136.9, 138.9),
			}},
		{"a slow track does not starve the other", []option{apart, silent(100, 300), takes(watch.TaskPlaylist, 4), takes(watch.TaskSegment, 7)}, 50, 420, "50 started since 0, 206 silence since 100 for 36, 359 silence_recovered since 100 until 302 for 202", nil}, // S16
		{"the refusals of one delay no check of the other", []option{apart, withTaskTimes, takes(watch.TaskSegment, 4), failing(watch.FailureExpired),
			noPlaylistIn("/sound/", 95, 900), black(300, 500)}, 50, 900, "53 started since 0, 166.2 segment_error since 103.1 for 63 by manifest, 371.6 blackout since 300 for 32, 511 blackout_recovered since 300 until 500 for 200", nil},
		{"the program time of one is reset", []option{apart, black(100, 160), func(w *world) {
			w.resetFrom, w.resetBy, w.resetIn = 110, 3600, "/sound/"
		}}, 50, 300, "50 started since 0, 130 blackout since 100 for 30, 162 blackout_recovered since 100 until 160 for 60", nil},
		{"one is out for long while the other is bad", []option{apart, threshold(detector.Blackout, 110), black(100, 300), noPlaylistIn("/sound/", 105, 169)}, 50, 400,
			"50 started since 0, 210 blackout since 100 for 110, 302 blackout_recovered since 100 until 300 for 200", nil},
	})
}

func TestAFailingTrackIsAnOutage(t *testing.T) { // 6.6
	for _, track := range []string{"sound", "picture"} {
		t.Run(fmt.Sprintf("the %s for 90 s, and the other is watched meanwhile", track), func(t *testing.T) {
			w := scenario(t, apart, noPlaylistIn("/"+track+"/", 95, 185), black(110, 150), silent(110, 150)).from(50).until(165)
			health := w.watcher.Report().Health
			alert, other, out := "blackout", health.Video, health.Audio
			if track == "picture" {
				alert, other, out = "silence", health.Audio, health.Video
			}
			if other != monitor.OK || out != monitor.Unknown {
				t.Errorf("health %+v", health)
			}
			w.until(400).expect(fmt.Sprintf(
				"50 started since 0, 140 %[1]s since 110 for 30, 152 %[1]s_recovered since 110 until 150 for 40, 160 segment_error since 100 for 60 by manifest", alert))
		})
	}
	follow(t, []timeline{
		{"not from before the stream began", []option{apart, withTaskTimes, liveFrom(3600), endlistIn("/picture/", 0, never), stallsIn("/picture/", 3600, never)}, 0, 4000,
			"3633 started since 3600, 3696.1 segment_error since 3633 for 63 by stalled", nil},
		{"both at once are one outage", []option{apart, noPlaylist(95, 250)}, 50, 400,
			"50 started since 0, 160 segment_error since 100 for 60 by manifest", nil},
		{"also when both are back at once", []option{apart, noPlaylist(95, 163), takes(watch.TaskResolve, 2)}, 50, 400,
			"52 started since 0, 164 segment_error since 102 for 62 by manifest", nil},
		{"since the first of them", []option{apart, noPlaylistIn("/picture/", 105, 400), noPlaylistIn("/sound/", 95, 400), unanswered(60, 250)}, 50, 380,
			"50 started since 0, 315 segment_error since 100 for 215 by manifest", nil},
		{"one after the other, without a pause, likewise", []option{apart, noPlaylistIn("/picture/", 95, 200), noPlaylistIn("/sound/", 175, 400)}, 50, 600,
			"50 started since 0, 160 segment_error since 100 for 60 by manifest", nil},
		{"one after the other, with a pause, are two", []option{apart, noPlaylistIn("/picture/", 95, 200), noPlaylistIn("/sound/", 295, 400)}, 50, 600,
			"50 started since 0, 160 segment_error since 100 for 60 by manifest, 360 segment_error since 300 for 60 by manifest", nil},
	})
}

func TestAStreamWithTwoPlaylistsEndsWhenBothEnd(t *testing.T) { // 7.6
	follow(t, []timeline{
		{"both at once", []option{apart, endsAt(200, true)}, 50, 600, "50 started since 0, 200 ended until 200 for 200 by endlist", nil},
		{"the second a moment later", []option{apart, endlistIn("/picture/", 200, never), endlistIn("/sound/", 205, never)}, 50, 600,
			"50 started since 0, 210 ended until 210 for 210 by endlist", nil},
		{"the other is read at once when one is", []option{apart, silent(171, never), endlistIn("/picture/", 200.5, never), endlistIn("/sound/", 200.5, never)}, 50, 600,
			"50 started since 0, 201 ended until 200 for 200 by endlist", nil},
		{"with the last media of either", []option{apart, stallsIn("/sound/", 180, never), endlistIn("/picture/", 200, never), endlistIn("/sound/", 200, never)}, 50, 600,
			"50 started since 0, 200 ended until 200 for 200 by endlist", nil},
		{"one that went on after all is not over", []option{apart, endlistIn("/sound/", 195, 215), endlistIn("/picture/", 300, never)}, 50, 340,
			"50 started since 0", nil},
		{"one alone has come to a standstill", []option{apart, endlistIn("/sound/", 200, never), stallsIn("/sound/", 200, never)}, 50, 600,
			"50 started since 0, 250 segment_error since 190 for 60 by stalled", nil},
	})
}

func TestAStreamEndsIfNoOtherQualityGoesOn(t *testing.T) { // 7.6
	viaMaster := func(w *world) { w.viaMaster = true }
	two := []option{viaMaster, renditions(144, 360)}
	with := func(more ...option) []option { return append(slices.Clone(two), more...) }
	follow(t, []timeline{
		{"all end", with(endsAt(200, true)), 50, 600, "50 started since 0, 200 ended until 200 for 200 by endlist", []tasks{{watch.TaskPlaylist, span{199, 201}, []float64{200, 200, 200}}}},
		{"there is no other", []option{viaMaster, renditions(144), endsAt(200, true)}, 50, 600, "50 started since 0, 200 ended until 200 for 200 by endlist", nil},
		{"the sound is in a playlist of its own", []option{viaMaster, apart, endsAt(200, true)}, 50, 600, "50 started since 0, 200 ended until 200 for 200 by endlist", nil},
		{"the other cannot be read", with(endlistIn("/144p/", 200, never), noPlaylistIn("/360p/", 200, never)), 50, 600,
			"50 started since 0, 200 ended until 200 for 200 by endlist", nil},
		{"the list cannot be read", with(endlistIn("/144p/", 200, never), noPlaylistIn("/master/", 200, never)), 50, 600,
			"50 started since 0, 200 ended until 200 for 200 by endlist", nil},
		{"one alone, and it is tried again with each new manifest", with(endlistIn("/144p/", 200, never), black(300, 340)), 50, 40000,
			"50 started since 0, 330 blackout since 300 for 30, 342 blackout_recovered since 300 until 340 for 40", nil},
		{"one alone, across a restart", with(endlistIn("/144p/", 200, never), takes(watch.TaskPlaylist, 0.5), restarts(200.7, 203)), 50, 600, "50 started since 0", nil},
		{"one after the other", with(endlistIn("/144p/", 200, never), endlistIn("/360p/", 300, never)), 50, 600,
			"50 started since 0, 300 ended until 300 for 300 by endlist", nil},
	})
}
