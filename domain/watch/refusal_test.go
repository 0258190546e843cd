package watch_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// signalled returns the signals of a condition.
func (w *world) signalled(c trouble.Name) (all []monitor.Signal) {
	for _, s := range w.signals {
		if s.Condition == c {
			all = append(all, s)
		}
	}
	return all
}

func TestARefusalOfEverythingIsBlindnessAndNoOutage(t *testing.T) { // S6, S15, S20
	for i := range 6 { // streams whose checks fall at different times
		for _, refusal := range []watch.FailureKind{watch.FailureRefused, watch.FailureRateLimited} {
			phase := func(w *world) {
				w.rules.Phase = time.Duration(i) * 1700 * time.Millisecond
				w.refusal, w.noProgramTime, w.separateTracks = refusal, i == 1, i == 2
				w.taskTime[watch.TaskResolve], w.taskTime[watch.TaskPlaylist] = 0.5*float64(i), 0.1
			}
			for _, cuts := range [][]float64{nil, {400, 401}, {210, 211, 420, 421, 538, 539}} {
				w := scenario(t, phase, refused(200, 540), restarts(cuts...)).from(100).restarting(1200)
				blind := w.signalled(trouble.Blind)
				if len(w.events) != 2 || w.emitted(event.MonitorError) != 1 || len(w.signals) != 2 || len(blind) != 2 ||
					abs(sec(blind[0].StartedAt)-195) > 8 || abs(sec(blind[1].EndedAt)-540) > 65 {
					t.Errorf("stream %d, media are %s, restarts at %v: emitted %v, signalled %v", i, refusal, cuts, w.events, w.signals)
				}
			}
			if w := scenario(t, phase, refused(200, 420)).from(100).until(1200); len(w.events) != 1 || len(w.signals) != 0 {
				t.Errorf("stream %d, media are %s for less than 5 minutes: emitted %v, signalled %v", i, refusal, w.events, w.signals)
			}
		}
	}
}

func TestRefusedQuestionsOrMediaAloneAreNoBlindness(t *testing.T) { // S6, S7, 6.6
	follow(t, []timeline{
		{"while the media are seen, nothing", []option{says(watch.Blocked, 150, never)}, 100, 9000, "100 started since 0", nil},
		{"while the question is answered, an outage", []option{noPlaylist(200, 540), noSegment(200, 540), failing(watch.FailureRefused)}, 100, 900,
			"100 started since 0, 260 segment_error since 200 for 60 by manifest", nil},
		// Else the outage would contain blind time.
		{"a playlist that moved before the limit proves nothing",
			[]option{apart, unanswered(105, 500), stallsIn("/picture/", 100, 500), noPlaylistIn("/sound/", 140, 500)}, 50, 900,
			"50 started since 0, 430 error by blind", nil}, // S20
	})
}

func TestOutagesAndConditionsGoOnAfterARefusalWithoutItsTime(t *testing.T) { // S3, S6, S20
	follow(t, []timeline{
		{"a playlist that still fails", []option{noPlaylist(300, 1000), refused(200, 350)}, 100, 900, "100 started since 0, 455 segment_error since 395 for 60 by manifest", nil},
		{"a playlist that still fails after an alert", []option{noPlaylist(300, 1000), refused(200, 540)}, 100, 900, "100 started since 0, 490 error by blind, 610 segment_error since 550 for 60 by manifest", nil},
		{"segments that still fail", []option{noSegment(300, 1000), refused(200, 350)}, 100, 900, "100 started since 0, 440 segment_error since 380 for 60 by segment", nil},
		{"a playlist that still stands", []option{stalls(300, 1000), refused(200, 540)}, 100, 900, "100 started since 0, 490 error by blind, 610 segment_error since 550 for 60 by stalled", nil},
		{"a playlist whose failure was alerted before it", []option{noPlaylist(150, 900), refused(300, 700)}, 100, 1200, "100 started since 0, 210 segment_error since 150 for 60 by manifest, 510 error by blind", nil},
		{"black that ended meanwhile", []option{black(120, 400), refused(200, 540)}, 100, 1200, "100 started since 0, 150 blackout since 120 for 30, 498 error by blind, 558 blackout_recovered since 120 until 528 for 78", nil},
		{"black that goes on", []option{black(120, 900), refused(200, 540)}, 100, 1200, "100 started since 0, 150 blackout since 120 for 30, 498 error by blind, 902 blackout_recovered since 120 until 900 for 422", nil},
	})
}

func TestMediaAreLookedAtOnceMoreWhenTheQuestionIsAnsweredAgain(t *testing.T) { // S6: the own network failed, and is back
	for end := 280.0; end < 490; end += 7 {
		hanging := func(w *world) { w.playlistFails, w.questionsHang = []span{{200, end}}, []span{{200, end}} }
		for _, change := range []option{unobservable(200, end), hanging} {
			if w := scenario(t, change).from(100).until(900); w.emitted(event.SegmentError) != 0 {
				t.Errorf("back at %v: emitted %v", end, w.events)
			}
		}
	}
}

func TestMediaThatWereRefusedDoNotStandStill(t *testing.T) { // S19: the first answer after a refusal may be wrong
	for _, state := range []watch.StreamState{watch.Removed, watch.Ended} {
		scenario(t, refused(200, 400), noPlaylist(400, 441), func(w *world) {
			wrong := true
			w.changeAnswer = func(r *watch.Resolution) {
				if wrong && sec(r.Began) >= 400 {
					wrong, *r = false, watch.Resolution{Began: r.Began, State: state}
				}
			}
		}).from(100).until(1200).expect("100 started since 0")
	}
}

// blindSeconds returns how much of a time was blind: between the onset and the end of a
// signalled blindness.
func (w *world) blindSeconds(from, to time.Time) (sum float64) {
	var since time.Time
	add := func(end time.Time) {
		if d := min(sec(to), sec(end)) - max(sec(from), sec(since)); !since.IsZero() && d > 0 {
			sum += d
		}
		since = time.Time{}
	}
	for _, s := range w.signalled(trouble.Blind) {
		if s.EndedAt.IsZero() {
			since = s.StartedAt
		} else {
			add(s.EndedAt)
		}
	}
	add(at(w.now))
	return sum
}

func TestNoDurationContainsBlindSeconds(t *testing.T) { // S6, S20
	const end = 1800
	rapid.Check(t, func(r *rapid.T) {
		w := anyWorld(r, t, end)
		from := rapid.Float64Range(0, end).Draw(r, "refused for long from")
		w.refused = append(w.refused, span{from, from + rapid.Float64Range(150, 700).Draw(r, "refused for long for")})
		w.from(rapid.Float64Range(0, end/2).Draw(r, "watched from"))
		if rapid.Bool().Draw(r, "restarted") {
			w.until(w.now + rapid.Float64Range(1, 900).Draw(r, "runs for"))
			if !w.over {
				w.resume(rapid.Float64Range(0, 20).Draw(r, "pause"))
			}
		}
		w.until(end + 900)
		if t.Failed() {
			r.Fatal("see above")
		}
		shown := 50.0 // of before: 30 s in the playlist, up to 20 s late
		if len(w.copyDelays) > 0 {
			shown += 60
		}
		for _, e := range w.events {
			if back, is := e.Data.(event.Recovered); is {
				blind := w.blindSeconds(back.StartedAt, back.RecoveredAt)
				if seen := sec(back.RecoveredAt) - sec(back.StartedAt) - max(0, blind-shown); float64(back.TotalDurationSec) > seen+1e-6 {
					r.Fatalf("second %v: %+v has %v blind seconds", e.at, back, blind)
				}
			}
			outage, is := e.Data.(event.Outage)
			if !is || outage.Failure == event.FailedNoData { // that is known also while nothing can be seen (S24)
				continue
			}
			if blind := w.blindSeconds(outage.StartedAt, at(e.at)); blind > 12 { // a question and a reading take up to 3 s, and a playlist has moved within 10 s (S20)
				r.Fatalf("second %v: %+v has %v blind seconds", e.at, outage, blind)
			}
			for _, refused := range w.refused { // the outage began before it, or after it
				if began := sec(outage.StartedAt); began > refused.from+62 && began < refused.to && e.at > refused.to {
					r.Fatalf("second %v: %+v began while everything was refused, from %v to %v", e.at, outage, refused.from, refused.to)
				}
			}
		}
		checkAlternate(r, w, event.Blackout, event.BlackoutRecovered)
		open := map[trouble.Name]bool{}
		for _, s := range w.signals {
			if begins := s.EndedAt.IsZero(); begins == open[s.Condition] || !begins && s.EndedAt.Before(s.StartedAt) {
				r.Fatalf("signalled %v", w.signals)
			}
			open[s.Condition] = s.EndedAt.IsZero()
		}
		for _, d := range detector.Table {
			if n := w.watcher.Report().Statistics.Alerts(d.Name); n != w.emitted(event.Type(d.Alert)) {
				r.Fatalf("%s was alerted %d times, counted %d", d.Name, w.emitted(event.Type(d.Alert)), n)
			}
		}
	})
}
