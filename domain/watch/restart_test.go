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
	set   []option
}

// broadcasts show every kind of event. Each fault is long enough for checks every 5 s.
var broadcasts = []broadcast{
	{"black once", 160, 0.1, []option{black(60, 100)}},
	{"silent once", 160, 0.1, []option{silent(60, 100)}},
	{"black twice and silent across it", 260, 0.1, []option{black(50, 90, 150, 200), silent(70, 170)}},
	{"picture and sound apart", 200, 0.1, []option{apart, black(50, 90), silent(70, 130)}},
	{"an end while black", 160, 0.1, []option{black(60, 200), endsAt(120, true)}},
	{"an end by YouTube's word", 700, 0.1, []option{black(60, 100), endsAt(300, false)}},
	{"a late start", 260, 0.1, []option{scheduled(20), liveFrom(90), black(150, 200)}},
	{"a private end", 500, 0.1, []option{endsAt(200, false), func(w *world) { w.afterLive = watch.Private }}},
	{"an outage of the playlist", 300, 8, []option{noPlaylist(60, 180)}},
	{"an outage of the segments", 300, 8, []option{noSegment(60, 180)}},
	{"a playlist that stands", 400, 8, []option{stalls(60, 200)}},
	{"a URL that expires", 300, 0.1, []option{failing(watch.FailureExpired), noPlaylist(60, 75), black(120, 180)}},
	{"black across a short outage", 300, 0.1, []option{black(60, 160), noPlaylist(90, 110)}},
	{"no program time", 200, 2, []option{noProgramTime, black(60, 110)}},
	{"no program time, a short outage", 300, 8, []option{noProgramTime, noPlaylist(100, 130)}},
	{"no program time, an outage of nearly a minute", 300, 8, []option{noProgramTime, noPlaylist(100, 158)}},
	{"no program time, a playlist that stands", 400, 8, []option{noProgramTime, stalls(60, 200)}},
	{"nothing to be learned", 900, 8, []option{unobservable(100, 600)}},
}

func (b broadcast) world(t *testing.T) *world {
	t.Helper()
	return scenario(t, append(b.set, checksEvery(5), takes(watch.TaskResolve, 2), takes(watch.TaskPlaylist, 0.1), takes(watch.TaskSegment, 0.3),
		func(w *world) { w.window = 60 })...).from(10)
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
	f.storesReports, f.log, f.begun, f.urls = false, nil, map[watch.TaskKind][]float64{}, map[string]bool{}
	return f.restart(pause)
}

// maxUnreported is the longest time, in seconds, without a stored report before a
// restart. A restart after a longer time may miss an outage.
const maxUnreported = 15

// TestARestartAfterAnyStepChangesNoEvent kills the watcher after each of its steps, or after every
// third if some of its last reports are not stored. Its successor emits the events of a watcher
// that was never restarted (decision S11).
func TestARestartAfterAnyStepChangesNoEvent(t *testing.T) {
	for _, b := range broadcasts {
		want := outline(b.world(t).until(b.end))
		for _, c := range []struct {
			unreported int     // how many of the last steps have no stored report
			pause      float64 // until the successor begins
			every      int     // step
		}{{0, 0, 1}, {1, 1, 3}, {6, 3, 3}} {
			t.Run(fmt.Sprintf("%s, %d steps unreported, after %v s", b.name, c.unreported, c.pause), func(t *testing.T) {
				w := b.world(t)
				w.storesReports = true
				w.storedSnapshot, w.storedAt = w.snapshot(), w.now
				past := []storedReport{{w.storedSnapshot, 0, w.now}}
				for step := 1; w.advance(b.end); step++ {
					past = append(past, storedReport{w.storedSnapshot, w.storedEvents, w.storedAt})
					for len(past) > 1 && (len(past) > c.unreported+1 || w.now-past[0].at > maxUnreported) {
						past = past[1:]
					}
					if step%c.every != 0 {
						continue
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

func TestASuccessorGoesOnFromTheSnapshot(t *testing.T) { // S11
	expired := func(set ...option) []option { return append(set, renditions(144), failing(watch.FailureExpired)) }
	follow(t, []timeline{
		{"at once", []option{restarts(205, 206)}, 100, 210, "100 started since 0", []tasks{read(205, 210, 206), analysed(205, 210, 206)}}, // S12
		{"at once in an outage too, and under the renewed URL", []option{noPlaylist(150, never), restarts(245, 246)}, 100, 250,
			"100 started since 0, 210 segment_error since 150 for 60 by manifest", []tasks{read(245, 250, 246, 246)}},
		// Five of them live too short to find another URL.
		{"at once however often a URL that has expired was handed on", expired(noPlaylistIn("/1/", 110, never), takes(watch.TaskResolve, 3),
			restarts(111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122)), 99, 200, "102 started since 0", []tasks{read(122, 126, 122, 125)}}, // S7
		{"at once from a URL that expired, once a lost renewal is repeated", expired(noPlaylistIn("/1/", 150, never), noPlaylistIn("/2/", 180, never), takes(watch.TaskResolve, 7),
			restarts(189, 190)), 53, 215, "60 started since 0", []tasks{asked(145, 215, 150, 187, 190), read(190, 205, 190, 195, 197)}},
		{"but goes on with the backoff for a URL that never worked", expired(noPlaylist(150, never), takes(watch.TaskResolve, 0.5),
			restarts(150.25, 150.75, 152.75, 153.25, 155.25, 155.75, 157.75, 158.25)), 59.5, 220,
			"60 started since 0, 218.25 segment_error since 150 for 68 by manifest", []tasks{asked(150.5, 215, 150.75, 160.75, 180.75)}},
		// The pause may be a step of the clock.
		{"and does not count the pause for a standstill", []option{restarts(200, 500)}, 100, 900, "100 started since 0", nil},
		{"also without program time", []option{noProgramTime, restarts(200, 500)}, 100, 900, "100 started since 0", nil},
		{"nor for an outage", []option{noPlaylist(150, 156, 3755, 3765), restarts(155, 3755)}, 100, 3900, "100 started since 0", nil},
		{"also if it is black", []option{black(130, 4000), noPlaylist(150, 156), restarts(155, 3755)}, 100, 3900,
			"100 started since 0, 3755 blackout since 130 for 3596", nil},
		// 15 s before the restart and 45 s after it.
		{"but counts the time of an outage before the pause", []option{noPlaylist(150, never), restarts(170, 3770)}, 100, 3900,
			"100 started since 0, 3815 segment_error since 150 for 3665 by manifest", nil},
		{"and of a standstill, from second 102 on", []option{stalls(100, never), restarts(120, 125, 140, 145)}, 10, 200,
			"10 started since 0, 175 segment_error since 115 for 60 by stalled", nil},
		{"and successors that die at once delay no alert", []option{stalls(100, never), restarts(120, 121, 121, 122, 122, 123, 123, 124, 124, 125, 125, 126, 126, 127, 127, 128)},
			10, 300,
			"10 started since 0, 168 segment_error since 108 for 60 by stalled", nil},
	})
	t.Run("and refuses JSON that is no snapshot", func(t *testing.T) {
		if _, err := watch.Restore(rules(), json.RawMessage(`[1]`), at(0)); err == nil {
			t.Error("no error")
		}
	})
}

func TestASnapshotIsDueOnlyWhenASuccessorNeedsIt(t *testing.T) { // S11
	for name, c := range map[string]struct {
		set  option
		most int // snapshots in 1000 s
	}{
		"nothing happens":         {noSegment(), 17},
		"segments of 10 s":        {segmentsOf(10), 17},
		"picture and sound apart": {apart, 17},
		"a check every second":    {checksEvery(1), 17},
		"a check every 5 minutes": {checksEvery(300), 17},
		"there is no sound":       {func(w *world) { w.noSound = true }, 17},
		"the lag varies":          {func(w *world) { w.copyDelays = []int{0, 1, 0, 2, 1} }, 20},
	} {
		t.Run(name, func(t *testing.T) {
			if reports, snapshots := reportsFrom(t, 1000, 2000, c.set); snapshots > c.most || snapshots < 14 || reports < 30 {
				t.Errorf("%d snapshots in %d reports of 1000 s, want at most %d", snapshots, reports, c.most)
			}
		})
	}
	for name, set := range map[string][]option{
		"an outage":              {noPlaylist(1000, 1050)},
		"a playlist that stalls": {stalls(990, 1050)},
		"blindness":              {unobservable(500, 1050)},
		"a condition that may reach its threshold": {black(990, 1050), threshold(detector.Blackout, 300)},
	} {
		t.Run("at every report in "+name, func(t *testing.T) {
			if reports, snapshots := reportsFrom(t, 1012, 1045, set...); reports < 1 || snapshots != reports {
				t.Errorf("%d snapshots in %d reports", snapshots, reports)
			}
		})
	}
}

// reportsFrom counts the reports of a time that are stored, and those of them with a snapshot.
func reportsFrom(t *testing.T, from, to float64, set ...option) (reports, snapshots int) {
	t.Helper()
	w := scenario(t, append(set, withTaskTimes)...)
	w.storesReports = true
	w.from(100).until(from)
	reports, snapshots = w.reports, w.snapshots
	w.until(to)
	return w.reports - reports, w.snapshots - snapshots
}
