package message_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// The title says what the domain decides about an incident of two conditions.
func TestTheTitleSaysHowAnIncidentOfTwoConditionsIs(t *testing.T) { // section 19.3
	at := func(sec int) time.Time { return eight.Add(time.Duration(sec) * time.Second) }
	began := func(name incident.Name, sec int) incident.Input {
		return incident.Began{Condition: name, StartedAt: at(sec), At: at(sec)}
	}
	ended := func(name incident.Name, sec int) incident.Input {
		return incident.Ended{Condition: name, EndedAt: at(sec)}
	}
	ann := incident.Acknowledge{By: "Ann"}
	type steps = map[int][]incident.Input
	r := load(t, nil)
	for name, tt := range map[string]struct {
		told  steps // a destination that edits was told of them
		since steps
		now   int
		want  string // the title until the stream
	}{
		"one lasts":                         {nil, steps{0: {began("black", 0)}}, 0, "🟡 MEDIUM｜Black video 0 s"},
		"another begins":                    {steps{0: {began("black", 0)}}, steps{30: {began("silent", 30)}}, 30, "🟠 HIGH, worse｜Black video + No sound 30 s"},
		"one of two is over":                {steps{0: {began("black", 0), began("silent", 0)}}, steps{30: {ended("silent", 30)}}, 30, "🟡 MEDIUM｜Black video 30 s"},
		"both are over":                     {steps{0: {began("black", 0), began("silent", 0)}}, steps{30: {ended("silent", 20), ended("black", 30)}}, 30, "🟢 QUIET｜Black video + No sound, 30 s"},
		"one is over, acknowledged":         {steps{0: {began("black", 0), began("silent", 0)}}, steps{30: {ended("silent", 30), ann}}, 30, "🔧 ACKNOWLEDGED｜Black video 30 s"},
		"acknowledged, then one is over":    {steps{0: {began("black", 0), began("silent", 0), ann}}, steps{30: {ended("silent", 30)}}, 30, "🔧 ACKNOWLEDGED｜Black video 30 s"},
		"acknowledged, then another begins": {steps{0: {began("black", 0), ann}}, steps{30: {began("silent", 30)}}, 30, "🟠 HIGH, worse｜Black video + No sound 30 s"},
		"resolved by itself":                {steps{0: {began("black", 0), began("silent", 0)}}, steps{30: {ended("silent", 20), ended("black", 30)}, 90: {incident.Tick{}}}, 90, "✅ RESOLVED｜Black video + No sound, 30 s"},
		"one came back": {steps{0: {began("black", 0), began("silent", 0)}, 30: {ended("silent", 20), ended("black", 30)}, 90: {incident.Tick{}}},
			steps{300: {began("silent", 300)}}, 700, "🟠 HIGH, again｜No sound 6 min 40 s"},
		"resolved by a person, one lasts": {steps{0: {began("black", 0), began("silent", 0)}}, steps{30: {ended("silent", 20), incident.Resolve{By: "Ann"}}}, 30, "☑️ RESOLVED by Ann, still｜Black video 30 s"},
		"resolved by a person, both over": {steps{0: {began("black", 0), began("silent", 0)}}, steps{30: {ended("silent", 20), ended("black", 25), incident.Resolve{By: "Ann"}}}, 30, "✅ RESOLVED｜Black video + No sound, 25 s"},
	} {
		t.Run(name, func(t *testing.T) {
			tracker, told := incident.NewTracker(nil), notify.Notified{}
			policy := notify.ThreadPolicy{Edits: true}
			take := func(all steps, from, until int, then func(sec int)) {
				for sec := from; sec <= until; sec++ {
					for _, in := range append(all[sec], incident.Tick{}) {
						tracker.Step(at(sec), in)
					}
					then(sec)
				}
			}
			last := -1
			for sec := range tt.told {
				last = max(last, sec)
			}
			next := func(sec int) (notify.Situation, notify.NextMessage) {
				s := notify.SituationOf(*tracker.Newest())
				return s, notify.Next(at(sec), s, told, policy)
			}
			take(tt.told, 0, last, func(sec int) {
				for s, step := next(sec); step.Kind != ""; s, step = next(sec) {
					told = told.After(s, step, at(sec), "ref")
				}
			})
			take(tt.since, last+1, tt.now, func(int) {})
			s, step := next(tt.now)
			facts := message.Facts{Language: notify.English, Situation: s, Notified: told, Now: at(tt.now), Incident: &notify.StreamIncident{Incident: *tracker.Newest(), StreamURL: "https://example.com/s"}}
			title := r.Message(facts, step).Title
			if got := title[:max(0, strings.LastIndex(title, "｜"))]; got != tt.want || step.Kind == "" {
				t.Errorf("%+v: the title is %q, want %q", step, title, tt.want)
			}
		})
	}
}
