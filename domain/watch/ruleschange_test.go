package watch_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// changeRules changes the rules of the watch by an observation that was recorded and
// read again.
func (w *world) changeRules(change func(*watch.Rules)) *world {
	w.t.Helper()
	w.rules.Thresholds = maps.Clone(w.rules.Thresholds)
	change(&w.rules)
	recorded, err := json.Marshal(watch.RecordedStep{At: at(w.now), Observation: watch.RulesChanged{Rules: w.rules}})
	if err != nil {
		w.t.Fatal(err)
	}
	var read watch.RecordedStep
	if err := json.Unmarshal(recorded, &read); err != nil {
		w.t.Fatal(err)
	}
	w.step(read.Observation)
	return w
}

// blackoutAfter changes the threshold of blackout.
func blackoutAfter(n int) func(*watch.Rules) {
	return func(r *watch.Rules) { r.Thresholds[detector.Blackout] = seconds(n) }
}

// startAt changes the scheduled start; a negative one removes it.
func startAt(s float64) func(*watch.Rules) {
	return func(r *watch.Rules) {
		if r.ScheduledStart = at(s); s < 0 {
			r.ScheduledStart = time.Time{}
		}
	}
}

func TestChangedRulesHoldFromTheNextCheckOn(t *testing.T) { // 16.6
	minute := black(100, 160)
	late := func(w *world) { w.rules.ScheduledStart, w.live.from = at(100), 900 }
	for _, c := range []struct {
		name    string
		set     option
		changed float64
		change  func(*watch.Rules)
		until   float64
		events  string
	}{
		{"a lower threshold that is not reached alerts when it is", minute, 110.5, blackoutAfter(20), 200,
			"50 started since 0, 120 blackout since 100 for 20, 162 blackout_recovered since 100 until 160 for 60"},
		{"a lower threshold that has been crossed alerts at the next check", minute, 120.5, blackoutAfter(5), 200,
			"50 started since 0, 122 blackout since 100 for 22, 162 blackout_recovered since 100 until 160 for 60"},
		{"a higher threshold alerts later", minute, 120.5, blackoutAfter(50), 200,
			"50 started since 0, 150 blackout since 100 for 50, 162 blackout_recovered since 100 until 160 for 60"},
		{"a higher threshold that is not reached alerts nothing", minute, 120.5, blackoutAfter(70), 200, "50 started since 0"},
		{"a higher threshold revokes no alert", minute, 140.5, blackoutAfter(70), 200,
			"50 started since 0, 130 blackout since 100 for 30, 162 blackout_recovered since 100 until 160 for 60"},
		{"a lower threshold does not alert twice", minute, 140.5, blackoutAfter(5), 200,
			"50 started since 0, 130 blackout since 100 for 30, 162 blackout_recovered since 100 until 160 for 60"},
		{"a lower threshold after the recovery alerts nothing", black(100, 120), 130.5, blackoutAfter(5), 200, "50 started since 0"},
		{"an earlier start is alerted earlier", late, 60.5, startAt(70), 500, "370.5 delayed for 300"},
		{"a later start is alerted later", late, 60.5, startAt(300), 700, "600.5 delayed for 300"},
		{"a later start after the alert is alerted again", late, 410, startAt(420), 800, "400.5 delayed for 300, 720.5 delayed for 300"},
		{"a later start that is late already is not alerted again", late, 600, startAt(200), 800, "400.5 delayed for 300"},
		{"a higher tolerance after the alert is not alerted again", late, 410, func(r *watch.Rules) { r.StartTolerance = seconds(600) }, 800,
			"400.5 delayed for 300"},
		{"a removed start is not alerted", late, 390, startAt(-1), 800, ""},
		{"an end is followed", late, 60.5, func(r *watch.Rules) { r.ScheduledEnd = at(150) }, 800,
			"400.5 delayed for 300, 450.5 error by reservation_expired"},
		{"nothing, after a late start was alerted", late, 410, func(*watch.Rules) {}, 800, "400.5 delayed for 300"},
	} {
		t.Run(c.name, func(t *testing.T) {
			scenario(t, takes(watch.TaskResolve, 0.5), c.set).from(49.5).until(c.changed).changeRules(c.change).until(c.until).expect(c.events)
		})
	}
}

func TestAChangedCheckIntervalCountsFromTheLastCheck(t *testing.T) { // 16.6
	w := scenario(t).from(50).until(61).changeRules(func(r *watch.Rules) { r.CheckInterval = seconds(30) }).until(121)
	for i, want := range []float64{50, 60, 90, 120} {
		if checks := slices.Compact(w.analysed); len(checks) <= i || abs(checks[i]-want) > tolerance {
			t.Fatalf("segments were analysed at %v", w.analysed)
		}
	}
}

func TestALateStreamThatIsRescheduledIsLateNoMore(t *testing.T) { // 7.3, 16.6
	ended := func(onset, end float64) []monitor.Signal {
		return []monitor.Signal{{Condition: trouble.Late, StartedAt: at(onset), EndedAt: at(end)}}
	}
	for _, c := range []struct {
		name    string
		liveAt  float64
		change  func(*watch.Rules)
		want    []monitor.Signal // the start is at 100, the change at 500
		delayed int
	}{
		{"by an hour", 9000, startAt(3700), ended(100, 500), 2},
		{"into its tolerance", 9000, startAt(300), ended(100, 500), 2},
		{"to a start that is late already", 9000, startAt(150), nil, 1},
		{"to no start at all", 9000, startAt(-1), ended(100, 500), 1},
		{"after it has started", 450, startAt(3700), nil, 1},
	} {
		check := func(t *testing.T, w *world) {
			t.Helper()
			if !slices.Equal(w.signals, c.want) {
				t.Errorf("signalled %v, want %v", w.signals, c.want)
			}
			if w.until(4100); w.emitted(event.StreamDelayed) != c.delayed || len(w.signals) != len(c.want) {
				t.Errorf("emitted %v, signalled %v", w.events, w.signals)
			}
		}
		t.Run(c.name, func(t *testing.T) {
			check(t, scenario(t, scheduled(100), liveFrom(c.liveAt)).from(50).until(500).changeRules(c.change))
		})
		t.Run(c.name+", before the next worker", func(t *testing.T) {
			w := scenario(t, scheduled(100), liveFrom(c.liveAt)).from(50).until(500)
			c.change(&w.rules)
			w.resume(0).step(watch.Tick{})
			check(t, w)
		})
	}
}

func TestAnEarlierStartIsAskedForAtOnce(t *testing.T) { // 7.5, 16.6
	w := scenario(t, scheduled(10_000), liveFrom(20_000)).from(0).until(1).
		changeRules(startAt(0.5)).until(12)
	if asked := w.begun[watch.TaskResolve]; len(asked) != 2 || asked[1] != 11 {
		t.Errorf("the stream's state was asked for at %v", asked)
	}
}
