package watch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// claims lists the answers that end a watch once confirmed (decision S19), with the event that
// follows. The seconds are those between the two answers, after the start and before it.
var claims = []struct {
	state           watch.StreamState
	ends            string // "": it does not
	apart           float64
	endsWait        string
	apartWhenWaited float64
}{
	{watch.Ended, "ended by not_live", 10, "ended by not_live", 10},
	{watch.Upcoming, "ended by not_live", 10, "", 0},
	{watch.NotALiveStream, "ended by not_live", 10, "error by not_a_live_stream", 30},
	{watch.Removed, "error by video_unavailable", 30, "error by video_unavailable", 30},
	{watch.RegionLocked, "error by region_locked", 30, "error by region_locked", 30},
	{watch.AgeRestricted, "error by age_restricted", 30, "error by age_restricted", 30},
	{watch.MembersOnly, "error by members_only", 30, "error by members_only", 30},
}

// expectEnd expects that the watch starts, if it does, and then ends so.
func (w *world) expectEnd(starts bool, at float64, how string) {
	w.t.Helper()
	n := 0
	if starts {
		n = 1
	}
	if len(w.events) != n+1 || starts && w.events[0].Type != event.StreamStarted {
		w.t.Fatalf("emitted %v", w.events)
	}
	e := w.events[n]
	got := string(e.Type[len("stream."):])
	switch d := e.Data.(type) {
	case event.Ended:
		got += " by " + d.Reason
	case event.MonitorFailure:
		got = "error by " + d.Reason
	}
	if got != how || abs(e.at-at) > tolerance {
		w.t.Errorf("%s at %v, want %s at %v", got, e.at, how, at)
	}
}

func TestAnEndThatOnlyOneAnswerClaimsNeedsConfirmation(t *testing.T) { // S19
	for _, c := range claims {
		intervals := []int{10}
		if c.state == watch.Ended || c.state == watch.Removed { // one of each kind
			intervals = []int{2, 10, 60, 300}
		}
		t.Run(string(c.state), func(t *testing.T) {
			t.Run("after one 403 ends nothing when it is said once", func(t *testing.T) {
				for _, interval := range intervals {
					for expires := 350.0; expires < 380; expires += 7 {
						w := scenario(t, checksEvery(interval), failing(watch.FailureExpired), takes(watch.TaskResolve, 3),
							noPlaylistIn("/1/", expires, never), noSegmentIn("/1/", expires, never), func(w *world) {
								answered := false
								w.changeAnswer = func(r *watch.Resolution) {
									if sec(r.Began) > expires && !answered {
										answered, *r = true, watch.Resolution{Began: r.Began, State: c.state}
									}
								}
							})
						w.from(100).until(1000).expect("103 started since 0")
					}
				}
			})
			t.Run("while every segment is refused ends the watch when it is said twice", func(t *testing.T) {
				scenario(t, failing(watch.FailureExpired), noSegment(345, never), says(c.state, 345, never)).from(100).until(1000).expectEnd(true, 350+c.apart, c.ends)
			})
			t.Run("while segments are analysed ends nothing however often it is said", func(t *testing.T) {
				for _, interval := range intervals {
					w := scenario(t, checksEvery(interval), takes(watch.TaskResolve, 0.5), takes(watch.TaskSegment, 1), says(c.state, 350, never), expiringAfter(2*time.Hour))
					w.from(100).until(9000).expect("100.5 started since 0")
					// Once after an hour, and every 5 minutes while the manifest must be renewed.
					if n := w.begunIn(watch.TaskResolve, span{350, 9000}); n < 8 || n > 12 {
						t.Errorf("every %d s: asked %d times in 8650 s", interval, n)
					}
				}
			})
			t.Run("ends the watch at once when the playlist has stood still for 30 s", func(t *testing.T) {
				for asked, stop := range map[float64]option{3695: noPlaylist(3660, never), 3690: stalls(3660, never)} { // S17
					w := scenario(t, stop, says(c.state, 3670, never)).from(100).until(5000)
					w.expectBegun(watch.TaskResolve, span{150, 5000}, asked)
					w.expectEnd(true, asked, c.ends)
				}
			})
			t.Run("is not said twice when the contrary was said in between", func(t *testing.T) {
				w := scenario(t, noSegment(3695, 3750), says(c.state, 3699, 3701)).from(100).until(3712)
				w.expectBegun(watch.TaskResolve, span{150, 3712}, 3700, 3710) // the second answer is the contrary
				again := 3700 + c.apart + 5
				says(c.state, again-1, again+1)(w)
				w.until(again)
				w.step(w.resolve(w.now))
				w.until(8000).expect("100 started since 0")
			})
			t.Run("is not said twice within a restart", func(t *testing.T) {
				w := scenario(t, says(c.state, 3695, never), takes(watch.TaskPlaylist, 0.5)).from(100).until(3705).resume(3600).until(8000)
				w.expectBegun(watch.TaskResolve, span{150, 8000}, 3700, 7305)
				w.expect("100 started since 0")
			})
		})
	}
	t.Run("of one kind does not confirm another", func(t *testing.T) {
		w := scenario(t, noSegment(3695, 3745), says(watch.AgeRestricted, 3699, 3701), says(watch.MembersOnly, 3702, 3732)).from(100).until(8000)
		if n := w.begunIn(watch.TaskResolve, span{3699, 3732}); n < 3 {
			t.Errorf("asked %d times", n)
		}
		w.expect("100 started since 0")
	})
	t.Run("does not count twice when it is said again sooner", func(t *testing.T) {
		w := scenario(t, failing(watch.FailureExpired), noSegment(345, 380), says(watch.AgeRestricted, 345, 375)).from(100).until(352)
		for i := range 5 {
			w.now = 352 + float64(i)
			w.step(w.resolve(w.now))
		}
		w.until(1000).expect("100 started since 0")
	})
	follow(t, []timeline{
		{"is asked about again every 10 s until it is confirmed", []option{noSegment(3695, never), says(watch.Removed, 350, never)}, 100, 4500,
			"100 started since 0, 3730 error by video_unavailable",
			[]tasks{asked(350, 4500, 3700, 3710, 3720, 3730)}},
		{"is asked about once an hour while the media contradict it", []option{says(watch.Removed, 350, never)}, 100, 8000, "100 started since 0", // S17
			[]tasks{asked(350, 8000, 3700, 7300)}},
		{"is asked about every 5 min while it hinders a renewal of the manifest", []option{expiringAfter(45 * time.Minute), says(watch.Removed, 350, never)}, 100, 2600,
			"100 started since 0",
			[]tasks{asked(350, 2600, 1900, 2200, 2500)}},
		{"but a private video ends the watch at once, when it is asked about", []option{says(watch.Private, 350, never)}, 100, 5000,
			"100 started since 0, 3700 error by video_private", nil},
	})
}

func TestAnAnswerThatWouldEndTheWaitNeedsConfirmation(t *testing.T) { // S19
	for _, c := range claims {
		if c.endsWait == "" {
			continue
		}
		set := func(t *testing.T, answers ...option) *world {
			return scenario(t, append(answers, liveFrom(1000))...).from(100)
		}
		t.Run(string(c.state), func(t *testing.T) {
			t.Run("said once after a good answer ends nothing", func(t *testing.T) {
				if w := set(t, says(c.state, 225, 235)).until(1100); len(w.events) != 1 || w.events[0].Type != event.StreamStarted || w.events[0].at > 1030 {
					t.Errorf("emitted %v", w.events)
				}
			})
			t.Run("said twice ends the wait", func(t *testing.T) {
				set(t, says(c.state, 205, never)).until(1100).expectEnd(false, 220+c.apartWhenWaited, c.endsWait)
			})
			t.Run("said twice across a restart ends the wait", func(t *testing.T) {
				set(t, says(c.state, 205, never)).until(225).resume(60).until(1100).expectEnd(false, 285+c.apartWhenWaited, c.endsWait)
			})
			t.Run("said again after the contrary begins again", func(t *testing.T) {
				set(t, says(c.state, 215, 222), says(c.state, 225, 226), says(c.state, 245, 245+c.apartWhenWaited)).until(600).expect("")
			})
			t.Run("without an answer in between is still the same claim", func(t *testing.T) {
				w := set(t, says(c.state, 215, 222), says(c.state, 300, never), unanswered(222, 300)).until(1100)
				if len(w.events) != 1 || w.events[0].at < 300 || w.events[0].at > 365 {
					t.Errorf("emitted %v", w.events)
				}
			})
			t.Run("said first is final", func(t *testing.T) { // 7.2
				set(t, says(c.state, 0, never)).until(1100).expectEnd(false, 100, c.endsWait)
			})
			t.Run("does not confirm the same claim during the watch", func(t *testing.T) {
				w := scenario(t, liveFrom(225), noPlaylist(225, 280), says(c.state, 215, 222), says(c.state, 252, 254)).from(100).until(253)
				w.step(w.resolve(w.now))
				w.until(1000).expect("230 started since 225")
			})
		})
	}
	follow(t, []timeline{
		{"one of another kind does not confirm it", []option{liveFrom(1000), says(watch.Removed, 215, 222), says(watch.AgeRestricted, 222, 252)}, 100, 600, "", nil},
		{"private is final", []option{liveFrom(1000), says(watch.Private, 205, never)}, 100, 600, "220 error by video_private", nil}, // 7.2
	})
}

func TestAClaimWhileWaitingIsAskedThroughAnotherAddress(t *testing.T) { // S19
	w := watch.New(rules(), at(0))
	task := func() watch.Task { return w.Next()[0] }
	w.Step(at(1), watch.Resolution{Began: at(0), State: watch.Upcoming, Egress: "a"})
	if got := task(); got.AvoidedEgress != "" {
		t.Errorf("a good answer avoids %q", got.AvoidedEgress)
	}
	w.Step(at(31), watch.Resolution{Began: at(30), State: watch.RegionLocked, Egress: "a"})
	if got := task(); got.AvoidedEgress != "a" || got.Egress != "" || got.Urgency != watch.UrgencyStart {
		t.Errorf("%+v", got)
	}
	w.Step(at(62), watch.Resolution{Began: at(61), State: watch.Upcoming, Egress: "b"})
	if got := task(); got.AvoidedEgress != "" {
		t.Errorf("after the contrary it avoids %q", got.AvoidedEgress)
	}
}

func TestAProbeEndsTheWatchOnlyWhileNothingElseIsObserved(t *testing.T) { // 7.4
	missing := func(s ...float64) option { return func(w *world) { w.probeMissing = spans(s) } }
	probed := func(at ...float64) tasks { return tasks{watch.TaskProbe, span{0, never}, at} }
	follow(t, []timeline{
		{"while media are seen it does not", []option{unanswered(150, never), missing(150, never), noPlaylist(200, 300, 7800, 7900)}, 100, 9000,
			"100 started since 0",
			[]tasks{probed(260, 7860)}},
		{"nor when the video exists in between", []option{says(watch.Blocked, 150, never), missing(250, 300, 390, 400), noPlaylist(200, never)}, 100, 700,
			"100 started since 0, 490 error by blind",
			[]tasks{probed(260, 335, 395, 455, 550, 610, 670)}},
		{"it is asked once a minute, and believed the second time", []option{unanswered(150, never), missing(150, never), noPlaylist(200, never)}, 100, 9000,
			"100 started since 0, 335 error by video_unavailable",
			[]tasks{probed(260, 335)}},
		{"also before anything was ever seen", []option{says(watch.Blocked, 0, never), missing(0, never)}, 0, 9000,
			"75 error by video_unavailable", []tasks{probed(0, 75)}},
	})
}

func TestWhetherASegmentContradictsAClaimIsDecidedByItsTime(t *testing.T) { // S19
	for name, set := range map[string][]option{
		"segments of 1 s, checks every 2 s":    {segmentsOf(1), checksEvery(2)},
		"segments of 2 s, checks every 10 s":   {segmentsOf(2), checksEvery(10)},
		"segments of 5 s, checks every 300 s":  {segmentsOf(5), checksEvery(300)},
		"without program time":                 {noProgramTime},
		"without program time, every 2 s":      {noProgramTime, checksEvery(2)},
		"published late":                       {func(w *world) { w.delay = 7 }},
		"published late, segments of 5 s":      {segmentsOf(5), func(w *world) { w.delay = 7 }},
		"in copies of unequal age":             {func(w *world) { w.copyDelays = []int{0, 3, 0, 0} }},
		"in copies of unequal age, every 2 s":  {checksEvery(2), func(w *world) { w.copyDelays = []int{0, 3, 0, 0} }},
		"in copies, segments of 5 s":           {segmentsOf(5), func(w *world) { w.copyDelays = []int{0, 3, 0, 0} }},
		"segments of 10 s, checks every 2 s":   {segmentsOf(10), checksEvery(2)},
		"segments of 10 s, checks every 300 s": {segmentsOf(10), checksEvery(300)},
	} {
		t.Run(fmt.Sprintf("%s, from before it", name), func(t *testing.T) {
			w := scenario(t, append(set, withTaskTimes)...).from(100).until(3699)
			w.live.to = 3699 - w.delay // asked about at 3703, when its last segment has been published
			w.until(4000)
			if end := w.events[len(w.events)-1]; end.Type != event.StreamEnded || end.at > 3703+16.5+w.segment/2 {
				t.Errorf("emitted %v", w.events)
			}
		})
		if strings.HasPrefix(name, "in copies") {
			continue
		}
		t.Run(fmt.Sprintf("%s, from after it", name), func(t *testing.T) {
			w := scenario(t, append(set, withTaskTimes, says(watch.Ended, 350, never))...).from(100).until(8000)
			if len(w.events) != 1 || w.events[0].Type != event.StreamStarted {
				t.Errorf("emitted %v", w.events)
			}
		})
	}
}
