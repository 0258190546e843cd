package monitor

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// Assignment is the work of a starting worker (decision O1).
type Assignment struct {
	ID         ID
	Generation int // of the worker that asks; its reports carry it
	Revision   int // of Config, see Monitor.Revision
	StreamURL  StreamURL
	Config     Config
	Snapshot   json.RawMessage // the newest of an accepted report; empty at the first start
}

// Report is the report of a worker to the gateway (section 8.6, decision O1). The
// gateway stores it in one transaction, its events in order. It skips an event
// whose ID is stored already.
type Report struct {
	Generation   int
	At           time.Time // when the worker made it
	SentAt       time.Time // when this attempt was sent, by the same clock; zero: the gateway's clock is the worker's
	Status       Status
	StreamStatus StreamStatus
	Health       Health
	Visibility   *Visibility // nil: not reported, and stays as it is
	Statistics   Statistics
	Events       []event.Event
	Signals      []Signal        // in the order in which they were found
	Minutes      []Minute        // measured since the last accepted report; one may be reported again as it grows
	Snapshot     json.RawMessage // empty: not reported, and stays as it is
}

// SignalCondition is a condition whose end has no event (section 16.1).
type SignalCondition string

// The conditions of signals.
const (
	NoMedia SignalCondition = "no_media" // alert.segment_error has been sent (section 6.6)
	Blind   SignalCondition = "blind"    // monitor.error of reason blind has been sent (decision S15)
	Late    SignalCondition = "late"     // stream.delayed has been sent (section 7.3); signalled only if the start is moved (section 16.6)
)

// Signal says that a condition has begun or ended whose end has no event of its own.
// It is for the record only; receivers of webhooks never see it. The worker repeats it
// until the gateway has stored it, so it may come twice.
type Signal struct {
	Condition SignalCondition `json:"condition"`
	StartedAt time.Time       `json:"started_at"`        // onset; it identifies the episode, and does not move when a clock is set
	EndedAt   time.Time       `json:"ended_at,omitzero"` // zero: the condition has begun
}

// Valid reports an unknown condition or a time that ValidTime refuses.
func (s Signal) Valid() error {
	if s.Condition != NoMedia && s.Condition != Blind && s.Condition != Late {
		return Errorf(InvalidConfig, "the signal's condition is %.40q; accepted are %s, %s and %s", s.Condition, NoMedia, Blind, Late)
	}
	if err := ValidTime("started_at", s.StartedAt); err != nil || s.EndedAt.IsZero() {
		return err
	}
	return ValidTime("ended_at", s.EndedAt)
}

// MaxOvertaken limits how much older than the newest report an overtaken report is.
// A report that is older still is accepted: its worker's clock has been set back.
const MaxOvertaken = 30 * time.Minute

// Overtaken reports whether a newer report of the same worker, made at newest, was
// stored before this one, which was delayed on its way. Only the events of an
// overtaken report are stored. A report that ends the monitor is never overtaken. A
// zero newest means that no other report is stored.
func (r Report) Overtaken(newest time.Time, status Status) bool {
	late := newest.Sub(r.At)
	return late > 0 && late < MaxOvertaken && !r.Ends(status)
}

// ResolvedAt is when sight returned, according to a report of a worker that is not
// blind. ok is false if the worker is blind or the report has no visibility.
func (r Report) ResolvedAt() (at time.Time, ok bool) {
	if r.Visibility == nil || !r.Visibility.BlindSince.IsZero() {
		return time.Time{}, false
	}
	if r.Visibility.LastObservedAt.IsZero() {
		return r.At, true
	}
	return r.Visibility.LastObservedAt, true
}

// Ends reports whether the report ends a monitor that has this status.
func (r Report) Ends(status Status) bool { return status.MayBecome(r.Status) && !r.Status.Active() }

// Answer is the gateway's answer to a report.
type Answer struct {
	Order           Order
	Revision        int  // the newest of the monitor; a worker with an older one requests its assignment again
	ThumbnailWanted bool // a page shows this monitor: the worker uploads thumbnails until an answer says otherwise
}

// Order says whether a worker goes on.
type Order string

// The orders of decision O1.
const (
	Run  Order = "run"  // go on
	Stop Order = "stop" // exit
)

// ErrSuperseded refuses a report or a request of an older generation. Another
// worker has the monitor, or the monitor was given up; the caller exits at once
// (decision O2).
var ErrSuperseded = errors.New("another worker has taken over this monitor")
