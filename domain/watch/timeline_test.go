package watch_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestAStreamIsWatchedFromItsStartToItsEnd(t *testing.T) { // 7.5, 7.6, S6, S13
	follow(t, []timeline{
		{"ENDLIST ends it", []option{endsAt(200, true)}, 50, 600, "50 started since 0, 200 ended until 200 for 200 by endlist", nil},
		{"a playlist that stands ends it if it is not live any more", []option{endsAt(200, false)}, 50, 600,
			"50 started since 0, 260 ended until 200 for 200 by not_live", nil},
		{"a playlist that stands while it is live is one outage", []option{stalls(100, 400)}, 50, 500,
			"50 started since 0, 160 segment_error since 100 for 60 by stalled", nil},
		{"a late start is alerted once", []option{liveFrom(450), scheduled(100), takes(watch.TaskResolve, 0.5)}, 0, 500,
			"400.5 delayed for 300, 453 started since 450", nil},
		{"a program time of before the start is none", []option{func(w *world) {
			w.live, w.endlist, w.resetFrom, w.resetBy = span{50, 200}, true, 0, -7200
		}}, 100, 300, "100 started since 50, 200 ended until 200 for 150 by endlist", nil},
	})
	t.Run("it starts once, whichever answer comes first", func(t *testing.T) {
		w := scenario(t).from(50).findManifest() // the playlist is being read when the answer comes
		w.step(watch.Resolution{Began: at(50), State: watch.Live, Manifest: w.manifest()})
		w.until(100).expect("50 started since 50")
	})
}

func TestBadMediaAreAlertedAtTheirThresholdAndAtTheirRecovery(t *testing.T) { // 6.3, 6.4, S1-S3
	follow(t, []timeline{
		{"black", []option{black(100.5, 152.3)}, 50, 300,
			"50 started since 0, 132 blackout since 100.5 for 31, 154 blackout_recovered since 100.5 until 152.3 for 51", nil},
		{"silent", []option{silent(100, 140)}, 50, 300,
			"50 started since 0, 130 silence since 100 for 30, 142 silence_recovered since 100 until 140 for 40", nil},
		{"black and silent independently", []option{black(100, 160), silent(120, 200)}, 50, 300,
			"50 started since 0, 130 blackout since 100 for 30, 150 silence since 120 for 30, " +
				"162 blackout_recovered since 100 until 160 for 60, 202 silence_recovered since 120 until 200 for 80", nil},
		{"black for its threshold exactly", []option{black(100, 130)}, 50, 300,
			"50 started since 0, 130 blackout since 100 for 30, 132 blackout_recovered since 100 until 130 for 30", nil},
		{"black from the first check on, and nobody watched before", []option{black(0, never)}, 100, 300,
			"100 started since 0, 128 blackout since 98 for 30", nil},
		{"a short picture ends a blackout", []option{checksEvery(2), black(100, 140, 140.2, 180)}, 50, 300,
			"50 started since 0, 130 blackout since 100 for 30, 142 blackout_recovered since 100 until 140 for 40, " +
				"172.2 blackout since 140.2 for 31, 182 blackout_recovered since 140.2 until 180 for 39", nil},
		{"a short outage does not", []option{black(100, 200), noPlaylist(110, 124)}, 50, 300,
			"50 started since 0, 130 blackout since 100 for 30, 202 blackout_recovered since 100 until 200 for 100", nil},
		{"a segment that overlaps the one before does not end it earlier", []option{checksEvery(2), black(100, 140), func(w *world) {
			w.resetFrom, w.resetBy = 140, -0.7
		}}, 50, 300, "50 started since 0, 130 blackout since 100 for 30, 142 blackout_recovered since 100 until 140 for 40", nil},
		// One pause is at the end of its segment, the other at the start. The playlist cannot be read
		// when the threshold is near.
		{"two pauses in speech are not one long silence", []option{
			threshold(detector.Silence, 10), silent(99.4, 100, 122, 122.6), noPlaylist(101, 120),
		}, 100, 400, "100 started since 0", nil},
		{"sound shorter than its segment is silent throughout", []option{silent(100, 140), func(w *world) {
			w.changeAnalysis = func(a *watch.Analysis) {
				a.Audio.From, a.Audio.To = seconds(3)/10, seconds(17)/10
				for i := range a.Intervals[detector.Silence] {
					a.Intervals[detector.Silence][i] = detector.Interval{From: a.Audio.From, To: a.Audio.To}
				}
			}
		}, checksEvery(2)}, 50, 300, "50 started since 0, 130 silence since 100 for 30, 142 silence_recovered since 100 until 140 for 40", nil},
		{"black for hours, whose recovery is found by the next check, with its instant", []option{segmentsOf(10), checksEvery(20), black(110.5, 23003.5)}, 100, 23100,
			"100 started since 0, 150 blackout since 110.5 for 39, 23010 blackout_recovered since 110.5 until 23003.5 for 22893", nil}, // S18
		{"a segment without a key frame and without sound is no failure", []option{groups(50), noSound}, 100, 400,
			"100 started since 0, 128 silence since 98 for 30", nil}, // S4, S18
	})
	for name, c := range map[string]struct {
		ahead int // tenths of a second by which the sound begins before the picture
		alert string
	}{
		"sound that begins a little before the picture moves no onset":     {1, "132 blackout since 101 for 31"},
		"a picture that is broken at its segment's beginning moves onsets": {8, "132.8 blackout since 101.8 for 30"},
	} {
		t.Run(name, func(t *testing.T) {
			scenario(t, checksEvery(2), black(101, 140), func(w *world) {
				w.changeAnalysis = func(a *watch.Analysis) {
					ahead := seconds(c.ahead) / 10
					a.Video.From, a.Video.To = ahead, a.Video.To+ahead
					for i, bad := range a.Intervals[detector.Blackout] {
						a.Intervals[detector.Blackout][i] = detector.Interval{From: bad.From + ahead, To: bad.To + ahead}
					}
				}
			}).from(50).until(135).expect("50 started since 0, " + c.alert)
		})
	}
}
