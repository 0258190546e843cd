package watch_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// waitingClaims lists the answers that end the wait for a start once confirmed (decision
// S19). Each has the event that follows and the seconds between the two answers.
var waitingClaims = []struct {
	state  watch.StreamState
	typ    event.Type
	reason string
	apart  float64
}{
	{watch.Ended, event.StreamEnded, "not_live", 10},
	{watch.NotALiveStream, event.MonitorError, "not_a_live_stream", 30},
	{watch.Removed, event.MonitorError, "video_unavailable", 30},
	{watch.RegionLocked, event.MonitorError, "region_locked", 30},
	{watch.AgeRestricted, event.MonitorError, "age_restricted", 30},
	{watch.MembersOnly, event.MonitorError, "members_only", 30},
}

func TestAnAnswerThatWouldEndTheWaitNeedsConfirmation(t *testing.T) { // S19
	upcoming := func(w *world) { w.live.from = 1000 }
	for _, c := range waitingClaims {
		says := func(spans ...span) func(*world) {
			return func(w *world) {
				w.answers = map[span]watch.StreamState{}
				for _, s := range spans {
					w.answers[s] = c.state
				}
			}
		}
		t.Run(string(c.state), func(t *testing.T) {
			t.Run("said once after a good answer ends nothing", func(t *testing.T) {
				w := scenario(t, upcoming, says(span{225, 235})).from(100).until(1100)
				w.expect(emits(1000+w.sinceQuestion(1000), event.StreamStarted))
			})
			t.Run("said twice ends the wait", func(t *testing.T) {
				scenario(t, upcoming, says(span{205, never})).from(100).until(1100).expect(emits(220+c.apart, c.typ, because(c.reason)))
			})
			t.Run("said twice across a restart ends the wait", func(t *testing.T) {
				scenario(t, upcoming, says(span{205, never})).from(100).until(225).resume(60).until(1100).expect(emits(285+c.apart, c.typ, because(c.reason)))
			})
			t.Run("said again after the contrary begins again", func(t *testing.T) {
				scenario(t, upcoming, says(span{215, 222}, span{225, 226}, span{245, 245 + c.apart})).from(100).until(600).expect()
			})
			t.Run("without an answer in between is still the same claim", func(t *testing.T) {
				w := scenario(t, upcoming, says(span{215, 222}, span{300, never}), func(w *world) { w.unanswered = []span{{222, 300}} }).from(100).until(1100)
				if len(w.events) != 1 || w.events[0].at < 300 || w.events[0].at > 365 {
					t.Errorf("emitted %v", w.events)
				}
			})
			t.Run("said first is final", func(t *testing.T) { // 7.2
				scenario(t, upcoming, says(span{0, never})).from(100).until(1100).expect(emits(100, c.typ, because(c.reason)))
			})
			t.Run("does not confirm the same claim during the watch", func(t *testing.T) {
				w := scenario(t, func(w *world) {
					w.live.from, w.playlistFails = 225, []span{{225, 280}}
				}, says(span{215, 222}, span{252, 254})).from(100).until(253)
				w.step(w.resolve(w.now))
				w.until(1000).expect(emits(230, event.StreamStarted))
			})
		})
	}
	t.Run("one of another kind does not confirm it", func(t *testing.T) {
		scenario(t, upcoming, func(w *world) {
			w.answers = map[span]watch.StreamState{{215, 222}: watch.Removed, {222, 252}: watch.AgeRestricted}
		}).from(100).until(600).expect()
	})
	t.Run("private is final", func(t *testing.T) { // 7.2
		scenario(t, upcoming, func(w *world) {
			w.answers = map[span]watch.StreamState{{205, never}: watch.Private}
		}).from(100).until(600).expect(emits(220, event.MonitorError, because("video_private")))
	})
}

// sinceQuestion returns how long after x the first question was asked.
func (w *world) sinceQuestion(x float64) float64 {
	for _, began := range w.begun[watch.TaskResolve] {
		if began >= x {
			return began - x
		}
	}
	return never
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
