package watch_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// begunIn counts the tasks of a kind that began in a time.
func (w *world) begunIn(k watch.TaskKind, s span) (n int) {
	for _, at := range w.begun[k] {
		if s.has(at) {
			n++
		}
	}
	return n
}

// expectBegun compares the times at which tasks of a kind began.
func (w *world) expectBegun(k watch.TaskKind, s span, want ...float64) {
	w.t.Helper()
	var got []float64
	for _, x := range w.begun[k] {
		if s.has(x) {
			got = append(got, x)
		}
	}
	if len(got) != len(want) || !slices.EqualFunc(got, want, func(a, b float64) bool { return abs(a-b) < tolerance }) {
		w.t.Errorf("%s was asked at %v, want %v", k, got, want)
	}
}

func TestWaitingPollsEvery30SecondsAndEvery10OnceLate(t *testing.T) { // 7.5
	w := scenario(t, func(w *world) { w.live.from, w.rules.ScheduledStart = never, at(75) }).from(0).until(110)
	w.expectBegun(watch.TaskResolve, span{0, 110}, 0, 30, 60, 75, 85, 95, 105)
}

func TestAReservationIsAskedAboutOnceMoreAtItsEnd(t *testing.T) { // A10
	w := scenario(t, func(w *world) {
		w.live.from, w.rules.ScheduledEnd, w.rules.StartTolerance = never, at(75), seconds(20)
	}).from(0).until(500)
	w.expectBegun(watch.TaskResolve, span{0, 500}, 0, 30, 60, 90, 95)
	w.expect(emits(95, event.MonitorError, because("reservation_expired")))
	t.Run("and expires all the same when nobody ever answers", func(t *testing.T) {
		scenario(t, func(w *world) {
			w.rules.ScheduledEnd, w.rules.StartTolerance, w.taskTime[watch.TaskResolve] = at(75), seconds(20), never
		}).from(0).until(500).expect(
			emits(390, event.MonitorError, because("blind")),
			emits(395, event.MonitorError, because("reservation_expired")),
		)
	})
}

func TestTheFirstIntervalCanBeShorter(t *testing.T) { // 6.2
	w := scenario(t, func(w *world) { w.rules.Phase = seconds(4) }).from(100).until(150)
	w.expectBegun(watch.TaskSegment, span{0, 150}, 100, 106, 116, 126, 136, 146)
}

func TestChecksComeOncePerInterval(t *testing.T) { // 6.2
	w := scenario(t).from(100).until(150)
	w.expectBegun(watch.TaskSegment, span{0, 150}, 100, 110, 120, 130, 140)
}

func TestAnAnalysisLongerThanTheIntervalIsFollowedAtOnce(t *testing.T) { // 6.2
	w := scenario(t, func(w *world) { w.taskTime[watch.TaskSegment] = 13 }).from(100).until(150)
	w.expectBegun(watch.TaskPlaylist, span{0, 150}, 100, 113, 126, 139)
}

func TestAPlaylistIsReadEvery30SecondsWhateverTheInterval(t *testing.T) { // 5.4
	w := scenario(t, func(w *world) { w.rules.CheckInterval = 5 * time.Minute }).from(100).until(200)
	w.expectBegun(watch.TaskPlaylist, span{0, 200}, 100, 130, 160, 190)
	w.expectBegun(watch.TaskSegment, span{0, 200}, 100)
}

func TestTheSameSegmentIsNotAnalysedTwice(t *testing.T) { // S5
	w := scenario(t, func(w *world) { w.segment, w.rules.CheckInterval = 5, 2*time.Second }).from(100).until(200)
	if got := w.watcher.Report().Statistics.TotalSegmentsAnalyzed; got != 21 {
		t.Errorf("%d analyses of the 21 segments that were newest in turn", got)
	}
}

func TestAnUnansweredQuestionIsAskedAgainWithBackoff(t *testing.T) { // 10.2
	w := scenario(t, func(w *world) { w.unanswered = []span{{0, never}} }).from(0).until(250)
	w.expectBegun(watch.TaskResolve, span{0, 250}, 0, 5, 15, 35, 75, 135, 195)
}

func TestAnUnansweredPeriodicCheckGoesBackToItsCadence(t *testing.T) { // 10.2: five retries
	w := scenario(t, func(w *world) { w.unanswered = []span{{300, never}} }).from(100).until(8000)
	w.expectBegun(watch.TaskResolve, span{300, 8000}, 3700, 3705, 3715, 3735, 3775, 3835, 7435)
	w.expectBegun(watch.TaskOEmbed, span{0, 8000})                                // readable media prove that the video exists
	t.Run("of 5 minutes while the manifest must be renewed", func(t *testing.T) { // S17
		w := scenario(t, expiringAfter(45*time.Minute), func(w *world) { w.unanswered = []span{{300, never}} }).from(100).until(2700)
		w.expectBegun(watch.TaskResolve, span{300, 2700}, 1900, 1905, 1915, 1935, 1975, 2035, 2335, 2635)
	})
}

func TestAFailingPlaylistIsReadAgainWithBackoff(t *testing.T) { // 10.2
	w := scenario(t, func(w *world) { w.playlistFails = []span{{195, never}} }).from(100).until(400)
	// One more reading comes 60 s after the first failure, at the limit of the outage.
	w.expectBegun(watch.TaskPlaylist, span{195, 400}, 200, 205, 215, 235, 260, 260, 320, 380) // and at once under the renewed URL
}

func TestAFailingSegmentIsTriedAgainWithBackoff(t *testing.T) { // 10.2
	w := scenario(t, func(w *world) {
		w.segmentsFail, w.rules.CheckInterval = []span{{195, never}}, seconds(100)
	}).from(100).until(295)
	w.expectBegun(watch.TaskSegment, span{195, 295}, 200, 202, 206, 214, 230, 260, 260, 290)
	t.Run("which delays no check of the next one", func(t *testing.T) {
		w := scenario(t, func(w *world) { w.segmentsFail = []span{{195, never}} }).from(100).until(300)
		w.expectBegun(watch.TaskSegment, span{195, 255}, 200, 202, 206, 210, 220, 230, 240, 250)
	})
	t.Run("also when it is still the newest at the next check", func(t *testing.T) {
		w := scenario(t, func(w *world) {
			w.segmentsFail, w.stalls, w.rules.CheckInterval = []span{{195, never}}, []span{{200, never}}, seconds(1)
		}).from(100).until(240)
		w.expectBegun(watch.TaskSegment, span{195.5, 240}, 196, 198, 200, 208, 224)
	})
}

func TestEverySecondSegmentRefusedIsNoOutage(t *testing.T) { // 6.6: an outage has no new media at all
	w := scenario(t, func(w *world) {
		w.rules.CheckInterval, w.failure = seconds(2), watch.FailureExpired
		w.failsSegment = func(sequence uint64) bool { return sequence > 50 && sequence%2 == 0 }
		w.black = []span{{200, 260}}
	}).from(50).until(600)
	w.expect(
		emits(50, event.StreamStarted),
		emits(232, event.Blackout, since(202), lasting(30)), // the segment before is a refused one
		emits(264, event.BlackoutRecovered, since(202)),
	)
	if n := w.begunIn(watch.TaskResolve, span{150, 450}); n > 7 {
		t.Errorf("asked yt-dlp %d times in five minutes", n)
	}
	t.Run("and the others are looked at closely once each to find a change", func(t *testing.T) {
		w := scenario(t, func(w *world) {
			w.failsSegment = func(sequence uint64) bool { return sequence%5 != 4 } // all segments but the newest at each check
			w.black = []span{{193, 260}}
		}).from(50).until(250)
		if n := w.begunIn(watch.TaskSegment, span{196, 204}); n != 6 { // that of the last check is looked at again
			t.Errorf("%d analyses for five segments", n)
		}
	})
	t.Run("within bounds", func(t *testing.T) {
		w := scenario(t, func(w *world) {
			w.segment, w.window, w.rules.CheckInterval = 1, 60, seconds(40)
			w.failsSegment = func(sequence uint64) bool { return sequence%40 != 9 }
			w.black = []span{{193, 360}}
		}).from(50).until(250)
		if n := w.begunIn(watch.TaskSegment, span{205, 215}); n != 10 {
			t.Errorf("%d analyses at one check", n)
		}
	})
}

func TestARestartedEncoderMayReuseSegmentNames(t *testing.T) { // S5: program time tells
	const unstated = -1
	w := watch.New(rules(), at(0))
	w.Step(at(0), watch.Resolution{Began: at(0), State: watch.Live, Manifest: "m"})
	newest := func(now float64, first float64, names ...string) (id string) {
		p := watch.Playlist{Began: at(now), URL: "m", TargetDuration: 2 * time.Second}
		for i, name := range names {
			s := watch.Segment{URI: name, Duration: 2 * time.Second}
			if first != unstated {
				s.ProgramTime = at(first + 2*float64(i))
			}
			p.Segments = append(p.Segments, s)
		}
		w.Step(at(now), p)
		for _, task := range w.Next() {
			if task.Kind == watch.TaskSegment {
				w.Step(at(now), watch.Analysis{Began: at(now), Segment: task.Segment.ID(), Video: decoded, Audio: decoded})
				return task.Segment.ID()
			}
		}
		return ""
	}
	if id := newest(6, 0, "a", "b", "c"); id != "c" {
		t.Errorf("analyses %q", id)
	}
	if id := newest(16, 0, "a", "b"); id != "" {
		t.Errorf("analyses %q of a copy that lags behind", id)
	}
	if id := newest(26, 0.5, "a", "b"); id != "" {
		t.Errorf("analyses %q of a copy whose clock is a little off", id)
	}
	if id := newest(46, 40, "a", "b"); id != "b" {
		t.Errorf("analyses %q of the new ones", id)
	}
	newest(56, unstated, "c", "d")
	if id := newest(106, unstated, "c"); id != "" {
		t.Errorf("analyses %q, of which nothing tells that it is new", id)
	}
}

func TestAnExpiredURLIsResolvedAgainAtOnce(t *testing.T) { // S7
	w := scenario(t, func(w *world) {
		w.failure = watch.FailureExpired
		w.playlistFails = []span{{195, 200.5}} // one reading
		w.taskTime[watch.TaskResolve] = 1
	}).from(99).until(300)
	w.expectBegun(watch.TaskResolve, span{195, 300}, 200)
	w.expectBegun(watch.TaskPlaylist, span{195, 212}, 200, 201, 211)
	w.expect(emits(100, event.StreamStarted))
}

func TestIsLiveIsAskedAfter60SecondsOfOutageUntilAnswered(t *testing.T) { // S6
	w := scenario(t, func(w *world) {
		w.playlistFails = []span{{195, never}}
		w.unanswered = []span{{195, 330}}
	}).from(100).until(500)
	w.expectBegun(watch.TaskResolve, span{195, 400}, 260, 265, 275, 295, 335, 345)
	w.expect(
		emits(100, event.StreamStarted),
		emits(345, event.SegmentError, since(200), lasting(145), because("manifest")),
	)
}

func TestAnOutageNeedsAQuestionBegunAfterItsLimit(t *testing.T) { // S6
	w := scenario(t, func(w *world) {
		w.taskTime[watch.TaskResolve] = 8
		w.rules.CheckInterval = seconds(7)
		w.playlistFails = []span{{377, never}} // seen at 381; the outage reaches its limit at 441
		w.live.to = 420                        // after the regular question was put, at 419
	}).from(100).until(600)
	w.expectBegun(watch.TaskResolve, span{200, 450}, 419, 441)
	w.expect(
		emits(108, event.StreamStarted),
		emits(449, event.StreamEnded, because("not_live")),
	)
}

func TestTheFirstQuestionAboutAnOutageResetsTheBackoff(t *testing.T) { // S6
	w := scenario(t, func(w *world) {
		w.unanswered = []span{{150, never}}
		w.playlistFails = []span{{535, never}}
	}).from(100).until(700)
	w.expectBegun(watch.TaskResolve, span{545, 700}, 575, 580, 590, 600, 605, 615, 635, 675)
}

func TestBothLanesTryOnceMoreBeforeBlindnessIsAlerted(t *testing.T) { // S15
	dark := []span{{195, never}}
	w := scenario(t, func(w *world) { w.playlistFails, w.unanswered = dark, dark }).from(100).until(600)
	w.expectBegun(watch.TaskPlaylist, span{400, 500}, 440, 490)
	w.expectBegun(watch.TaskResolve, span{455, 500}, 455, 490)
	w.expect(
		emits(100, event.StreamStarted),
		emits(490, event.MonitorError, because("blind")),
	)
}

func TestAPlaylistIsReadAtTheMomentItWouldCountAsStalled(t *testing.T) { // S6, whatever the interval
	w := scenario(t, func(w *world) {
		w.rules.CheckInterval = 5 * time.Minute
		w.taskTime[watch.TaskPlaylist] = 1
		w.stalls = []span{{115, never}}
	}).from(100).until(131)
	w.taskTime[watch.TaskPlaylist] = 0
	w.until(400).expect(
		emits(100, event.StreamStarted),
		emits(191, event.SegmentError, since(131), lasting(60)), // neither at 190 nor at 220
	)
}

func TestACheckForAThresholdWaitsForItsSegmentToBePublished(t *testing.T) { // S2
	w := scenario(t, func(w *world) {
		w.delay, w.rules.CheckInterval = 10, time.Minute
		w.black = []span{{0, never}}
	}).from(111).until(139.5)
	w.expectBegun(watch.TaskPlaylist, span{0, 139.5}, 111, 139) // 98 + 30, and 11 until the segment is published
}

func TestASingleFailedReadingChangesNoCadence(t *testing.T) { // 6.2
	w := scenario(t, func(w *world) {
		w.segment = 30
		w.playlistFails = []span{{195, 203}}
	}).from(100).until(250)
	w.expectBegun(watch.TaskPlaylist, span{185, 250}, 190, 200, 205, 215, 225, 235, 245)
}

func TestBlindnessIsAlertedOncePerEpisode(t *testing.T) { // S15
	dark := []span{{195, 700}, {900, 1400}}
	w := scenario(t, func(w *world) { w.playlistFails, w.unanswered = dark, dark }).from(100).until(1500)
	if got := w.emitted(event.MonitorError); got != 2 {
		t.Errorf("emitted %d times, want once for each of two episodes: %v", got, w.events)
	}
	if w.over {
		t.Error("the watcher gave up")
	}
}

func TestTheNextCheckComesWhenTheThresholdCouldBeCrossed(t *testing.T) { // S2
	for _, interval := range []int{1, 5, 10, 60, 300} {
		t.Run(fmt.Sprintf("checks every %d s", interval), func(t *testing.T) {
			w := scenario(t, func(w *world) {
				w.rules.CheckInterval = seconds(interval)
				w.black = []span{{400, 1000}}
				w.delay = 4
			}).from(100).until(1000)
			seen := 0.0
			for _, x := range w.begun[watch.TaskSegment] {
				if seen == 0 && x >= 406 {
					seen = x
				}
			}
			// The bisection finds the onset. Without it, the onset is at most 30 s earlier.
			if len(w.events) < 2 || w.events[1].Type != event.Blackout {
				t.Fatalf("got %v", w.events)
			}
			crossing := sec(w.events[1].Data.(event.Alert).StartedAt) + 30 + 4
			if at := w.events[1].at; at > max(crossing, seen)+2 {
				t.Errorf("emitted at %v; seen at %v, the threshold crossed at %v", at, seen, crossing)
			}
		})
	}
}
