package incident_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

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
