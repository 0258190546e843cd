package watch_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// broadcast is a stream whose watcher the tests of this file restart at every step.
type broadcast struct {
	name  string
	end   float64 // when the test ends
	slack float64 // by how much times may differ; times outside the media depend on when the watcher looks
	set   func(w *world)
}

// broadcasts show every kind of event. Each fault is long enough for checks every 5 s.
var broadcasts = []broadcast{
	{"black once", 160, 0.1, func(w *world) { w.black = []span{{60, 100}} }},
	{"silent once", 160, 0.1, func(w *world) { w.silent = []span{{60, 100}} }},
	{"black twice and silent across it", 260, 0.1, func(w *world) {
		w.black, w.silent = []span{{50, 90}, {150, 200}}, []span{{70, 170}}
	}},
	{"picture and sound apart", 200, 0.1, func(w *world) {
		w.separateTracks = true
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
	{"a private end", 500, 0.1, func(w *world) { w.live.to, w.afterLive = 200, watch.Private }},
	{"an outage of the playlist", 300, 8, func(w *world) { w.playlistFails = []span{{60, 180}} }},
	{"an outage of the segments", 300, 8, func(w *world) { w.segmentsFail = []span{{60, 180}} }},
	{"a playlist that stands", 400, 8, func(w *world) { w.stalls = []span{{60, 200}} }},
	{"a URL that expires", 300, 0.1, func(w *world) {
		w.failure, w.playlistFails = watch.FailureExpired, []span{{60, 75}}
		w.black = []span{{120, 180}}
	}},
	{"black across a short outage", 300, 0.1, func(w *world) {
		w.black, w.playlistFails = []span{{60, 160}}, []span{{90, 110}}
	}},
	{"no program time", 200, 2, func(w *world) { w.noProgramTime, w.black = true, []span{{60, 110}} }},
	{"no program time, a short outage", 300, 8, func(w *world) { w.noProgramTime, w.playlistFails = true, []span{{100, 130}} }},
	{"no program time, an outage of nearly a minute", 300, 8, func(w *world) { w.noProgramTime, w.playlistFails = true, []span{{100, 158}} }},
	{"no program time, a playlist that stands", 400, 8, func(w *world) { w.noProgramTime, w.stalls = true, []span{{60, 200}} }},
	{"nothing to be learned", 900, 8, func(w *world) {
		dark := []span{{100, 600}}
		w.playlistFails, w.unanswered = dark, dark
	}},
}

func (b broadcast) world(t *testing.T) *world {
	t.Helper()
	return scenario(t, func(w *world) {
		w.window = 60
		w.rules.CheckInterval = seconds(5)
		w.taskTime[watch.TaskSegment], w.taskTime[watch.TaskPlaylist], w.taskTime[watch.TaskResolve] = 0.3, 0.1, 2
		b.set(w)
	}).from(10)
}

// outlineEvent is an event as these tests compare it, with the times in its data.
type outlineEvent struct {
	what  string
	times []float64
}

// outline lists the events of each subject, in order. It leaves out the order of
// subjects and the times at which events were emitted.
func outline(w *world) (all []outlineEvent) {
	for _, subject := range []string{"stream", "blackout", "silence", "segment", "monitor"} {
		for _, e := range w.events {
			if !strings.Contains(string(e.Type), subject) {
				continue
			}
			t := outlineEvent{what: string(e.Type)}
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
			case event.MonitorFailure:
				t.what += fmt.Sprintf(" by %s, terminal %v", d.Reason, d.Terminal)
			}
			all = append(all, t)
		}
	}
	return all
}

// sameOutline reports whether two outlines are the same, with times that may differ by
// slack.
func sameOutline(a, b []outlineEvent, slack float64) bool {
	return slices.EqualFunc(a, b, func(x, y outlineEvent) bool {
		return x.what == y.what && slices.EqualFunc(x.times, y.times, func(s, t float64) bool { return abs(s-t) <= slack })
	})
}

func lines(outline []outlineEvent) string {
	var b strings.Builder
	for _, t := range outline {
		fmt.Fprintf(&b, "  %s %.1f\n", t.what, t.times)
	}
	return b.String()
}

// storedReport is a report from which a successor could go on.
type storedReport struct {
	snapshot []byte
	events   int     // emitted until then
	at       float64 // when the report was accepted
}

// restartFrom returns a copy of the world in which the watcher ends now and a new one
// continues from a stored report.
func (w *world) restartFrom(from storedReport, pause float64) *world {
	f := *w
	f.storedSnapshot, f.storedEvents, f.events = from.snapshot, from.events, slices.Clone(w.events)
	f.storesReports, f.messages, f.begun, f.urls = false, nil, map[watch.TaskKind][]float64{}, map[string]bool{}
	return f.restart(pause)
}

// maxUnreported is the longest time, in seconds, without a stored report before a
// restart. A restart after a longer time may miss an outage.
const maxUnreported = 15

// TestARestartAfterAnyStepChangesNoEvent kills the watcher after each of its steps.
// Some of its last reports are not stored. Its successor emits the events of a
// watcher that was never restarted (decision S11).
func TestARestartAfterAnyStepChangesNoEvent(t *testing.T) {
	for _, b := range broadcasts {
		for _, c := range []struct {
			unreported int     // how many of the last steps have no stored report
			pause      float64 // until the successor begins
		}{{0, 0}, {1, 1}, {6, 3}} {
			t.Run(fmt.Sprintf("%s, %d steps unreported, after %v s", b.name, c.unreported, c.pause), func(t *testing.T) {
				want := outline(b.world(t).until(b.end))
				w := b.world(t)
				w.storesReports = true
				w.storedSnapshot, w.storedAt = w.snapshot(), w.now
				past := []storedReport{{w.storedSnapshot, 0, w.now}}
				for step := 1; w.advance(b.end); step++ {
					past = append(past, storedReport{w.storedSnapshot, w.storedEvents, w.storedAt})
					for len(past) > 1 && (len(past) > c.unreported+1 || w.now-past[0].at > maxUnreported) {
						past = past[1:]
					}
					from, slack := past[0], b.slack
					if slack >= 1 { // the successor does not know the unreported time, so it may see things later
						slack += w.now - from.at + c.pause
					}
					if got := outline(w.restartFrom(from, c.pause).until(b.end)); !sameOutline(got, want, slack) {
						t.Fatalf("cut at step %d, second %.1f, emitted\n%sand uncut\n%s", step, w.now, lines(got), lines(want))
					}
				}
			})
		}
	}
}

func TestASnapshotWithoutATimeIsRestored(t *testing.T) {
	w := scenario(t, unobservable(205, never)).from(100).until(200)
	var all map[string]any
	if err := json.Unmarshal(w.snapshot(), &all); err != nil {
		t.Fatal(err)
	}
	delete(all, "at")
	var err error
	if w.storedSnapshot, err = json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	w.storedEvents = len(w.events)
	w.restart(10).until(1000).expect(
		emits(100, event.StreamStarted),
		emits(510, event.MonitorError, because("blind")), // the time before the restart does not count
	)
}

func TestAStalledPlaylistIsAlertedAcrossRestarts(t *testing.T) {
	// It stalls at second 102. The two pauses do not count.
	w := scenario(t, func(w *world) { w.stalls = []span{{100, never}} }).from(10).until(120)
	w.resume(5).until(140).resume(5).until(200)
	for _, e := range w.events {
		if e.Type == event.SegmentError && abs(e.at-174) > 3 {
			t.Errorf("emitted at %v", e.at)
		}
	}
	if n := w.emitted(event.SegmentError); n != 1 {
		t.Errorf("emitted %d times", n)
	}
}

func TestSuccessorsThatDieAtOnceDelayNoAlert(t *testing.T) {
	w := scenario(t, func(w *world) { w.stalls = []span{{100, never}} }).from(10).until(120)
	for range 8 {
		w.resume(1)
	}
	w.until(300).expect(
		emits(10, event.StreamStarted),
		emits(168, event.SegmentError, since(108)),
	)
}

func TestAStreamWithItsEndBeforeItsStartHasNoDuration(t *testing.T) {
	w := scenario(t, func(w *world) { w.noProgramTime, w.endlist, w.live.to = true, true, 1e6 }).from(10).until(100)
	w.storedSnapshot, w.storedEvents = w.snapshot(), len(w.events)
	w.now, w.delay = w.now-3600, w.delay-3600
	w.live = span{-1e5, -3400}
	for _, e := range w.restart(2).until(-3200).events {
		if ended, is := e.Data.(event.Ended); is && ended.DurationSec != 0 {
			t.Errorf("it lasted %v s", ended.DurationSec)
		}
	}
	if w.emitted(event.StreamEnded) != 1 {
		t.Error("it has not ended")
	}
}

func TestASuccessorGoesOnFromTheSnapshot(t *testing.T) { // S11
	for name, cut := range map[string]float64{
		"before the onset": 95, "while black, before the alert": 115, "while black, after the alert": 145, "after the recovery": 175,
	} {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, func(w *world) { w.black = []span{{100, 150}} }).from(50).until(cut).resume(3).until(300)
			if w.emitted(event.StreamStarted) != 1 || w.emitted(event.Blackout) != 1 || w.emitted(event.BlackoutRecovered) != 1 {
				t.Fatalf("got %v", w.events)
			}
			for _, e := range w.events {
				if a, ok := e.Data.(event.Alert); ok && abs(sec(a.StartedAt)-100) > 0.1 {
					t.Errorf("black since %v", sec(a.StartedAt))
				}
			}
		})
	}
	t.Run("at once", func(t *testing.T) { // S12
		w := scenario(t).from(100).until(205).resume(1).until(210)
		w.expectBegun(watch.TaskPlaylist, span{205, 210}, 206)
		w.expectBegun(watch.TaskSegment, span{205, 210}, 206)
	})
	t.Run("at once in an outage too", func(t *testing.T) {
		w := scenario(t, func(w *world) { w.playlistFails = []span{{150, never}} }).from(100).until(245).resume(1).until(250)
		w.expectBegun(watch.TaskPlaylist, span{245, 250}, 246, 246) // and at once under the renewed URL
	})
	t.Run("at once however often a URL that has expired was handed on", func(t *testing.T) { // S7
		w := scenario(t, func(w *world) {
			w.heights = []int{144}
			w.failure, w.playlistFailsIn = watch.FailureExpired, map[string][]span{"/1/": {{110, never}}}
			w.taskTime[watch.TaskResolve] = 3
		}).from(99).until(111)
		for range 5 {
			w.resume(1)
			w.until(w.now + 1) // too short to find another URL
		}
		resumed := w.now + 1
		w.resume(1).until(200)
		w.expectBegun(watch.TaskPlaylist, span{resumed, resumed + 4}, resumed, resumed+3)
		w.expect(emits(102, event.StreamStarted))
	})
	t.Run("at once from a URL that expired, once a lost renewal is repeated", func(t *testing.T) { // S7
		w := scenario(t, func(w *world) {
			w.heights, w.failure, w.taskTime[watch.TaskResolve] = []int{144}, watch.FailureExpired, 7
			w.playlistFailsIn = map[string][]span{"/1/": {{150, never}}, "/2/": {{180, never}}}
		}).from(53).until(189).resume(1).until(215)
		w.expectBegun(watch.TaskResolve, span{145, 215}, 150, 187, 190)
		w.expectBegun(watch.TaskPlaylist, span{190, 205}, 190, 195, 197)
	})
	t.Run("but goes on with the backoff for a URL that never worked", func(t *testing.T) { // S7
		w := scenario(t, func(w *world) {
			w.heights, w.failure, w.playlistFails = []int{144}, watch.FailureExpired, []span{{150, never}}
			w.taskTime[watch.TaskResolve] = 0.5
		}).from(59.5).until(150.25)
		for range 4 {
			w.resume(0.5).until(w.now + 2)
		}
		w.until(220)
		w.expectBegun(watch.TaskResolve, span{150.5, 215}, 150.75, 160.75, 180.75)
	})
	t.Run("and does not count the pause for a stall", func(t *testing.T) {
		for _, noProgramTime := range []bool{false, true} {
			scenario(t, func(w *world) { w.noProgramTime = noProgramTime }).from(100).until(200).resume(300).until(900).
				expect(emits(100, event.StreamStarted))
		}
	})
	t.Run("and does not count the pause for an outage", func(t *testing.T) { // it may be a step of the clock
		scenario(t, func(w *world) { w.playlistFails = []span{{150, 156}, {3755, 3765}} }).from(100).until(155).resume(3600).until(3900).
			expect(emits(100, event.StreamStarted))
		scenario(t, func(w *world) { w.playlistFails = []span{{150, 156}}; w.black = []span{{130, 4000}} }).from(100).until(155).resume(3600).until(3900).
			expect(emits(100, event.StreamStarted), emits(3755, event.Blackout))
	})
	t.Run("and counts the time of an outage before the pause", func(t *testing.T) {
		scenario(t, func(w *world) { w.playlistFails = []span{{150, never}} }).from(100).until(170).resume(3600).until(3900).
			expect(emits(100, event.StreamStarted), emits(3815, event.SegmentError)) // 15 s before the restart and 45 s after it
	})
	t.Run("and refuses JSON that is no snapshot", func(t *testing.T) {
		if _, err := watch.Restore(rules(), json.RawMessage(`[1]`), at(0)); err == nil {
			t.Error("no error")
		}
	})
}

func TestASnapshotIsDueOnlyWhenASuccessorNeedsIt(t *testing.T) { // S11
	for _, c := range []struct {
		name      string
		change    func(*world)
		snapshots int // in 1000 s
	}{
		{"nothing happens", nil, 17},
		{"segments of 10 s", func(w *world) { w.segment = 10 }, 17},
		{"picture and sound apart", apart, 17},
		{"a check every second", func(w *world) { w.rules.CheckInterval = seconds(1) }, 17},
		{"a check every 5 minutes", func(w *world) { w.rules.CheckInterval = seconds(300) }, 17},
		{"there is no sound", func(w *world) { w.noSound = true }, 17},
		{"the lag varies", func(w *world) { w.copyDelays = []int{0, 1, 0, 2, 1} }, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := scenario(t, withTaskTimes, func(w *world) { w.storesReports = true })
			if c.change != nil {
				c.change(w)
			}
			w.from(100).until(1000)
			reports, snapshots := w.reports, w.snapshots
			w.until(2000)
			reports, snapshots = w.reports-reports, w.snapshots-snapshots
			if snapshots > c.snapshots || snapshots < 14 || reports < 30 {
				t.Errorf("%d snapshots in %d reports of 1000 s, want at most %d", snapshots, reports, c.snapshots)
			}
		})
	}
	for name, change := range map[string]func(*world){
		"an outage":              func(w *world) { w.playlistFails = []span{{1000, 1050}} },
		"a playlist that stalls": func(w *world) { w.stalls = []span{{990, 1050}} },
		"blindness":              func(w *world) { w.playlistFails, w.unanswered = []span{{500, 1050}}, []span{{500, 1050}} },
		"a condition that may reach its threshold": func(w *world) { w.black, w.rules.Thresholds[detector.Blackout] = []span{{990, 1050}}, seconds(300) },
	} {
		t.Run("at every report in "+name, func(t *testing.T) {
			w := scenario(t, withTaskTimes, change, func(w *world) { w.storesReports = true }).from(100).until(1012)
			reports, snapshots := w.reports, w.snapshots
			w.until(1045)
			if reports, snapshots = w.reports-reports, w.snapshots-snapshots; reports < 1 || snapshots != reports {
				t.Errorf("%d snapshots in %d reports", snapshots, reports)
			}
		})
	}
}
