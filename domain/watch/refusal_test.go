package watch_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// sixStreams runs a scenario for six streams whose checks fall at different times, each
// with both answers that refuse the media.
func sixStreams(t *testing.T, run func(*testing.T, option)) {
	for i := range 6 {
		for _, refusal := range []watch.FailureKind{watch.FailureRefused, watch.FailureRateLimited} {
			t.Run(fmt.Sprintf("stream %d, media are %s", i, refusal), func(t *testing.T) {
				run(t, func(w *world) {
					w.rules.Phase = time.Duration(i) * 1700 * time.Millisecond
					w.refusal, w.noProgramTime, w.separateTracks = refusal, i == 1, i == 2
					w.taskTime[watch.TaskResolve], w.taskTime[watch.TaskPlaylist] = 0.5*float64(i), 0.1
				})
			})
		}
	}
}

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
	sixStreams(t, func(t *testing.T, phase option) {
		for _, cuts := range [][]float64{nil, {400}, {210, 420, 538}} {
			w := scenario(t, phase, refused(200, 540)).from(100)
			for _, cut := range cuts {
				w.until(cut).resume(1)
			}
			w.until(1200)
			if w.emitted(event.SegmentError) != 0 || w.emitted(event.MonitorError) != 1 || len(w.events) != 2 {
				t.Errorf("restarts at %v: emitted %v", cuts, w.events)
			}
			blind := w.signalled(trouble.Blind)
			if len(w.signals) != 2 || len(blind) != 2 || abs(sec(blind[1].StartedAt)-195) > 8 || abs(sec(blind[1].EndedAt)-540) > 65 {
				t.Errorf("restarts at %v: signalled %v", cuts, w.signals)
			}
		}
		if w := scenario(t, phase, refused(200, 420)).from(100).until(1200); len(w.events) != 1 || len(w.signals) != 0 {
			t.Errorf("for less than 5 minutes: emitted %v, signalled %v", w.events, w.signals)
		}
	})
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

func TestMediaThatStillFailAfterARefusalAreAnOutageFromThen(t *testing.T) { // S6
	for name, broken := range map[string]option{"no playlist": noPlaylist(300, 1000), "no segment": noSegment(300, 1000), "a playlist stands": stalls(300, 1000)} {
		for _, lasts := range []float64{150, 340} {
			t.Run(fmt.Sprintf("%s, refused for %v s", name, lasts), func(t *testing.T) {
				end := 200 + lasts
				w := scenario(t, broken, refused(200, end)).from(100).until(900)
				if w.emitted(event.SegmentError) != 1 {
					t.Fatalf("emitted %v", w.events)
				}
				alert := w.events[len(w.events)-1]
				outage := alert.Data.(event.Outage)
				if began := sec(outage.StartedAt); began < end || began > end+62 || outage.DurationSec > int64(alert.at-end) || outage.DurationSec < 60 {
					t.Errorf("began at %v, lasts %d s, alerted at %v", began, outage.DurationSec, alert.at)
				}
			})
		}
	}
}

func TestAnAlertedOutageIsNotAlertedAgainAfterBlindness(t *testing.T) { // S6, 16.1: no_media pauses while blind
	w := scenario(t, noPlaylist(150, 900), refused(300, 700)).from(100).until(1200)
	if w.emitted(event.SegmentError) != 1 {
		t.Errorf("emitted %v", w.events)
	}
	blind, noMedia := w.signalled(trouble.Blind), w.signalled(trouble.NoMedia)
	if len(blind) != 2 || len(noMedia) != 4 {
		t.Fatalf("signalled %v", w.signals)
	}
	if !noMedia[1].EndedAt.Equal(blind[0].StartedAt) || noMedia[2].StartedAt.Before(blind[1].EndedAt) || sec(noMedia[3].EndedAt) < 900 {
		t.Errorf("signalled %v", w.signals)
	}
}

func TestMediaAreLookedAtOnceMoreWhenTheQuestionIsAnsweredAgain(t *testing.T) { // S6: the own network failed, and is back
	for i := range 30 {
		end := 280 + 7*float64(i)
		for name, change := range map[string]option{
			"questions fail":              unobservable(200, end),
			"a question hangs until then": func(w *world) { w.playlistFails, w.questionsHang = []span{{200, end}}, []span{{200, end}} },
		} {
			w := scenario(t, change).from(100).until(900)
			if w.emitted(event.SegmentError) != 0 || len(w.signalled(trouble.NoMedia)) != 0 {
				t.Errorf("%s, back at %v: emitted %v", name, end, w.events)
			}
		}
	}
}

func TestBlackGoesOnAcrossARefusalWithoutItsTime(t *testing.T) { // S3, S20
	for _, end := range []float64{400, 900} {
		w := scenario(t, black(120, end), refused(200, 540)).from(100).until(1200)
		if w.emitted(event.SegmentError) != 0 || w.emitted(event.Blackout) != 1 || w.emitted(event.BlackoutRecovered) != 1 {
			t.Fatalf("black until %v: emitted %v", end, w.events)
		}
		back := w.events[len(w.events)-1].Data.(event.Recovered)
		seen := 80.0 // before the refusal
		if end > 540 {
			seen += end - 540
		}
		if got := float64(back.TotalDurationSec); abs(got-seen) > 32 { // the playlist shows 30 s of before
			t.Errorf("black until %v: %v s in all, %v s were seen", end, got, seen)
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

// totals returns the statistics of the reports that a worker sends every 10 s until a moment.
func (w *world) totals(end float64) history.Totals {
	var current history.Current
	var spans []history.Span
	began, signals := w.now, 0
	for w.now < end {
		w.until(w.now + 10)
		r := w.watcher.Report()
		r.At, r.Signals, signals = at(w.now), w.signals[signals:], len(w.signals)
		after, closed := history.Observe(current, r)
		current, spans = after, append(spans, closed...)
	}
	totals := history.NewTotals()
	for _, s := range append(spans, history.Close(current, at(end))...) {
		totals.Add(history.Period{From: at(began), To: at(end)}, s, 1)
	}
	return totals
}

func TestStatisticsCountARefusalAsBlind(t *testing.T) { // 16.3
	sixStreams(t, func(t *testing.T, phase option) {
		times := scenario(t, phase, refused(200, 540)).from(100).totals(1200).Time
		blind := times[history.BlindID].Seconds()
		known := times[history.Watched].Seconds() + blind // at most all; the first report after it is up to 10 s late
		if times[history.Out] != 0 || blind < 330 || blind > 410 || known > 1090 || known < 1078 {
			t.Errorf("%v", times)
		}
	})
	t.Run("without an alert it is unknown", func(t *testing.T) {
		times := scenario(t, refused(200, 400)).from(100).totals(1200).Time
		if watched := times[history.Watched].Seconds(); times[history.Out] != 0 || times[history.BlindID] != 0 || watched > 890 || watched < 820 {
			t.Errorf("%v", times)
		}
	})
	t.Run("black and outages before it go on after it", func(t *testing.T) {
		times := scenario(t, black(120, 900), refused(200, 540)).from(100).totals(1200).Time
		if black, blind := times["black"].Seconds(), times[history.BlindID].Seconds(); abs(black+blind-775) > 15 || times[history.Out] != 0 {
			t.Errorf("%v", times)
		}
		times = scenario(t, noPlaylist(150, 900), refused(300, 700)).from(100).totals(1200).Time
		if out, blind := times[history.Out].Seconds(), times[history.BlindID].Seconds(); abs(out+blind-770) > 30 || blind < 400 {
			t.Errorf("%v", times)
		}
	})
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
			if !is {
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
