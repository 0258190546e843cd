package watch_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// mostInAnHour returns how many questions began at most in any 60 minutes since the one that
// found the stream live, and when these minutes began.
func (w *world) mostInAnHour() (most int, from float64) {
	started := float64(never)
	for _, e := range w.events {
		if e.Type == event.StreamStarted {
			started = e.at - w.taskTime[watch.TaskResolve]
		}
	}
	for _, first := range w.begun[watch.TaskResolve] {
		if first < started-tolerance {
			continue
		}
		if n := w.begunIn(watch.TaskResolve, span{first, first + 3600 + tolerance}); n > most {
			most, from = n, first
		}
	}
	return most, from
}

// everySoOften draws spans that come again and again until the end.
func everySoOften(r *rapid.T, what string, end float64) (all []span) {
	if !rapid.Bool().Draw(r, what) {
		return nil
	}
	good := rapid.Float64Range(1, 200).Draw(r, what+" not for")
	bad := rapid.Float64Range(1, 200).Draw(r, what+" for")
	for at := rapid.Float64Range(0, 1000).Draw(r, what+" from"); at < end; at += good + bad {
		all = append(all, span{at, at + bad})
	}
	return all
}

// TestNoHourHasMoreThan60Questions watches streams whose faults come again and again (decision S7).
func TestNoHourHasMoreThan60Questions(t *testing.T) {
	const end = 7300
	rapid.Check(t, func(r *rapid.T) {
		w := anyWorld(r, t, end)
		w.live = span{0, never}
		w.failure = rapid.SampledFrom([]watch.FailureKind{watch.FailureExpired, watch.FailureExpired, watch.FailureNetwork}).Draw(r, "kind of failure")
		w.unanswered, w.refused = everySoOften(r, "unanswered", end), everySoOften(r, "refused", end)
		w.playlistFails, w.segmentsFail = everySoOften(r, "no playlist", end), everySoOften(r, "no segment", end)
		w.stalls = everySoOften(r, "stalls", end)
		if rapid.Bool().Draw(r, "short lives") {
			livingFor(rapid.Float64Range(0, 100).Draw(r, "URLs live for"), rapid.Bool().Draw(r, "playlists, too"))(w)
		}
		w.answers = map[span]watch.StreamState{}
		claimed := rapid.SampledFrom([]watch.StreamState{watch.Ended, watch.Removed, watch.MembersOnly}).Draw(r, "claim")
		for _, s := range everySoOften(r, "claims", end) {
			w.answers[s] = claimed
		}
		w.heights = rapid.SampledFrom([][]int{nil, {144, 240, 360, 480}}).Draw(r, "heights")
		w.from(10).until(end / 2)
		limit := 60
		if rapid.Bool().Draw(r, "restart") && !w.over {
			if w.busy(watch.LaneResolve) {
				limit++ // a successor knows of no question whose answer was lost
			}
			w.resume(2)
		}
		w.until(end)
		if most, from := w.mostInAnHour(); most > limit {
			r.Fatalf("%d questions in the hour from second %v", most, from)
		}
	})
}

func TestAnOutageThatTheQuotaProlongedIsNotAlerted(t *testing.T) { // S6, S7
	t.Run("while each renewed URL works for seconds", func(t *testing.T) {
		w := scenario(t, livingFor(10, true)).from(50).until(3 * 3600).expect("53 started since 0")
		if asked := w.begunIn(watch.TaskResolve, span{2 * 3600, 3 * 3600}); asked > 51 {
			t.Errorf("asked %d times in the last hour, so the quota was not used up", asked)
		}
	})
	t.Run("but it is, if the media still fail under the renewed URL", func(t *testing.T) {
		w := scenario(t, livingFor(10, true)).from(50).until(2 * 3600)
		noPlaylist(2*3600+100, never)(w)
		w.until(2*3600 + 400).expect("53 started since 0, 7397 segment_error since 7263 for 134 by manifest") // after the next two questions
	})
}
