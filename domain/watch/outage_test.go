package watch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestAnOutageThatIsOverWhenItCouldBeAlertedIsNotAlerted(t *testing.T) { // S6
	w := scenario(t, func(w *world) {
		w.playlistFails = []span{{195, 270}}
		w.unanswered = []span{{195, 400}}
	}).from(100).until(1000).expect(emits(100, event.StreamStarted))
	w.expectSignals()
}

func TestAnOutageIsAlertedWhenItsQuestionIsAnsweredLater(t *testing.T) { // S6
	scenario(t, func(w *world) {
		w.playlistFails = []span{{195, 600}}
		w.unanswered = []span{{195, 320}}
	}).from(100).until(350).expect(
		emits(100, event.StreamStarted),
		emits(345, event.SegmentError, since(200), lasting(145), because("manifest")), // the media were looked at again before
	)
}

func TestFailingSegmentsUnderAMovingPlaylistNeedNoAnswer(t *testing.T) { // S6: the moving playlist proves that the stream is live
	scenario(t, func(w *world) {
		w.segmentsFail = []span{{195, never}}
		w.unanswered = []span{{195, never}}
	}).from(100).until(3600).expect(
		emits(100, event.StreamStarted),
		emits(260, event.SegmentError, since(200), lasting(60), because("segment")),
	)
}

func TestAnOutageOfAStreamKnownToBeLiveIsNotBlindness(t *testing.T) { // S15
	for _, took := range []float64{0, 3, 8, 40} {
		for name, change := range map[string]func(*world){
			"fails":        func(w *world) { w.playlistFails = []span{{200, never}} },
			"stands still": func(w *world) { w.stalls = []span{{200, never}} },
		} {
			t.Run(fmt.Sprintf("a playlist %s, answers take %v s", name, took), func(t *testing.T) {
				w := scenario(t, change, func(w *world) { w.taskTime[watch.TaskResolve] = took }).from(100).until(3600)
				if w.emitted(event.SegmentError) != 1 || w.emitted(event.MonitorError) != 0 {
					t.Errorf("emitted %v", w.events)
				}
			})
		}
	}
}

func TestAStalledPlaylistIsAlertedOnce(t *testing.T) { // S5, S6, S11
	for _, noProgramTime := range []bool{false, true} {
		for _, cuts := range [][]float64{nil, {105, 150}, {161}, {200, 300, 400, 500}} {
			t.Run(fmt.Sprintf("without program time: %v, restarts at %v", noProgramTime, cuts), func(t *testing.T) {
				w := scenario(t, func(w *world) { w.stalls, w.noProgramTime = []span{{100, 1500}}, noProgramTime }).from(50)
				for _, cut := range cuts {
					w.until(cut).resume(3)
				}
				w.until(1400)
				if n := w.emitted(event.SegmentError); n != 1 || len(w.events) != 2 {
					t.Errorf("emitted %d times: %v", n, w.events)
				}
				w.stalls = append(w.stalls, span{1600, 2000})
				w.until(1990)
				if n := w.emitted(event.SegmentError); n != 2 || len(w.events) != 3 {
					t.Errorf("the next one: emitted %d times: %v", n, w.events)
				}
			})
		}
	}
}

func TestAnOutageIsAlertedOnceAcrossARestart(t *testing.T) { // S11
	for name, change := range map[string]func(*world){
		"of the manifest": func(w *world) { w.playlistFails = []span{{195, never}} },
		"of segments":     func(w *world) { w.segmentsFail = []span{{195, never}} },
	} {
		for _, cut := range []float64{230, 262, 500} {
			t.Run(fmt.Sprintf("%s, at %v", name, cut), func(t *testing.T) {
				w := scenario(t, change).from(100).until(cut).resume(3).until(900)
				if n := w.emitted(event.SegmentError); n != 1 || len(w.events) != 2 {
					t.Fatalf("emitted %d times: %v", n, w.events)
				}
				if complaint := since(200)(w.events[1].Data); complaint != "" {
					t.Error(complaint)
				}
			})
		}
	}
}

func TestAnOutageWithTwoFailuresIsOneOutage(t *testing.T) { // S6
	w := scenario(t, func(w *world) {
		w.segmentsFail = []span{{195, 230}}
		w.playlistFails = []span{{230, never}}
	}).from(100).until(900)
	w.expectBegun(watch.TaskPlaylist, span{225, 265}, 230, 235, 245, 260, 260) // the backoff belongs to the new cause
	w.expect(
		emits(100, event.StreamStarted),
		emits(260, event.SegmentError, since(200), because("manifest")),
	)
	t.Run("since the earlier of them", func(t *testing.T) {
		w := scenario(t, func(w *world) {
			w.stalls = []span{{150, never}}
			w.playlistFails = []span{{195, 212}}
		}).from(100).until(230)
		w.expectBegun(watch.TaskPlaylist, span{195, 230}, 200, 205, 215, 215, 225)
		w.expect(
			emits(100, event.StreamStarted),
			emits(215, event.SegmentError, since(150), because("stalled")),
		)
	})
}

func TestBadMediaAreNotJoinedAcrossALongOutage(t *testing.T) { // S20
	short := func(w *world) {
		w.rules.CheckInterval = seconds(2)
		w.playlistFails = []span{{102.5, 1000}}
		w.black = []span{{100, 102}, {1000, 1003}}
	}
	scenario(t, short).from(50).until(1300).expect(
		emits(50, event.StreamStarted),
		emits(164, event.SegmentError),
	)
	t.Run("but an alerted one goes on until media are good", func(t *testing.T) {
		scenario(t, func(w *world) {
			w.playlistFails = []span{{145, 1000}}
			w.black = []span{{100, 1090}}
		}).from(50).until(1300).expect(
			emits(50, event.StreamStarted),
			emits(130, event.Blackout, since(100)),
			emits(206.5, event.SegmentError),
			emits(1092, event.BlackoutRecovered, since(100), lasting(990)),
		)
	})
}

func TestAStalledPlaylistIsNotReadEverySecond(t *testing.T) { // S2 needs new media
	w := scenario(t, func(w *world) { w.stalls, w.black = []span{{110, never}}, []span{{100, never}} }).from(50).until(900)
	n := 0
	for _, x := range w.begun[watch.TaskPlaylist] {
		if x > 300 {
			n++
		}
	}
	if n > 65 {
		t.Errorf("read %d times in 600 s", n)
	}
}

func TestALiveStreamWithoutUsableMediaIsAnOutage(t *testing.T) { // 6.6, 7.3
	subtitles := []watch.Rendition{{URL: "https://media.test/s"}}
	for name, found := range map[string]func(*watch.Resolution){
		"none of it HLS":    func(r *watch.Resolution) { r.Manifest, r.Detail = "", "none of it is HLS" },
		"only of subtitles": func(r *watch.Resolution) { r.Renditions = subtitles },
	} {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, func(w *world) { w.changeAnswer, w.rules.ScheduledStart = found, at(0) }).from(100).until(390).expect(
				emits(100, event.StreamStarted),
				emits(160, event.SegmentError, since(100), because("manifest")),
			)
			w.expectBegun(watch.TaskResolve, span{100, 390}, 100, 105, 115, 135, 160, 220, 280, 340)
			w.changeAnswer = nil
			w.until(405)
			w.expectBegun(watch.TaskSegment, span{100, 405}, 400)
		})
	}
}

func TestRefusedURLsThatNoAnswerReplacesAreAnOutage(t *testing.T) { // 6.6, S6, S7
	scenario(t, func(w *world) {
		w.failure, w.playlistFails = watch.FailureExpired, []span{{195, never}}
		w.taskTime[watch.TaskResolve], w.taskTime[watch.TaskPlaylist] = 1, 0.1
		w.changeAnswer = func(r *watch.Resolution) {
			if sec(r.Began) > 195 {
				r.Manifest, r.Detail = "", "the encoder sends nothing"
			}
		}
	}).from(100).until(600).expect(
		emits(101, event.StreamStarted),
		emits(262.1, event.SegmentError, since(201), lasting(61), because("manifest")),
	)
}

func TestAStreamWithOneTrackIsWatched(t *testing.T) { // S4
	for name, r := range map[string]watch.Rendition{
		"sound": {URL: "https://media.test/v/list.m3u8", HasVideo: true}, "picture": {URL: "https://media.test/a/list.m3u8", HasAudio: true},
	} {
		w := scenario(t, func(w *world) {
			w.changeAnswer = func(o *watch.Resolution) { o.Renditions = []watch.Rendition{r} }
		}).from(100).until(105)
		if len(w.begun[watch.TaskSegment]) == 0 {
			t.Errorf("without %s, nothing is watched", name)
		}
	}
}

func TestUnequalCopiesOfAPlaylistAreOneStream(t *testing.T) { // S5
	for _, noProgramTime := range []bool{false, true} {
		for _, interval := range []int{2, 10} {
			t.Run(fmt.Sprintf("without program time: %v, checks every %d s", noProgramTime, interval), func(t *testing.T) {
				w := scenario(t, func(w *world) {
					w.copyDelays, w.noProgramTime = []int{0, 6, 4}, noProgramTime
					w.rules.CheckInterval = seconds(interval)
					w.black = []span{{120, 145}, {300, 340}}
				}).from(50)
				for cut := 200.0; cut < 320; cut += 7 {
					w.until(cut).resume(1)
				}
				w.until(500).expectBlackout(300, 340, 15)
				w.expectNoLog()
			})
		}
	}
}

// expectNoLog expects that nothing was logged.
func (w *world) expectNoLog() {
	w.t.Helper()
	if len(w.messages) > 0 {
		w.t.Errorf("logged %q", w.messages)
	}
}

// expectBlackout expects one blackout, with times that differ by at most slack. The
// alert comes after the threshold, and the stated duration is not too long.
func (w *world) expectBlackout(from, to, slack float64) {
	w.t.Helper()
	if len(w.events) != 3 || w.events[1].Type != event.Blackout || w.events[2].Type != event.BlackoutRecovered {
		w.t.Fatalf("got %v", w.events)
	}
	alert, back := w.events[1], w.events[2].Data.(event.Recovered)
	onset, end := sec(back.StartedAt), sec(back.RecoveredAt)
	if abs(onset-from) > slack || abs(end-to) > slack || float64(back.TotalDurationSec) > to-from+slack {
		w.t.Errorf("emitted from %v to %v, was from %v to %v", onset, end, from, to)
	}
	if early := from + w.rules.Thresholds[detector.Blackout].Seconds(); alert.at < early {
		w.t.Errorf("emitted at %v, before %v", alert.at, early)
	}
}

func TestAManifestRenewedInTimeIsTheSameMedia(t *testing.T) { // S5, S7: signed URLs last 6 h
	for _, noProgramTime := range []bool{false, true} {
		w := scenario(t, func(w *world) {
			w.noProgramTime, w.delay, w.taskTime[watch.TaskResolve] = noProgramTime, 7, 3
			w.black = []span{{18050, 18150}}
		}).from(100).until(6 * 3600)
		w.expectBlackout(18050, 18150, 10)
		w.expectNoLog()
		if len(w.urls) != 2 {
			t.Errorf("read %d manifests in 6 hours, want one renewed after 5", len(w.urls))
		}
	}
}

func TestAnImpossibleSegmentDurationBecomesTheTargetDuration(t *testing.T) { // S10
	w := watch.New(rules(), at(0))
	w.Step(at(0), watch.Resolution{Began: at(0), State: watch.Live, Manifest: "m"})
	w.Step(at(0), watch.Playlist{Began: at(0), URL: "m", TargetDuration: 2 * time.Second, Segments: []watch.Segment{{URI: "a", Duration: 40 * time.Second}}})
	for _, e := range w.Step(at(0), watch.Analysis{Began: at(0), Segment: "a", Video: decoded, Audio: decoded, Intervals: map[detector.Name][]watch.Interval{detector.Blackout: wholeSegment}}) {
		if e, ok := e.(watch.EventEmitted); ok {
			t.Errorf("2 s of black were alerted as %+v", e.Event.Data)
		}
	}
}

func TestRefusedSegmentsAreAlertedWhenOnlyTheFallbackAnswers(t *testing.T) { // 5.2, 6.6, S6
	for name, failure := range map[string]watch.FailureKind{"403": watch.FailureExpired, "network": watch.FailureNetwork} {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, func(w *world) {
				w.segmentsFail, w.failure = []span{{195, 300}}, failure
				w.changeAnswer = func(r *watch.Resolution) {
					if sec(r.Began) > 195 {
						r.State, r.ActualStart = watch.ManifestFound, time.Time{}
					}
				}
			}).from(100).until(400)
			w.expect(
				emits(100, event.StreamStarted),
				emits(260, event.SegmentError, since(200), lasting(60), because("segment")),
			)
		})
	}
}

func TestMediaFromBeforeAStallDoNotEndIt(t *testing.T) { // S6: an outage is alerted once
	// The newest segment is first analysed when its playlist has not moved for a minute.
	scenario(t, func(w *world) {
		w.rules.CheckInterval, w.stalls = 5*time.Minute, []span{{115, 1000}}
	}).from(100).until(1500).expect(
		emits(100, event.StreamStarted),
		emits(190, event.SegmentError, since(130), lasting(60), because("stalled")),
	)
}
