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
	Statistics   Statistics
	Events       []event.Event
	Snapshot     json.RawMessage
}

// Order is the gateway's answer to a report: what it wants of the worker.
type Order string

// The orders of decision O1.
const (
	Run  Order = "run"
	Stop Order = "stop"
)

// ErrSuperseded answers a report or a request of an older generation: another
// worker speaks for this monitor, and the caller exits at once (decision O2).
var ErrSuperseded = errors.New("another worker has taken over this monitor")
