package watch_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// In these worlds the official API is asked every 30 s, from the start of the watch on, and the watcher learns the
// answer 5 s later. A state is 90 s old at the fourth question after its own.

func TestTheOfficialAPIAnswersTheRegularQuestionOfAStreamThatWaits(t *testing.T) { // S23
	const upcoming, live, ended, unknown = monitor.StreamUpcoming, monitor.StreamLive, monitor.StreamEnded, monitor.StreamUnknown
	waits := liveFrom(never)
	follow(t, []timeline{
		{"yt-dlp is asked at the start, and no more for a day", []option{waits, apiSays(upcoming, 0, never)}, 0, 86_400, "",
			[]tasks{asked(0, 86_400, 0)}},
		{"when the state changes", []option{liveFrom(300), apiSays(upcoming, 0, 325), apiSays(live, 325, never)}, 0, 500, "335 started since 300",
			[]tasks{asked(0, 500, 0, 335)}},
		{"and by section 7.5 while yt-dlp does not say so too", []option{liveFrom(420), apiSays(upcoming, 0, 325), apiSays(live, 325, never)}, 0, 500, "425 started since 420",
			[]tasks{asked(0, 500, 0, 335, 365, 395, 425)}},
		{"also when the encoder is not connected", []option{waits, says(watch.Offline, 300, never), apiSays(upcoming, 0, 325), apiSays(live, 325, never)}, 0, 440, "",
			[]tasks{asked(0, 440, 0, 335, 365, 395, 425)}},
		{"when the state is 90 s old, and by section 7.5 from then on", []option{waits, apiSays(upcoming, 0, 301)}, 0, 490, "",
			[]tasks{asked(0, 490, 0, 390, 420, 450, 480)}},
		{"until the API answers again", []option{waits, apiSays(upcoming, 0, 301), apiSays(upcoming, 449, never)}, 0, 1000, "",
			[]tasks{asked(0, 1000, 0, 390, 420, 450)}},
		{"at the scheduled start, and before it is told to be late", []option{waits, scheduled(200), takes(watch.TaskResolve, 1), apiSays(upcoming, 0, never)}, 0, 2000, "501 delayed for 301",
			[]tasks{asked(0, 2000, 0, 200, 500)}},
		{"A10 and before the reservation expires", []option{waits, apiSays(upcoming, 0, never), func(w *world) {
			w.rules.ScheduledEnd, w.rules.StartTolerance = at(75), seconds(20)
		}}, 0, 500, "95 error by reservation_expired", []tasks{asked(0, 500, 0, 95)}},
		{"what the API does not know is asked about for the reason", []option{waits, says(watch.Private, 300, never), apiSays(upcoming, 0, 325), apiSays(unknown, 325, never)}, 0, 500,
			"335 error by video_private", []tasks{asked(0, 500, 0, 335)}},
		{"the API alone ends nothing", []option{waits, apiSays(upcoming, 0, 325), apiSays(ended, 325, never)}, 0, 440, "",
			[]tasks{asked(0, 440, 0, 335, 365, 395, 425)}},
		{"S19 the API drops no claim", []option{waits, scheduled(200), says(watch.Removed, 200, never), apiSays(upcoming, 0, never)}, 0, 440,
			"230 error by video_unavailable", []tasks{asked(0, 440, 0, 200, 210, 220, 230)}},
		{"the API is first", []option{liveFrom(never), takes(watch.TaskResolve, 50), apiSays(upcoming, 0, never)}, 0, 440, "",
			[]tasks{asked(0, 440, 0)}},
		{"S11 a restart asks nothing while the state is young", []option{waits, apiSays(upcoming, 0, never), restarts(400, 420)}, 0, 900, "",
			[]tasks{asked(0, 900, 0)}},
		{"S11 a restart asks when it is not", []option{waits, apiSays(upcoming, 0, never), restarts(400, 500)}, 0, 900, "",
			[]tasks{asked(0, 900, 0, 500)}},
	})
}

func TestAnOfficialAPIThatIsLateLetsAStreamBeAskedAboutAllTheSame(t *testing.T) { // S23
	const upcoming, live = monitor.StreamUpcoming, monitor.StreamLive
	late := func(w *world) { w.rules.OfficialCheck = 2 * time.Minute }
	follow(t, []timeline{
		{"every two minutes while it says that the stream waits", []option{place(), late, liveFrom(never), apiSays(upcoming, 0, never)}, 0, 700, "",
			[]tasks{asked(0, 700, 0, 120, 240, 360, 480, 600)}},
		{"so it is no later than that", []option{place(), late, liveFrom(301), apiSays(upcoming, 0, 1000), apiSays(live, 1000, never)}, 0, 1500, "360 started since 301",
			[]tasks{asked(0, 900, 0, 120, 240, 360)}},
		{"at once when it says that the stream is live", []option{place(), late, liveFrom(241), apiSays(upcoming, 0, 265), apiSays(live, 265, never)}, 0, 1500, "275 started since 241",
			[]tasks{asked(0, 1500, 0, 120, 240, 275)}},
		{"and no more than once when that flaps after the start", []option{place(), late, liveFrom(241), apiSays(upcoming, 0, 265), apiSays(live, 265, 325), apiSays(upcoming, 325, 385), apiSays(live, 385, never)},
			0, 1500, "275 started since 241", []tasks{asked(0, 1500, 0, 120, 240, 275, 335)}},
		{"by section 7.5 while the playlist of a broadcast that has ended says otherwise", []option{place(), late, liveFrom(never), apiSays(live, 0, 145), apiSays(upcoming, 145, never)}, 0, 500, "",
			[]tasks{asked(0, 500, 0, 5, 35, 65, 95, 125, 245, 365, 485)}},
		{"and at the scheduled start, and before it is told to be late", []option{place(), late, liveFrom(never), scheduled(200), takes(watch.TaskResolve, 1), apiSays(upcoming, 0, never)}, 0, 1000, "501 delayed for 301",
			[]tasks{asked(0, 1000, 0, 120, 200, 320, 440, 500, 620, 740, 860, 980)}},
		{"when the state is 90 s old, by section 7.5", []option{place(), late, liveFrom(never), apiSays(upcoming, 0, 301)}, 0, 490, "",
			[]tasks{asked(0, 490, 0, 120, 240, 360, 390, 420, 450, 480)}},
		{"it spares no question about a stream that is watched", []option{place(), late, apiSays(live, 0, never), checksEvery(30)}, 100, 10_000, "100 started since 0",
			[]tasks{asked(100, 10_000, 100, 3700, 7300)}},
	})
}

func TestTheOfficialAPIEndsNoTrouble(t *testing.T) { // S23
	live := apiSays(monitor.StreamLive, 0, never)
	follow(t, []timeline{
		{"an outage is asked about and told", []option{stalls(130, never), live}, 100, 500, "100 started since 0, 190 segment_error since 130 for 60 by stalled",
			[]tasks{asked(100, 500, 100, 190, 490)}},
		{"a blackout is told", []option{black(150, never), live}, 100, 500, "100 started since 0, 180 blackout since 150 for 30", nil},
		{"S15 who sees nothing is blind", []option{unobservable(195, never), live}, 100, 600, "100 started since 0, 490 error by blind", nil},
		{"S15 who cannot ask about a stream that waits is blind", []option{unanswered(0, never), apiSays(monitor.StreamUpcoming, 0, never)}, 0, 900, "300 error by blind", nil},
		{"S15 also who could ask before", []option{liveFrom(never), scheduled(200), unanswered(150, never), apiSays(monitor.StreamUpcoming, 0, never)}, 0, 600,
			"485 error by blind", nil}, // the last state before the question is of 180, and known 5 s later
		{"S15 what the API does not know is not seen", []option{liveFrom(never), takes(watch.TaskResolve, never), apiSays(monitor.StreamUnknown, 0, never)}, 0, 600, "390 error by blind", nil},
		{"S15 and is so until yt-dlp answers", []option{liveFrom(never), unanswered(0, 700), apiSays(monitor.StreamUpcoming, 0, never)}, 0, 900, "300 error by blind",
			[]tasks{asked(300, 900, 300, 360, 420, 480, 540, 600, 660, 720)}},
	})
}

func TestTheOfficialAPIEndsNoBlindnessThatWasTold(t *testing.T) { // S15, S23
	w := scenario(t, liveFrom(never), apiSays(monitor.StreamUpcoming, 600, never), func(w *world) { w.questionsHang = []span{{29, 900}} }).from(0)
	w.until(800).expect("390 error by blind")
	if v := w.watcher.Report().Visibility; !v.BlindSince.Equal(at(0)) {
		t.Errorf("blind since %v, want since the answer at second 0", sec(v.BlindSince))
	}
}

func TestTheOfficialAPIIsAskedAboutAStreamThatIsWatched(t *testing.T) { // S17, S23
	const live, ended, unknown = monitor.StreamLive, monitor.StreamEnded, monitor.StreamUnknown
	follow(t, []timeline{
		{"its word spares the hourly question", []option{apiSays(live, 0, never), checksEvery(30)}, 100, 10_000, "100 started since 0", []tasks{asked(100, 10_000, 100)}},
		{"not the one that renews the manifest", []option{apiSays(live, 0, never), checksEvery(30), expiringAfter(7200 * 1e9)}, 100, 10_000, "100 started since 0",
			[]tasks{asked(100, 10_000, 100, 6400)}},
		{"an end is asked about once, and moving media contradict it", []option{apiSays(live, 0, 425), apiSays(ended, 425, never)}, 100, 3500, "100 started since 0",
			[]tasks{asked(100, 3500, 100, 435)}},
		{"a video that was made private", []option{apiSays(live, 0, 425), apiSays(unknown, 425, never), says(watch.Private, 400, never)}, 100, 3500,
			"100 started since 0, 435 error by video_private", []tasks{asked(100, 3500, 100, 435)}},
		{"an index that is late is asked about no more", []option{apiSays(monitor.StreamUpcoming, 0, never)}, 100, 3500, "100 started since 0",
			[]tasks{asked(100, 3500, 100, 105)}},
	})
}

func TestAnOlderAnswerOfTheOfficialAPIChangesNothing(t *testing.T) {
	w := scenario(t, liveFrom(never), apiSays(monitor.StreamUpcoming, 0, never)).from(0).until(100)
	w.step(watch.OfficialState{Status: monitor.StreamLive, AskedAt: at(60)})
	w.until(200).expectBegun(watch.TaskResolve, span{0, 200}, 0)
}

func TestWhatTheOfficialAPISaidBeforeTheClockWasSetIsOld(t *testing.T) { // a machine that was suspended looks the same
	w := scenario(t, liveFrom(never), apiSays(monitor.StreamUpcoming, 0, 91)).from(0).until(100)
	w.setClock(3600)
	w.until(w.now + 1)
	if n := len(w.begun[watch.TaskResolve]); n != 2 {
		t.Errorf("asked %d times, want at the start and after the step", n)
	}
}
