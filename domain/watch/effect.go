package watch

import (
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Effect is something that follows from an observation. The types of this file
// are its only implementations.
type Effect interface{ effect() }

// EventEmitted carries an event for the broadcaster. The event has no ID yet;
// the worker gives it one.
type EventEmitted struct{ Event event.Event }

// StatusChanged carries the monitor's new status (section 8.2).
type StatusChanged struct{ Status monitor.Status }

// HealthChanged carries what is known of picture, sound and stream, after a
// check or when it has changed (section 8.6).
type HealthChanged struct {
	Health monitor.Health
	Stream monitor.StreamStatus
}

// LogEntry is a line for the log. The worker adds the monitor's ID.
type LogEntry struct {
	Warn    bool // level WARN instead of INFO
	Message string
	Data    map[string]any
}

// Finished says that the watch is over; no effect follows it.
type Finished struct{}

func (EventEmitted) effect()  {}
func (StatusChanged) effect() {}
func (HealthChanged) effect() {}
func (LogEntry) effect()      {}
func (Finished) effect()      {}
