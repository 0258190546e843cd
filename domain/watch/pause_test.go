package watch_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// pausedUntil changes the end of the pause; a negative one ends it now.
func pausedUntil(s float64) func(*watch.Rules) {
	return func(r *watch.Rules) {
		if r.PausedUntil = at(s); s < 0 {
			r.PausedUntil = time.Time{}
		}
	}
}

// pause lets the stream be paused from a second until another one, and checks that nobody looks. By hand, the pause ends then
// because a person ends it. restarts are the times in it at which another worker goes on, 5 s later.
func (w *world) pause(s span, byHand bool, restarts ...float64) *world {
	w.t.Helper()
	w.until(s.from)
	w.storedSnapshot, w.storedEvents = w.snapshot(), len(w.events)
	planned := s.to
	if byHand {
		planned += 10_000
	}
	events, signals := len(w.events), len(w.signals)
	w.changeRules(pausedUntil(planned))
	for _, cut := range restarts {
		w.until(cut)
		if cut > s.from { // else the worker is replaced before it has heard of the pause
			w.storedSnapshot, w.storedEvents = w.snapshot(), len(w.events)
		}
		w.restart(5)
	}
	w.until(s.to - 0.01)
	r := w.watcher.Report()
	if h := r.Health; !r.Paused || h.Video != monitor.Unknown || h.Audio != monitor.Unknown || !r.Visibility.BlindSince.IsZero() || r.Visibility.Unseen != (monitor.Unseen{}) || r.Visibility.LastError != "" {
		w.t.Errorf("in the pause the worker reports %+v, %+v", r, r.Visibility)
	}
	if len(w.events) != events || len(w.signals) != signals {
		w.t.Errorf("in the pause it emits %v, %v", w.events[events:], w.signals[signals:])
	}
	for kind := range w.begun {
		if n := w.begunIn(kind, span{s.from + 0.01, s.to - 0.01}); n > 0 {
			w.t.Errorf("%d tasks %s begin in the pause", n, kind)
		}
	}
	if byHand {
		w.now = s.to
		w.changeRules(pausedUntil(-1))
	}
	return w
}

// TestAPausedStreamIsNotLookedAt pauses a stream in each state. Each pause is ended by time and by a person, in one worker and
// across restarts.
func TestAPausedStreamIsNotLookedAt(t *testing.T) { // 16.9
	late := func(w *world) { w.rules.ScheduledStart, w.live.from = at(100), 900 }
	expires := func(w *world) { w.rules.ScheduledEnd = at(200) }
	for _, c := range []struct {
		name   string
		set    []option
		pause  span
		until  float64
		events string
	}{
		{"a stream that is good", nil, span{100, 1000}, 1200, "10 started since 0"},
		{"for less than a threshold", nil, span{100, 110}, 200, "10 started since 0"},
		{"for less than a threshold, while black is suspected", []option{black(90, 400)}, span{110, 115}, 450,
			"10 started since 0, 142 blackout since 112 for 30, 402 blackout_recovered since 112 until 400 for 288"},
		{"black is alerted and is over after it", []option{black(60, 140)}, span{100, 200}, 400, "10 started since 0, 90 blackout since 60 for 30"},
		{"black is alerted and lasts", []option{black(60, 400)}, span{100, 200}, 450, "10 started since 0, 90 blackout since 60 for 30, 228 blackout since 198 for 30, 402 blackout_recovered since 198 until 400 for 202"},
		{"silence is alerted and is over after it", []option{silent(60, 140)}, span{100, 200}, 400, "10 started since 0, 90 silence since 60 for 30"},
		{"an outage is alerted and is over after it", []option{noPlaylist(60, 180)}, span{150, 300}, 500, "10 started since 0, 120 segment_error since 60 for 60 by manifest"},
		{"an outage is alerted and lasts", []option{noPlaylist(60, 500)}, span{150, 300}, 600, "10 started since 0, 120 segment_error since 60 for 60 by manifest, 360 segment_error since 300 for 60 by manifest"},
		{"a playlist stands before, in and after it", []option{stalls(60, 500)}, span{100, 300}, 600, "10 started since 0, 360 segment_error since 300 for 60 by stalled"},
		{"it is blind, and sees after it", []option{unobservable(60, 600)}, span{500, 700}, 900, "10 started since 0, 350 error by blind"},
		{"it is blind after it, too", []option{unobservable(60, 1400)}, span{500, 700}, 1300, "10 started since 0, 350 error by blind, 1000 error by blind"},
		{"black in the pause alone", []option{black(150, 250)}, span{100, 300}, 500, "10 started since 0"},
		{"everything fails in the pause alone", []option{unobservable(101, 1999)}, span{100, 2000}, 2500, "10 started since 0"},
		{"it ends in the pause", []option{endsAt(150, true)}, span{100, 300}, 500, "10 started since 0, 300 ended until 150 for 150 by endlist"},
		{"it ends in the pause by YouTube's word", []option{endsAt(150, false)}, span{100, 300}, 900, "10 started since 0, 330 ended until 150 for 150 by not_live"},
		{"it is private after the pause", []option{endsAt(150, false), func(w *world) { w.afterLive = watch.Private }}, span{100, 300}, 900, "10 started since 0, 330 error by video_private"},
		{"it waits and starts in the pause", []option{liveFrom(150)}, span{100, 300}, 500, "300 started since 150"},
		{"it waits and starts after the pause", []option{liveFrom(400)}, span{100, 300}, 500, "420 started since 400"},
		{"it is late before the pause, and starts in it", []option{late}, span{500, 1000}, 1200, "410 delayed for 310, 1000 started since 900"},
		{"it is late in the pause alone", []option{late}, span{300, 1000}, 1200, "1000 started since 900"},
		{"it is late after the pause", []option{late}, span{300, 700}, 1000, "700 delayed for 600, 900 started since 900"},
		{"it expires in the pause, and is live then", []option{late, expires}, span{150, 2000}, 2500, "2000 started since 900"},
		{"it expires in the pause", []option{expires, liveFrom(never)}, span{150, 2000}, 2500, "2000 error by reservation_expired"},
	} {
		if c.pause.to-c.pause.from < 13 {
			scenario(t, c.set...).from(10).pause(c.pause, false).until(c.until).expect(c.events) // it is too short for a restart
			continue
		}
		for how, restarts := range map[string][]float64{
			"": nil, " across restarts": {c.pause.from + 1, c.pause.to - 6}, " of which the first worker does not hear": {c.pause.from},
		} {
			for _, byHand := range []bool{false, true} {
				name := c.name + how
				if byHand {
					name += ", ended by hand"
				}
				t.Run(name, func(t *testing.T) {
					w := scenario(t, c.set...).from(10).pause(c.pause, byHand, restarts...).until(c.until).expect(c.events)
					from := at(c.pause.from)
					for _, e := range w.events {
						want, is := map[event.Type]trouble.Name{event.SegmentError: trouble.NoMedia, event.MonitorError: trouble.Blind}[e.Type]
						if is && e.At.Before(from) && !slices.ContainsFunc(w.signals, func(s monitor.Signal) bool { return s.Condition == want && s.StartedAt.Before(from) }) {
							t.Errorf("the begin of %s is not among the signals %+v", want, w.signals)
						}
					}
					for _, s := range w.signals {
						if s.StartedAt.Before(from) && !s.EndedAt.Before(from) {
							t.Errorf("signalled is the end of what the pause has ended: %+v", s)
						}
					}
				})
			}
		}
	}
}

// TestAPauseIsQuietWhateverIsObserved pauses any stream at any time. pause checks that nothing is emitted or begun.
func TestAPauseIsQuietWhateverIsObserved(t *testing.T) { // 16.9
	const end = 1200
	rapid.Check(t, func(r *rapid.T) {
		w := anyWorld(r, t, end).from(rapid.Float64Range(0, end/2).Draw(r, "watched from"))
		w.until(w.now + moment(r, "paused after", end/2))
		if !w.over {
			w.pause(span{w.now, w.now + 1 + moment(r, "paused for", end)}, rapid.Bool().Draw(r, "ended by hand"))
		}
		w.until(w.now + end)
		if t.Failed() {
			r.Fatal("see above")
		}
		for _, typ := range []event.Type{event.StreamStarted, event.StreamEnded} {
			if n := w.emitted(typ); n > 1 {
				r.Fatalf("%s was emitted %d times", typ, n)
			}
		}
	})
}
