package incident_test

import (
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

func TestEveryReopeningDoublesTheQuietTime(t *testing.T) {
	h := newHistory(t)
	start, quiet := 0.0, []float64{60, 120, 240, 480, 900, 900}
	for n, want := range quiet {
		h.step(start+30, began(black, start))
		h.step(start+40, ended(black, start+40))
		h.sweep(start + 40 + want - 1)
		if i := h.newest(); i.State != incident.Open || i.Reopened != n {
			t.Fatalf("episode %d: %s, reopened %d", n, i.State, i.Reopened)
		}
		h.sweep(start + 40 + want)
		if h.newest().State != incident.Resolved {
			t.Fatalf("episode %d is not resolved %v s after its end", n, want)
		}
		start += 40 + want + 600 // the last moment that reopens
	}
	if len(h.all) != 1 {
		t.Errorf("%d incidents, want 1", len(h.all))
	}
	h.step(start+31, began(black, start+1))
	if h.expect("open 1 black+"); len(h.all) != 2 || h.newest().Quiet != incident.FirstQuiet {
		t.Errorf("%d incidents, quiet %v", len(h.all), h.newest().Quiet)
	}
}

func TestAReopenedIncidentNeedsAnotherAcknowledgement(t *testing.T) {
	h := newHistory(t)
	h.step(30, began(black, 0), incident.Acknowledge{By: "ann"}, incident.Acknowledge{By: "bob"}) // bob comes too late
	h.step(40, ended(black, 40))
	h.sweep(200)
	h.expect("resolved 1 black- ack")
	h.step(330, began(silent, 300))
	h.expect("open 1 black- silent+ reopened 1")
	h.step(340, incident.Acknowledge{By: "eve"})
	want := []incident.Acknowledgement{{By: "ann", At: at(30), Severity: 1}, {By: "eve", At: at(340), Severity: 1}}
	if i := h.newest(); i.AcknowledgedBy != "eve" || !i.AcknowledgedAt.Equal(at(340)) || !slices.Equal(i.Acknowledgements, want) {
		t.Errorf("the acknowledgements are %+v, want %+v", i.Acknowledgements, want)
	}
	log := []incident.EntryKind{incident.WasOpened, incident.Acknowledged, incident.Acknowledged, incident.WasResolved, incident.WasReopened, incident.Acknowledged}
	if !slices.Equal(h.log, log) {
		t.Errorf("the log is %v, want %v", h.log, log)
	}
}

func TestAnErrorIsResolvedAfterADay(t *testing.T) {
	h := newHistory(t)
	h.step(50, incident.MonitorEnded{At: at(50), Failed: true})
	h.sweep(50 + 24*3600 - 1)
	h.expect("open 2 error+")
	h.sweep(50 + 24*3600)
	h.expect("resolved 2 error-")
}

func TestSeverityFollowsTheTable(t *testing.T) {
	type expectation map[float64]int // severity by seconds of the episode
	for _, c := range []struct {
		name  incident.Name
		rises expectation
	}{
		{incident.Late, expectation{0: 0, 599: 0, 600: 1, 1799: 1, 1800: 2, 80000: 2}},
		{black, expectation{31: 1, 119: 1, 120: 2, 599: 2, 600: 3, 80000: 3}},
		{silent, expectation{31: 1, 119: 1, 120: 2, 599: 2, 600: 3}},
		{incident.NoMedia, expectation{60: 2, 299: 2, 300: 3}},
		{incident.Blind, expectation{300: 0, 899: 0, 900: 1, 3599: 1, 3600: 2, 80000: 2}},
		{incident.Error, expectation{0: 2, 80000: 2}},
	} {
		for sec, want := range c.rises {
			h := newHistory(t)
			h.step(0, incident.Began{Condition: c.name, StartedAt: at(0), At: at(0)})
			if h.sweep(sec); h.newest().Severity != want {
				t.Errorf("%s for %v s has severity %d, want %d", c.name, sec, h.newest().Severity, want)
			}
		}
	}
	h := newHistory(t)
	h.step(130, began(black, 0), began(silent, 100))
	h.expect("open 3 black+ silent+")
	h.step(140, ended(black, 135), ended(silent, 136))
	h.sweep(1000)
	h.expect("resolved 3 black- silent-")
}

func TestAConditionKeepsTheSeverityWithWhichItBegan(t *testing.T) { // section 19.2
	h := newHistory(t)
	h.step(30, began(black, 0))
	h.sweep(700)
	h.step(730, began(silent, 700))
	h.step(740, ended(black, 740))
	expect := func(want ...int) {
		t.Helper()
		var got []int
		for _, c := range h.newest().Conditions {
			got = append(got, c.BeganSeverity)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the conditions began with %v, want %v", got, want)
		}
	}
	expect(1, 3)
	h.step(790, began(black, 760)) // its newest episode
	expect(3, 3)
	long := newHistory(t)
	long.step(150, incident.Began{Condition: black, StartedAt: at(0), At: at(150)})
	if got := long.newest().Conditions[0].BeganSeverity; got != 2 {
		t.Errorf("what lasted for 150 s when it was found began with %d, want 2", got)
	}
}

func TestAThirdDetectorHasASeverityAndACondition(t *testing.T) {
	detectortest.Add(t, detectortest.Imaginary)
	if !slices.Contains(incident.Names(), "imagined") {
		t.Errorf("the conditions are %q", incident.Names())
	}
	h := newHistory(t)
	h.take(31, []event.Event{alertOf("imaginary", 0)}, nil)
	h.expect("open 0 imagined+")
	h.sweep(60) // as its row says; the usual severity were 1 from the onset on
	h.expect("open 1 imagined+")
	h.take(80, []event.Event{recoveryOf("imaginary", 0, 75)}, nil)
	h.expect("open 1 imagined-")
}

func TestSignalsEndWhatNoEventEnds(t *testing.T) {
	outage := event.Event{Type: event.SegmentError, At: at(60), Data: event.Outage{StartedAt: at(0), Failure: event.FailedStalled}}
	blind := event.Event{Type: event.MonitorError, At: at(310), Data: event.MonitorFailure{Reason: event.ReasonBlind}}
	late := event.Event{Type: event.StreamDelayed, At: at(300), Data: event.Delayed{ScheduledStartTime: at(0), DelaySec: 300, ToleranceSec: 300}}
	lateAgain := event.Event{Type: event.StreamDelayed, At: at(490), Data: event.Delayed{ScheduledStartTime: at(190), DelaySec: 300, ToleranceSec: 300}}
	for name, c := range map[string]struct {
		events  []event.Event
		signals []monitor.Signal
		want    string
	}{
		"an outage that lasts":             {[]event.Event{outage}, []monitor.Signal{signal(trouble.NoMedia, 0, 0)}, "open 2 no_media+"},
		"an outage that has ended":         {[]event.Event{outage}, []monitor.Signal{signal(trouble.NoMedia, 0, 0), signal(trouble.NoMedia, 0, 100)}, "open 2 no_media-"},
		"an end of an earlier outage":      {[]event.Event{outage}, []monitor.Signal{{Condition: trouble.NoMedia, StartedAt: at(-500), EndedAt: at(-400)}}, "open 2 no_media+"},
		"an end after the clock was set":   {[]event.Event{outage}, []monitor.Signal{{Condition: trouble.NoMedia, StartedAt: at(0), EndedAt: at(-3000)}}, "open 2 no_media+"},
		"blindness, with its true onset":   {[]event.Event{blind}, []monitor.Signal{signal(trouble.Blind, 10, 0)}, "open 0 blind+"},
		"blindness that has ended":         {[]event.Event{blind}, []monitor.Signal{signal(trouble.Blind, 10, 0), signal(trouble.Blind, 10, 400)}, "open 0 blind-"},
		"a late start that was moved":      {[]event.Event{late}, []monitor.Signal{{Condition: trouble.Late, StartedAt: at(0), EndedAt: at(400)}}, "open 0 late-"},
		"a moved start that is late again": {[]event.Event{late, lateAgain}, []monitor.Signal{{Condition: trouble.Late, StartedAt: at(0), EndedAt: at(310)}}, "open 0 late×2+"},
		"blindness of a worker without it": {[]event.Event{blind}, nil, "open 0 blind+"},
	} {
		h := newHistory(t)
		h.take(500, c.events, c.signals)
		if got := describe(h.newest()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if changes := h.take(500, nil, c.signals); changes != 0 && name != "an end after the clock was set" {
			t.Errorf("%s: the signals change it again: %s", name, describe(h.newest()))
		}
		if b := h.newest().Conditions[0]; b.Name == incident.Blind && c.signals != nil && !b.StartedAt.Equal(at(10)) {
			t.Errorf("%s: its onset is %v", name, b.StartedAt)
		}
	}
}

func TestAnInputBelongsToTheIncidentThatItConcerns(t *testing.T) { // section 16.1
	lateResolved := []incident.Input{began(incident.Late, 0), ended(incident.Late, 100), incident.Tick{}}
	blackResolved := []incident.Input{began(black, 0), ended(black, 100), incident.Tick{}}
	blackLasts := []incident.Input{began(black, 0)}
	byOperator := []incident.Input{began(black, 0), incident.Resolve{By: "ann"}}
	failed := []incident.Input{incident.MonitorEnded{At: at(100), Failed: true}, incident.Acknowledge{By: "ann"}}
	for name, c := range map[string]struct {
		before []incident.Input
		in     incident.Input
		want   bool
	}{
		"the stream ends without trouble":                      {nil, incident.MonitorEnded{At: at(7200)}, false},
		"the stream ends hours after the resolution":           {blackResolved, incident.MonitorEnded{At: at(7200)}, false},
		"the stream ends while it is open":                     {blackLasts, incident.MonitorEnded{At: at(7200)}, true},
		"the stream starts hours after other trouble":          {blackResolved, ended(incident.Late, 7200), false},
		"the stream starts while other trouble lasts":          {blackLasts, ended(incident.Late, 7200), true},
		"the stream starts again after its delay":              {lateResolved, ended(incident.Late, 7200), true},
		"trouble opens another":                                {blackResolved, began(silent, 7200), true},
		"a repeat of an episode that is over":                  {blackResolved, began(black, 0), true},
		"the recovery from what an operator has resolved":      {byOperator, ended(black, 7200), true},
		"the recovery from other trouble after a resolution":   {byOperator, ended(silent, 7200), false},
		"the failure of a monitor that has failed is repeated": {failed, incident.MonitorEnded{At: at(100), Failed: true}, true},
	} {
		h := newHistory(t)
		h.step(200, c.before...)
		h.step(7200, c.in)
		got := h.tracker.Concerned()
		if (got != nil) != c.want || got != nil && got != h.newest() {
			t.Errorf("%s: it belongs to %s, want one: %t", name, describe(got), c.want)
		}
	}
}

// show adds a picture of second sec, and checks which is then the best one.
func (h *history) show(sec float64, p incident.Picture, best string) {
	h.t.Helper()
	p.TakenAt = at(sec)
	h.step(max(sec, 70), incident.PictureAdded{Picture: p})
	if got := h.newest().Picture; got.EvidenceID+got.Variant != best {
		h.t.Errorf("after %s of second %v the best picture is %s, want %s", p.EvidenceID+p.Variant, sec, got.EvidenceID+got.Variant, best)
	}
}

func TestTheBestPictureStays(t *testing.T) { // section 16.2
	h := newHistory(t)
	h.step(30, began(black, 0), began(incident.NoMedia, 0))
	of := func(id string, condition incident.Name, clarity float64) incident.Picture {
		return incident.Picture{EvidenceID: id, Condition: condition, Clarity: clarity}
	}
	h.show(30, of("a", black, 0.5), "a")
	h.show(40, of("b", black, 0.4), "a")
	h.show(50, of("c", black, 0.5), "c")
	h.show(35, of("d", incident.NoMedia, 0.1), "d")
	h.show(60, of("e", black, 1), "d")
	h.show(35, of("d", incident.NoMedia, 0.1), "d")
	t.Run("but evidence replaces its own", func(t *testing.T) {
		h := newHistory(t)
		h.step(30, began(silent, 0))
		h.show(1, incident.Picture{EvidenceID: "a ", Variant: "onset", Condition: silent, Clarity: 0.5}, "a onset")
		h.show(0, incident.Picture{EvidenceID: "a ", Variant: "level", Condition: silent, Clarity: 0.3}, "a level")
	})
}

func TestThePictureIsOfTheWorstCondition(t *testing.T) { // section 16.1
	for _, c := range []struct{ first, second incident.Name }{{black, silent}, {silent, black}} {
		h := newHistory(t)
		show := func(sec float64, id string, condition incident.Name, clarity float64, want string) {
			t.Helper()
			h.show(sec, incident.Picture{EvidenceID: id, Condition: condition, Clarity: clarity}, want)
		}
		h.step(30, began(c.first, 0))
		show(71, "when the first was detected", c.first, 0.2, "when the first was detected")
		h.step(700, began(c.second, 670)) // the first has severity 3, the second 1
		show(701, "when the second was detected", c.second, 1, "when the first was detected")
		h.step(710, ended(c.first, 705))
		show(711, "when the first was over", c.second, 1, "when the first was detected")
		show(1300, "when the second had severity 3", c.second, 0.4, "when the second had severity 3")
	}
}

func TestAnAcknowledgementKeepsTheSeverityOfItsTime(t *testing.T) {
	h := newHistory(t)
	h.step(30, began(black, 0))
	h.step(130, incident.Acknowledge{By: "ann"}) // no tick came at 120 s, when the severity rose
	if i := h.newest(); i.AcknowledgedSeverity != 2 {
		t.Errorf("acknowledged at severity %d, want 2", i.AcknowledgedSeverity)
	}
	h.sweep(600)
	if i := h.newest(); i.AcknowledgedSeverity != 2 || i.Severity != 3 {
		t.Errorf("severity %d, acknowledged at %d; want 3 and 2", i.Severity, i.AcknowledgedSeverity)
	}
	h.step(602, incident.Acknowledge{By: "bob"})
	h.step(604, incident.Acknowledge{By: "eve"}) // it is no worse than bob knows
	if i := h.newest(); i.AcknowledgedBy != "bob" || i.AcknowledgedSeverity != 3 {
		t.Errorf("acknowledged by %s at severity %d, want bob and 3", i.AcknowledgedBy, i.AcknowledgedSeverity)
	}
	h.step(610, ended(black, 610))
	h.step(710, began(silent, 700))
	if i := h.newest(); i.Reopened != 1 || i.AcknowledgedSeverity != 0 {
		t.Errorf("reopened %d times, acknowledged at %d; want 1 and 0", i.Reopened, i.AcknowledgedSeverity)
	}
}

func TestNoConditionGetsWorseWhileTheStreamIsBlind(t *testing.T) { // S6, 16.1
	h := newHistory(t)
	h.step(30, began(black, 0))
	h.sweep(440)
	h.step(440, began(incident.Blind, 110)) // it was told 5 minutes later: by then the black had risen at 120 s
	h.sweep(740)
	h.step(740, ended(incident.Blind, 740))
	h.sweep(2000)
	want := []rise{{120, 2}, {740 + 490, 3}} // 110 s before it, 490 s after it
	if !slices.Equal(h.rises, want) {
		t.Errorf("the severity rose at %v, want %v", h.rises, want)
	}
	if c, severity, lasts := h.newest().Conditions.Worst(at(1229)); c != black || severity != 2 || !lasts {
		t.Errorf("the worst that lasts is %s of severity %d", c, severity)
	}
	t.Run("nor in a later blindness", func(t *testing.T) {
		h := newHistory(t)
		h.step(30, began(black, 0))
		h.step(60, began(incident.Blind, 30))
		h.step(90, ended(incident.Blind, 90))
		h.step(120, began(incident.Blind, 100))
		h.sweep(500)
		h.step(500, ended(incident.Blind, 500))
		h.sweep(700)
		if want := []rise{{580, 2}}; !slices.Equal(h.rises, want) { // 40 s before it, 80 s after it
			t.Errorf("the severity rose at %v, want %v", h.rises, want)
		}
	})
}
