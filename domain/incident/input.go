package incident

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Input is a change that a Tracker takes in. The types of this package are its only
// implementations.
type Input interface{ input() }

// Began says that an episode of a condition has begun.
type Began struct {
	Condition Name
	StartedAt time.Time // onset
	At        time.Time // when it was detected

	// MayRepeat marks an input whose episode may be known already. A worker sends a signal
	// again until it is accepted, and the event of blindness has no onset.
	MayRepeat bool

	Alert *Alert // the numbers of its event; nil: it has no event
}

// Ended says that an episode of a condition has ended.
type Ended struct {
	Condition Name
	StartedAt time.Time // onset of that episode; zero: the one that lasts
	EndedAt   time.Time
}

// MonitorEnded says that nobody watches the stream any more. It ends every condition.
type MonitorEnded struct {
	At     time.Time
	Failed bool   // with status error
	Alert  *Alert // why it failed; nil: unknown
}

// Tick lets time alone change the incident.
type Tick struct{}

// PictureAdded says that there is a picture of the incident.
type PictureAdded struct{ Picture Picture }

func (Began) input()        {}
func (Ended) input()        {}
func (MonitorEnded) input() {}
func (Tick) input()         {}
func (PictureAdded) input() {}

// conditionIn returns the condition that an input begins or ends; empty: no single one.
func conditionIn(in Input) Name {
	switch in := in.(type) {
	case Began:
		return in.Condition
	case Ended:
		return in.Condition
	case MonitorEnded:
		if in.Failed {
			return Error
		}
	}
	return ""
}

// Found is an input and the event that it was made of.
type Found struct {
	Input   Input
	EventID string // empty: it was made of a signal

	at time.Time
}

// Inputs makes inputs of the events and signals of one report, or of one event of the
// gateway, in the order in which they happened.
func Inputs(events []event.Event, signals []monitor.Signal) []Found {
	var all []Found
	for _, e := range events {
		if in := fromEvent(e); in != nil {
			all = append(all, Found{in, e.ID, e.At})
		}
	}
	for _, s := range signals {
		if s.EndedAt.IsZero() {
			all = append(all, Found{Began{Condition: s.Condition, StartedAt: s.StartedAt, At: detectedAt(s, events), MayRepeat: true}, "", s.StartedAt})
		} else {
			all = append(all, Found{Ended{s.Condition, s.StartedAt, s.EndedAt}, "", s.EndedAt})
		}
	}
	slices.SortStableFunc(all, func(a, b Found) int { return a.at.Compare(b.at) })
	return all
}

// detectedAt is when the alert of a condition was decided whose begin is signalled, if
// its event came with the signal, else its onset.
func detectedAt(s monitor.Signal, events []event.Event) time.Time {
	for _, e := range events {
		began, is := fromEvent(e).(Began)
		if is && began.Condition == s.Condition && !e.At.Before(s.StartedAt) {
			return e.At
		}
	}
	return s.StartedAt
}

// fromEvent is what an event means for incidents; nil: nothing.
func fromEvent(e event.Event) Input {
	switch data := e.Data.(type) {
	case event.Delayed:
		return Began{Condition: Late, StartedAt: data.ScheduledStartTime, At: e.At, Alert: newAlert(e)}
	case event.Started:
		return Ended{Condition: Late, EndedAt: e.At}
	case event.Ended:
		return MonitorEnded{At: e.At}
	case event.Outage:
		return Began{Condition: NoMedia, StartedAt: data.StartedAt, At: e.At, Alert: newAlert(e)}
	case event.Alert:
		onset := e.At.Add(-time.Duration(data.DurationSec) * time.Second) // by the clock; data has the media's times
		return Began{Condition: conditionOf(e.Type), StartedAt: onset, At: e.At, Alert: newAlert(e)}
	case event.Recovered:
		return Ended{Condition: conditionOf(e.Type), EndedAt: e.At}
	case event.MonitorFailure:
		switch {
		case data.Terminal:
			return MonitorEnded{At: e.At, Failed: true, Alert: newAlert(e)}
		case e.IsBlindness():
			return Began{Condition: Blind, StartedAt: e.At, At: e.At, MayRepeat: true, Alert: newAlert(e)}
		}
	}
	return nil
}

// conditionOf is the condition of the detector that has this event.
func conditionOf(t event.Type) Name {
	for _, d := range detector.Table {
		if string(t) == d.Alert || string(t) == d.Recovered {
			return d.Condition
		}
	}
	return Name(t) // no event is valid without its detector
}
