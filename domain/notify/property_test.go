package notify_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// anyDestination draws a destination, which may be down for some time.
func anyDestination(r *rapid.T, name string) *destined {
	minutes := func(name string, choice ...int) time.Duration {
		return time.Duration(rapid.SampledFrom(choice).Draw(r, name)) * time.Minute
	}
	kind := rapid.SampledFrom([]notify.Kind{notify.Discord, notify.Teams, notify.PagerDuty}).Draw(r, "kind")
	d := &destined{name: name, kind: kind, delay: minutes("delay", 0, 0, 5, 30), repeat: minutes("repeat", 0, 1, 15)}
	if rapid.Bool().Draw(r, "was down") {
		from := rapid.Float64Range(0, 5000).Draw(r, "down from")
		to := from + rapid.Float64Range(1, 5000).Draw(r, "down for")
		d.down = func(now time.Time) bool { return now.After(at(from)) && now.Before(at(to)) }
	}
	return d
}

func anySilence(r *rapid.T, sec float64) notify.Silence {
	s := notify.Silence{StartsAt: at(sec + rapid.SampledFrom([]float64{-10, 0, 200}).Draw(r, "from"))}
	s.EndsAt = s.StartsAt.Add(time.Duration(rapid.IntRange(1, 3000).Draw(r, "silent for")) * time.Second)
	return s
}

func anyInput(r *rapid.T, sec float64) incident.Input {
	name := rapid.SampledFrom([]incident.Name{black, silent, incident.Late, incident.NoMedia, incident.Blind}).Draw(r, "condition")
	switch rapid.IntRange(0, 11).Draw(r, "input") {
	case 0, 1, 2, 3:
		return alerted(name, sec)
	case 10:
		return incident.Ask{}
	case 11:
		return answered(name, 200, rapid.SampledFrom([]string{`{"opinion":"keep"}`, `{"opinion":"drop"}`, ``}).Draw(r, "answer"))
	case 4, 5, 6:
		return ended(name, sec)
	case 7:
		return incident.Acknowledge{By: rapid.SampledFrom([]string{"ann", "bob"}).Draw(r, "by")}
	case 8:
		return incident.PictureAdded{Picture: incident.Picture{EvidenceID: "a", Condition: name, TakenAt: at(sec)}}
	}
	return incident.Resolve{By: "ann"}
}

// anyTimeline lets things happen to a stream for some hours, and then nothing any more.
// world itself checks that nothing is due right after a message, and that nothing is
// always due.
func anyTimeline(r *rapid.T) *world {
	w := newWorld(r, anyDestination(r, "one"), anyDestination(r, "other"))
	w.opinions = rapid.SampledFrom([]notify.OpinionPower{"", notify.OpinionsHold, notify.OpinionsDrop}).Draw(r, "opinions")
	sec := 0.0
	for range rapid.IntRange(1, 40).Draw(r, "steps") {
		sec += rapid.SampledFrom([]float64{0, 1, 3, 20, 61, 300, 700}).Draw(r, "pause")
		if rapid.IntRange(0, 9).Draw(r, "silenced") == 0 {
			w.at(sec).silence(anySilence(r, sec))
		}
		w.at(sec, anyInput(r, sec))
	}
	return w.at(sec, incident.MonitorEnded{At: at(sec)}).at(sec + 30000)
}

// TestMessagesAreConsistentWhateverHappens checks all messages to all destinations.
func TestMessagesAreConsistentWhateverHappens(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := anyTimeline(r)
		for _, d := range w.destinations {
			checkResolved(r, d)
			checkPushes(r, d)
			for _, m := range d.sent {
				taken := m.about.Handled()
				switch {
				case taken && m.step.Push:
					r.Fatalf("%s makes a sound although %s has taken it: %+v", m.step.Kind, m.about.AcknowledgedBy, m)
				case taken && d.delay > 0 && m.step.Kind == notify.Opened:
					r.Fatalf("%+v is escalated although somebody has taken it", m)
				case m.step.Kind == notify.Updated && d.kind == notify.Teams:
					r.Fatalf("a channel that cannot edit has sent %+v", m)
				}
			}
		}
		for _, th := range w.threads {
			raw, _ := json.Marshal(th.notified)
			var read notify.Notified
			if err := json.Unmarshal(raw, &read); err != nil {
				r.Fatal(err)
			}
			if again, _ := json.Marshal(read); string(raw) != string(again) {
				r.Fatalf("%+v became %+v", th.notified, read)
			}
		}
	})
}

// checkResolved checks that whatever is opened at a destination is resolved there.
func checkResolved(r *rapid.T, d *destined) {
	open := map[*incident.Incident]bool{}
	for _, m := range d.sent {
		ok := open[m.incident]
		switch {
		case m.step.Kind == notify.Opened && ok, m.step.Kind == notify.Recovered && !ok:
			r.Fatalf("%v: %s", m.at, m.step.Kind)
		case m.step.Kind == notify.Opened, m.step.Kind == notify.Reopened:
			open[m.incident] = true
		case m.step.Kind == notify.Recovered:
			delete(open, m.incident)
		}
	}
	if len(open) > 0 {
		r.Fatalf("%d incidents were opened and never resolved: %+v", len(open), d.sent)
	}
}

// checkPushes checks that every sound has a condition that was quiet for ten minutes, or is worse.
func checkPushes(r *rapid.T, d *destined) {
	type thing struct {
		of        *incident.Incident
		condition incident.Name
	}
	pushed, severity := map[thing]time.Time{}, map[*incident.Incident]int{}
	for _, m := range d.sent {
		before, ok := severity[m.incident]
		severity[m.incident] = m.about.SeverityNow
		if !m.step.Push {
			continue
		}
		allowed := !ok || m.about.SeverityNow > before
		for _, c := range m.about.Conditions {
			allowed = allowed || m.at.Sub(pushed[thing{m.incident, c}]) >= notify.PushInterval
			pushed[thing{m.incident, c}] = m.at
		}
		if len(m.about.Conditions) == 0 {
			r.Fatalf("%+v makes a sound although nothing lasts", m)
		}
		if !allowed {
			r.Fatalf("%+v comes too early", m)
		}
	}
}

func TestAChannelThatEditsMakesTheSameSoundsAsOneThatDoesNot(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		one, other := anyDestination(r, "one"), writes()
		one.kind, one.down = notify.PagerDuty, nil // both wait for a picture
		other.delay, other.repeat = one.delay, one.repeat
		w := newWorld(r, one, other)
		sec := 0.0
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			sec += rapid.SampledFrom([]float64{0, 1, 20, 61, 300, 700}).Draw(r, "pause")
			in := anyInput(r, sec)
			if _, ok := in.(incident.Acknowledge); ok {
				continue // a sound that waits is then made up for quietly
			}
			w.at(sec, in)
		}
		w.at(sec + 5000)
		if a, b := sounds(one), sounds(other); !slices.Equal(a, b) {
			r.Fatalf("sounds at %v, and at %v", a, b)
		}
	})
}

func sounds(d *destined) (all []float64) {
	for _, m := range d.sent {
		if m.step.Push {
			all = append(all, m.at.Sub(eight).Seconds())
		}
	}
	return all
}

func TestAfterChangesNothingOfWhatItWasGiven(t *testing.T) {
	s := situation(1, black)
	first := notify.Notified{}.After(s, notify.NextMessage{Kind: notify.Opened, Push: true}, at(0), "")
	before, _ := json.Marshal(first)
	s.Conditions = append(s.Conditions, silent)
	first.After(s, notify.NextMessage{Kind: notify.Worse, Push: true}, at(900), "")
	if after, _ := json.Marshal(first); string(after) != string(before) {
		t.Errorf("%s became %s", before, after)
	}
}
