package monitor

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// Assignment is what a starting worker is given (decision O1).
type Assignment struct {
	ID         ID
	Generation int // of the worker that asks; its reports carry it
	StreamURL  StreamURL
	Config     Config
	Snapshot   json.RawMessage // of the last accepted report; empty at the first start
}

// Report is what a worker says to the gateway (section 8.6, decision O1). The
// events of one report are stored in one transaction with the rest of it, in
// order; an event whose ID is already stored is skipped.
type Report struct {
	Generation   int
	At           time.Time // when the worker made it
	Status       Status
	StreamStatus StreamStatus
	Health       Health
	Visibility   *Visibility // nil: not reported, and stays as it is
	Statistics   Statistics
	Events       []event.Event
	Snapshot     json.RawMessage
}

// MaxOvertaken is by how much a report may be older than the newest and count as
// overtaken by it. A worker does not stamp its reports back by less; what is older than that
// was made by something else, whose clock was.
const MaxOvertaken = 30 * time.Minute

// Overtaken tells whether a newer report of the same worker, made at newest, has
// overtaken this one, as one may that was halted on its way: then its events and
// the sign of life count, and nothing else of it. An end cannot be overtaken.
// Zero: there is no other.
func (r Report) Overtaken(newest time.Time, status Status) bool {
	late := newest.Sub(r.At)
	return late > 0 && late < MaxOvertaken && !r.Ends(status)
}

// ResolvedAt is when sight returned, if the report says that the worker is not
// blind. ok is false if it says nothing of that, or that it is blind.
func (r Report) ResolvedAt() (at time.Time, ok bool) {
	if r.Visibility == nil || !r.Visibility.BlindSince.IsZero() {
		return time.Time{}, false
	}
	if r.Visibility.LastObservedAt.IsZero() {
		return r.At, true
	}
	return r.Visibility.LastObservedAt, true
}

// Ends tells whether the report ends a monitor that has this status.
func (r Report) Ends(status Status) bool { return status.MayBecome(r.Status) && !r.Status.Active() }

// Order is the gateway's answer to a report: what it wants of the worker.
type Order string

// The orders of decision O1.
const (
	Run  Order = "run"
	Stop Order = "stop"
)

// ErrSuperseded answers a report or a request of an older generation: another
// worker speaks for this monitor, or it was given up together with its worker, and
// the caller exits at once (decision O2).
var ErrSuperseded = errors.New("another worker has taken over this monitor")
