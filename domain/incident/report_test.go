package incident_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// takeWithCriteria takes in events as a gateway does, whose monitor has the default config.
func (h *history) takeWithCriteria(sec float64, events []event.Event, signals []monitor.Signal) {
	h.t.Helper()
	inputs := incident.Inputs(events, signals)
	incident.AddCriteria(inputs, monitor.DefaultConfig().Value)
	for _, found := range inputs {
		h.step(sec, found.Input)
	}
}

func withID(e event.Event, id string) event.Event { e.ID = id; return e }

func TestAConditionHasTheNumbersOfItsAlert(t *testing.T) {
	black := withID(alertOf(detector.Blackout, 0), "e1")
	black.Data = event.Alert{StartedAt: at(0), DurationSec: 31, ThresholdSec: 30}
	silent := withID(alertOf(detector.Silence, 1), "e2")
	silent.Data = event.Alert{StartedAt: at(1), DurationSec: 30, ThresholdSec: 30}
	outage := event.Event{ID: "e3", Type: event.SegmentError, At: at(90), Data: event.Outage{StartedAt: at(30), DurationSec: 60, ThresholdSec: 60, Failure: "stalled", LastError: "no new segment\x00" + strings.Repeat("é", 400)}}
	late := event.Event{ID: "e4", Type: event.StreamDelayed, At: at(310), Data: event.Delayed{ScheduledStartTime: at(0), DelaySec: 310, ToleranceSec: 300}}
	blind := event.Event{ID: "e5", Type: event.MonitorError, At: at(300), Data: event.MonitorFailure{Reason: event.ReasonBlind, ErrorDetails: "no tool answers"}}
	ended := event.Event{ID: "e6", Type: event.MonitorError, At: at(9), Data: event.MonitorFailure{Reason: event.ReasonVideoPrivate, ErrorDetails: "private", Terminal: true}}
	for _, c := range []struct {
		name    string
		events  []event.Event
		signals []monitor.Signal
		want    incident.Alert
	}{
		{"black", []event.Event{black}, nil, incident.Alert{EventID: "e1", At: at(30), DurationSec: 31, ThresholdSec: 30, Criteria: map[string]float64{"luma_below_percent": 10, "area_percent": 98}}},
		{"silent", []event.Event{silent}, nil, incident.Alert{EventID: "e2", At: at(31), DurationSec: 30, ThresholdSec: 30, Criteria: map[string]float64{"level_below_db": -50}}},
		{"no media", []event.Event{outage}, nil, incident.Alert{EventID: "e3", At: at(90), DurationSec: 60, ThresholdSec: 60, Reason: "stalled", Detail: "no new segment\ufffd" + strings.Repeat("é", 241)}},
		{"no media after its signal", []event.Event{outage}, []monitor.Signal{signal(trouble.NoMedia, 30, 0)}, incident.Alert{EventID: "e3", At: at(90), DurationSec: 60, ThresholdSec: 60, Reason: "stalled", Detail: "no new segment\ufffd" + strings.Repeat("é", 241)}},
		{"late", []event.Event{late}, nil, incident.Alert{EventID: "e4", At: at(310), DurationSec: 310, ThresholdSec: 300}},
		{"blind after its signal", []event.Event{blind}, []monitor.Signal{signal(trouble.Blind, 5, 0)}, incident.Alert{EventID: "e5", At: at(300), Reason: "blind", Detail: "no tool answers"}},
		{"error", []event.Event{ended}, nil, incident.Alert{EventID: "e6", At: at(9), Reason: "video_private", Detail: "private"}},
	} {
		h := newHistory(t)
		h.takeWithCriteria(400, c.events, c.signals)
		conditions := h.newest().Conditions
		c.want.StoredAt = at(400)
		if got := conditions[len(conditions)-1].Alert; got == nil || !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: the alert is\n%+v, want\n%+v", c.name, got, c.want)
		}
		if h.takeWithCriteria(400, c.events, c.signals); len(h.newest().Conditions) != 1 {
			t.Errorf("%s: once more made %s", c.name, describe(h.newest()))
		}
	}
}

func TestAnotherEpisodeHasItsOwnNumbers(t *testing.T) {
	h := newHistory(t)
	h.takeWithCriteria(32, []event.Event{withID(alertOf(detector.Blackout, 0), "e1")}, nil)
	h.takeWithCriteria(42, []event.Event{recoveryOf(detector.Blackout, 0, 40)}, nil)
	if a := h.newest().Conditions[0].Alert; a == nil || a.EventID != "e1" {
		t.Errorf("after the recovery the alert is %+v", a)
	}
	h.takeWithCriteria(82, []event.Event{withID(alertOf(detector.Blackout, 50), "e2")}, nil)
	if a := h.newest().Conditions[0].Alert; a == nil || a.EventID != "e2" {
		t.Errorf("the second episode has the alert %+v", a)
	}
}

func TestAnIncidentHasTheTimesOfTheClock(t *testing.T) { // section 16.1: the media's program time is 15 minutes behind
	black := withID(alertOf(detector.Blackout, 0), "e1")
	black.Data = event.Alert{StartedAt: at(-900), DurationSec: 30, ThresholdSec: 30}
	recovery := recoveryOf(detector.Blackout, -900, 60)
	recovery.Data = event.Recovered{StartedAt: at(-900), RecoveredAt: at(-840), TotalDurationSec: 60}
	h := newHistory(t)
	h.take(31, []event.Event{black}, nil)
	h.expect("open 1 black+")
	h.take(61, []event.Event{recovery}, nil)
	h.expect("open 1 black-")
	if got := spansOf(h.newest(), incident.Name("black")); got != "0-60" {
		t.Errorf("the spans are %s, want those of the clock", got)
	}
}

// takeSent takes in what a report brings that was sent at a time of its worker's clock.
func (h *history) takeSent(sec, sent float64, events []event.Event, signals ...monitor.Signal) {
	h.t.Helper()
	all := incident.Inputs(events, signals)
	incident.AdjustClock(all, at(sent), at(sec))
	for _, found := range all {
		h.step(sec, found.Input)
	}
	h.sweep(sec)
}

// A worker's clock that is 38 minutes behind made a black of 30 s a critical one of 38 minutes.
// The incident was resolved without a quiet minute, and what came again within that was told
// to nobody.
func TestAClockThatIsBehindChangesNoIncident(t *testing.T) { // section 16.1
	for _, behind := range []float64{0, 50, 61, 38 * 60, 26 * 3600} {
		t.Run((time.Duration(behind) * time.Second).String(), func(t *testing.T) {
			h := newHistory(t)
			send := func(sec float64, events []event.Event, signals ...monitor.Signal) {
				h.takeSent(sec, sec-behind, events, signals...)
			}
			send(30, []event.Event{alertOf(detector.Blackout, -behind)})
			wrong := behind
			if behind > 60 {
				wrong = 0 // by the time at which it was sent
			}
			h.expect("open 1 black+")
			if c := h.newest().Conditions[0]; !c.StartedAt.Equal(at(-wrong)) {
				t.Errorf("its onset is %v", c.StartedAt)
			}
			if wrong != 0 {
				return // less than a minute may be the way of a report
			}
			send(40, []event.Event{recoveryOf(detector.Blackout, -behind, 40-behind)})
			h.sweep(60)
			h.expect("open 1 black-")
			send(95, []event.Event{alertOf(detector.Blackout, 65-behind)})
			h.expect("open 1 black×2+")
			send(99, []event.Event{recoveryOf(detector.Blackout, 65-behind, 99-behind)})
			send(170, []event.Event{{Type: event.SegmentError, At: at(170 - behind), Data: event.Outage{StartedAt: at(110 - behind), Failure: event.FailedStalled}}}, signal(trouble.NoMedia, 110-behind, 0))
			send(200, nil, monitor.Signal{Condition: trouble.NoMedia, StartedAt: at(110 - behind), EndedAt: at(190 - behind)})
			h.sweep(260)
			h.expect("resolved 2 black×2- no_media-")
			if i := h.newest(); !i.ResolvedAt.Equal(at(250)) {
				t.Errorf("it was resolved at %v", i.ResolvedAt)
			}
		})
	}
}

func TestAPlannedStartIsByNoClockOfAWorker(t *testing.T) {
	h := newHistory(t)
	late := event.Event{Type: event.StreamDelayed, At: at(300 - 2280), Data: event.Delayed{ScheduledStartTime: at(0), DelaySec: 300, ToleranceSec: 300}}
	h.takeSent(300, 300-2280, []event.Event{late})
	h.expect("open 0 late+")
	if c := h.newest().Conditions[0]; !c.StartedAt.Equal(at(0)) {
		t.Errorf("its onset is %v", c.StartedAt)
	}
	h.takeSent(320, 320-2280, nil, monitor.Signal{Condition: trouble.Late, StartedAt: at(0), EndedAt: at(310 - 2280)})
	h.expect("open 0 late-")
}
