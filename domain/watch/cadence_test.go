package watch_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestTasksAreDueByTheirCadence(t *testing.T) {
	follow(t, []timeline{
		{"7.5 waiting polls every 30 s, and every 10 s once late", []option{liveFrom(never), scheduled(75)}, 0, 110, "",
			[]tasks{asked(0, 110, 0, 30, 60, 75, 85, 95, 105)}},
		{"A10 a reservation is asked about once more at its end", []option{liveFrom(never), func(w *world) {
			w.rules.ScheduledEnd, w.rules.StartTolerance = at(75), seconds(20)
		}}, 0, 500, "95 error by reservation_expired", []tasks{asked(0, 500, 0, 30, 60, 90, 95)}},
		{"A10 and expires all the same when nobody ever answers", []option{takes(watch.TaskResolve, never), func(w *world) {
			w.rules.ScheduledEnd, w.rules.StartTolerance = at(75), seconds(20)
		}}, 0, 500, "390 error by blind, 395 error by reservation_expired", nil},
		{"6.2 the first interval can be shorter", []option{func(w *world) { w.rules.Phase = seconds(4) }}, 100, 150, "100 started since 0",
			[]tasks{analysed(0, 150, 100, 106, 116, 126, 136, 146)}},
		{"6.2 checks come once per interval", nil, 100, 150, "100 started since 0", []tasks{analysed(0, 150, 100, 110, 120, 130, 140)}},
		{"6.2 an analysis longer than the interval is followed at once", []option{takes(watch.TaskSegment, 13)}, 100, 150, "100 started since 0",
			[]tasks{read(0, 150, 100, 113, 126, 139)}},
		{"5.4 a playlist is read every 30 s whatever the interval", []option{checksEvery(300)}, 100, 200, "100 started since 0",
			[]tasks{read(0, 200, 100, 130, 160, 190), analysed(0, 200, 100)}},
		{"6.2 a single failed reading changes no cadence", []option{segmentsOf(30), noPlaylist(195, 203)}, 100, 250, "100 started since 0",
			[]tasks{read(185, 250, 190, 200, 205, 215, 225, 235, 245)}},
		{"S2 a check for a threshold waits for its segment to be published", []option{black(0, never), checksEvery(60), func(w *world) { w.delay = 10 }}, 111, 139.5,
			"111 started since 0, 139 blackout since 98 for 30",
			[]tasks{read(0, 139.5, 111, 139)}}, // 98 + 30, and 11 until the segment is published
	})
	t.Run("S5 the same segment is not analysed twice", func(t *testing.T) {
		w := scenario(t, segmentsOf(5), checksEvery(2)).from(100).until(200)
		if got := w.watcher.Report().Statistics.TotalSegmentsAnalyzed; got != 21 {
			t.Errorf("%d analyses of the 21 segments that were newest in turn", got)
		}
	})
}

func TestWhatFailsIsTriedAgainWithBackoff(t *testing.T) { // 10.2
	follow(t, []timeline{
		{"a question", []option{unanswered(0, never)}, 0, 250, "", []tasks{asked(0, 250, 0, 5, 15, 35, 75, 135, 195)}},
		{"the hourly question five times, and readable media prove that the video exists", []option{unanswered(300, never)}, 100, 8000,
			"100 started since 0",
			[]tasks{asked(300, 8000, 3700, 3705, 3715, 3735, 3775, 3835, 7435), {watch.TaskProbe, span{0, 8000}, nil}}},
		{"S17 and then every 5 min while the manifest must be renewed", []option{expiringAfter(45 * time.Minute), unanswered(300, never)}, 100, 2700,
			"100 started since 0",
			[]tasks{asked(300, 2700, 1900, 1905, 1915, 1935, 1975, 2035, 2335, 2635)}},
		// One more reading comes 60 s after the first failure, at the limit of the outage, and one at
		// once under the renewed URL.
		{"a playlist", []option{noPlaylist(195, never)}, 100, 400,
			"100 started since 0, 260 segment_error since 200 for 60 by manifest", []tasks{read(195, 400, 200, 205, 215, 235, 260, 260, 320, 380)}},
		{"a segment", []option{noSegment(195, never), checksEvery(100)}, 100, 295,
			"100 started since 0, 260 segment_error since 200 for 60 by segment", []tasks{analysed(195, 295, 200, 202, 206, 214, 230, 260, 260, 290)}},
		{"a segment, which delays no check of the next one", []option{noSegment(195, never)}, 100, 300,
			"100 started since 0, 260 segment_error since 200 for 60 by segment",
			[]tasks{analysed(195, 255, 200, 202, 206, 210, 220, 230, 240, 250)}},
		{"a segment that is still the newest at the next check", []option{noSegment(195, never), stalls(200, never), checksEvery(1)}, 100, 240,
			"100 started since 0",
			[]tasks{analysed(195.5, 240, 196, 198, 200, 208, 224)}},
		{"S7 an expired URL at once", []option{failing(watch.FailureExpired), noPlaylist(195, 200.5), takes(watch.TaskResolve, 1)}, 99, 300,
			"100 started since 0",
			[]tasks{asked(195, 300, 200), read(195, 212, 200, 201, 211)}},
		{"S6 is_live after 60 s of outage until it is answered", []option{noPlaylist(195, never), unanswered(195, 330)}, 100, 500,
			"100 started since 0, 345 segment_error since 200 for 145 by manifest",
			[]tasks{asked(195, 400, 260, 265, 275, 295, 335, 345)}},
		// The outage is seen at 381 and reaches its limit at 441; the stream ends after the regular
		// question was put, at 419.
		{"S6 an outage needs a question begun after its limit", []option{takes(watch.TaskResolve, 8), checksEvery(7), noPlaylist(377, never), endsAt(420, false)}, 100, 600,
			"108 started since 0, 449 ended until 374 for 374 by not_live",
			[]tasks{asked(200, 450, 419, 441)}},
		{"S6 the first question about an outage resets the backoff", []option{unanswered(150, never), noPlaylist(535, never)}, 100, 700,
			"100 started since 0",
			[]tasks{asked(545, 700, 575, 580, 590, 600, 605, 615, 635, 675)}},
		{"S15 both lanes try once more before blindness is alerted", []option{unobservable(195, never)}, 100, 600,
			"100 started since 0, 490 error by blind",
			[]tasks{read(400, 500, 440, 490), asked(455, 500, 455, 490)}},
		{"S15 blindness is alerted once per episode", []option{unobservable(195, 700, 900, 1400)}, 100, 1500,
			"100 started since 0, 490 error by blind, 1190 error by blind", nil},
	})
}

func TestAPlaylistIsReadAtTheMomentItWouldCountAsStalled(t *testing.T) { // S6, whatever the interval
	w := scenario(t, checksEvery(300), takes(watch.TaskPlaylist, 1), stalls(115, never)).from(100).until(131)
	w.taskTime[watch.TaskPlaylist] = 0
	w.until(400).expect("100 started since 0, 191 segment_error since 131 for 60 by stalled") // neither at 190 nor at 220
}

func TestAQuestionIsAsUrgentAsItsAnswer(t *testing.T) {
	const poll, start, outage = watch.UrgencyPoll, watch.UrgencyStart, watch.UrgencyOutage
	for name, c := range map[string]struct {
		set         []option
		from, until float64
		want        []watch.Urgency
	}{
		"a stream that has not begun is asked about at once, then by its cadence": {[]option{liveFrom(never)}, 0, 70, []watch.Urgency{start, poll, poll}},
		"from its scheduled start on it may have begun":                           {[]option{liveFrom(never), scheduled(35)}, 0, 50, []watch.Urgency{start, poll, start, start}},
		"the official API says that it has begun, until that is old": {[]option{liveFrom(never), apiSays(monitor.StreamUpcoming, 0, 25), apiSays(monitor.StreamLive, 25, 35)}, 0, 130,
			[]watch.Urgency{start, start, start, start, poll}},
		"a refused URL is renewed":               {[]option{failing(watch.FailureExpired), noPlaylist(195, 200.5)}, 99, 300, []watch.Urgency{start, outage}},
		"an outage":                              {[]option{noPlaylist(195, never)}, 100, 261, []watch.Urgency{start, outage}},
		"the regular question while all is well": {nil, 100, 3701, []watch.Urgency{start, poll}},
	} {
		t.Run(name, func(t *testing.T) {
			if w := scenario(t, c.set...).from(c.from).until(c.until); !slices.Equal(w.urgencies, c.want) {
				t.Errorf("got %v at %v, want %v", w.urgencies, w.begun[watch.TaskResolve], c.want)
			}
		})
	}
}
