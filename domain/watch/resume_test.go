package watch_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// broadcast is a stream that the tests of this file cut at every step.
type broadcast struct {
	name  string
	end   float64 // when the test ends
	slack float64 // by how much times may differ: what is not on the media's own time is known when it is seen
	set   func(w *world)
}

// broadcasts have something of everything, each long enough to be seen by
// whoever looks every 5 s.
var broadcasts = []broadcast{
	{"black once", 160, 0.1, func(w *world) { w.black = []span{{60, 100}} }},
	{"silent once", 160, 0.1, func(w *world) { w.silent = []span{{60, 100}} }},
	{"black twice and silent across it", 260, 0.1, func(w *world) {
		w.black, w.silent = []span{{50, 90}, {150, 200}}, []span{{70, 170}}
	}},
	{"picture and sound apart", 200, 0.1, func(w *world) {
		w.apart = true
		w.black, w.silent = []span{{50, 90}}, []span{{70, 130}}
	}},
	{"an end while black", 160, 0.1, func(w *world) {
		w.black = []span{{60, 200}}
		w.live.to, w.endlist = 120, true
	}},
	{"an end by YouTube's word", 700, 0.1, func(w *world) { w.black, w.live.to = []span{{60, 100}}, 300 }},
	{"a late start", 260, 0.1, func(w *world) {
		w.rules.ScheduledStart = at(20)
		w.live.from = 90
		w.black = []span{{150, 200}}
	}},
	{"a private end", 500, 0.1, func(w *world) { w.live.to, w.afterwards = 200, watch.Private }},
	{"an outage of the playlist", 300, 8, func(w *world) { w.noList = []span{{60, 180}} }},
	{"an outage of the segments", 300, 8, func(w *world) { w.noSegment = []span{{60, 180}} }},
	{"a playlist that stands", 400, 8, func(w *world) { w.frozen = []span{{60, 200}} }},
	{"a URL that expires", 300, 0.1, func(w *world) {
		w.failure, w.noList = watch.FailureExpired, []span{{60, 75}}
		w.black = []span{{120, 180}}
	}},
	{"black across a short outage", 300, 0.1, func(w *world) {
		w.black, w.noList = []span{{60, 160}}, []span{{90, 110}}
	}},
	{"no program time", 200, 2, func(w *world) { w.noPDT, w.black = true, []span{{60, 110}} }},
	{"no program time, a short outage", 300, 8, func(w *world) { w.noPDT, w.noList = true, []span{{100, 130}} }},
	{"no program time, an outage of nearly a minute", 300, 8, func(w *world) { w.noPDT, w.noList = true, []span{{100, 158}} }},
	{"no program time, a playlist that stands", 400, 8, func(w *world) { w.noPDT, w.frozen = true, []span{{60, 200}} }},
	{"nothing to be learned", 900, 8, func(w *world) {
		dark := []span{{100, 600}}
		w.noList, w.mute = dark, dark
	}},
}

func (b broadcast) world(t *testing.T) *world {
	t.Helper()
	return scenario(t, func(w *world) {
		w.windowed = 60
		w.rules.Interval = seconds(5)
		w.took[watch.TaskSegment], w.took[watch.TaskPlaylist], w.took[watch.TaskResolve] = 0.3, 0.1, 2
		b.set(w)
	}).from(10)
}

// told is an event as these tests compare it: what, and the times in it.
type told struct {
	what  string
	times []float64
}

// tale is what was told, of each subject in order: which of two subjects comes
// first is chance. When something was noticed is no part of it, and may be later
// by the time that nobody looked.
func tale(w *world) (all []told) {
	for _, subject := range []string{"stream", "blackout", "silence", "segment", "monitor"} {
		for _, e := range w.events {
			if !strings.Contains(string(e.Type), subject) {
				continue
			}
			t := told{what: string(e.Type)}
			switch d := e.Data.(type) {
			case event.Alert:
				t.times = []float64{sec(d.StartedAt)}
			case event.Recovered:
				t.times = []float64{sec(d.StartedAt), sec(d.RecoveredAt)}
			case event.Started:
				t.times = []float64{sec(d.StartedAt)}
			case event.Ended:
				t.what += " by " + d.Reason
			case event.Outage:
				t.what += " by " + d.Failure
				t.times = []float64{sec(d.StartedAt)}
			case event.Trouble:
				t.what += fmt.Sprintf(" by %s, terminal %v", d.Reason, d.Terminal)
			}
			all = append(all, t)
		}
	}
	return all
}

// alike tells whether two tales are the same, with times that may differ by
// slack.
func alike(a, b []told, slack float64) bool {
	return slices.EqualFunc(a, b, func(x, y told) bool {
		return x.what == y.what && slices.EqualFunc(x.times, y.times, func(s, t float64) bool { return abs(s-t) <= slack })
	})
}

func lines(tale []told) string {
	var b strings.Builder
	for _, t := range tale {
		fmt.Fprintf(&b, "  %s %.1f\n", t.what, t.times)
	}
	return b.String()
}

// bequest is what a successor would go on from.
type bequest struct {
	kept   []byte
	keptOf int
	at     float64 // when the report was accepted
}

// fork is the world in which the watcher dies now and a successor goes on from
// what is left to it.
func (w *world) fork(from bequest, pause float64) *world {
	f := *w
	f.kept, f.keptOf, f.events = from.kept, from.keptOf, slices.Clone(w.events)
	f.mortal, f.notes, f.asked, f.urls = false, nil, map[watch.TaskKind][]float64{}, map[string]bool{}
	return f.die(pause)
}

// longUnheard is the longest time, in seconds, for which no report of these
// tests is accepted before a death: with an outage in it, more is lost than can
// be made up for.
const longUnheard = 15

// TestARunThatIsCutAtAnyStepTellsTheSame is decision S11, one step after the
// other: the watcher dies right after it, its last reports having been accepted
// or not, and one that goes on from the last that was tells the same as one that
// was never cut.
func TestARunThatIsCutAtAnyStepTellsTheSame(t *testing.T) {
	for _, b := range broadcasts {
		for _, c := range []struct {
			unheard int     // steps before the cut of which no report was accepted
			pause   float64 // until the successor begins
		}{{0, 0}, {1, 1}, {6, 3}} {
			t.Run(fmt.Sprintf("%s, %d steps unheard, after %v s", b.name, c.unheard, c.pause), func(t *testing.T) {
				want := tale(b.world(t).until(b.end))
				w := b.world(t)
				w.mortal = true
				w.kept, w.keptAt = w.snapshot(), w.now
				past := []bequest{{w.kept, 0, w.now}}
				for step := 1; w.once(b.end); step++ {
					past = append(past, bequest{w.kept, w.keptOf, w.keptAt})
					for len(past) > 1 && (len(past) > c.unheard+1 || w.now-past[0].at > longUnheard) {
						past = past[1:]
					}
					from, slack := past[0], b.slack
					if slack >= 1 { // what is noticed may be noticed later, by the time of which nothing is left
						slack += w.now - from.at + c.pause
					}
					if got := tale(w.fork(from, c.pause).until(b.end)); !alike(got, want, slack) {
						t.Fatalf("cut at step %d, second %.1f, told\n%sand uncut\n%s", step, w.now, lines(got), lines(want))
					}
				}
			})
		}
	}
}

func TestASnapshotOfAnEarlierReleaseTellsNoTime(t *testing.T) {
	w := scenario(t, unobservable(205, never)).from(100).until(200)
	var all map[string]any
	if err := json.Unmarshal(w.snapshot(), &all); err != nil {
		t.Fatal(err)
	}
	delete(all, "at")
	var err error
	if w.kept, err = json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	w.keptOf = len(w.events)
	w.die(10).until(1000).expect(
		emits(100, event.StreamStarted),
		emits(510, event.MonitorError, because("blind")), // as if nobody had watched before
	)
}

func TestAStandstillIsSeenAcrossDeaths(t *testing.T) {
	// It is seen to stand from second 102 on; what happens in two pauses nobody knows.
	w := scenario(t, func(w *world) { w.frozen = []span{{100, never}} }).from(10).until(120)
	w.resume(5).until(140).resume(5).until(200)
	for _, e := range w.events {
		if e.Type == event.SegmentError && abs(e.at-174) > 3 {
			t.Errorf("told at %v", e.at)
		}
	}
	if n := w.told(event.SegmentError); n != 1 {
		t.Errorf("told %d times", n)
	}
}

func TestSuccessorsThatDieBeforeTheyLookDelayNothing(t *testing.T) {
	w := scenario(t, func(w *world) { w.frozen = []span{{100, never}} }).from(10).until(120)
	for range 8 {
		w.resume(1)
	}
	w.until(300).expect(
		emits(10, event.StreamStarted),
		emits(168, event.SegmentError, since(108)),
	)
}

func TestAStreamThatEndsBeforeItBeganByTheClockLastedNoTime(t *testing.T) {
	w := scenario(t, func(w *world) { w.noPDT, w.endlist, w.live.to = true, true, 1e6 }).from(10).until(100)
	w.kept, w.keptOf = w.snapshot(), len(w.events)
	w.now, w.delay = w.now-3600, w.delay-3600
	w.live = span{-1e5, -3400}
	for _, e := range w.die(2).until(-3200).events {
		if ended, is := e.Data.(event.Ended); is && ended.DurationSec != 0 {
			t.Errorf("it lasted %v s", ended.DurationSec)
		}
	}
	if w.told(event.StreamEnded) != 1 {
		t.Error("it has not ended")
	}
}
