package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Effect is one consequence of an observation. Only the types of this file
// implement it.
type Effect interface{ effect() }

// EventEmitted carries an event for the broadcaster. The event has no ID yet;
// the worker gives it one.
type EventEmitted struct{ Event event.Event }

// SignalEmitted says that a condition has begun or ended whose end has no event. It
// is for the gateway's record (section 16.1), never for receivers.
type SignalEmitted struct{ Signal monitor.Signal }

// StatusChanged carries the monitor's new status (section 8.2).
type StatusChanged struct{ Status monitor.Status }

// HealthChanged carries the health of picture, sound and stream after it changed
// (section 8.6).
type HealthChanged struct {
	Health monitor.Health
	Stream monitor.StreamStatus
}

func (h HealthChanged) same(o HealthChanged) bool {
	return h.Stream == o.Stream && h.Health.Same(o.Health)
}

// LogEntry is a line for the log. The worker adds the monitor's ID.
type LogEntry struct {
	Warn    bool // level WARN instead of INFO
	Message string
	Data    map[string]any
}

// Finished says that the watch is over. It is the last effect of a watcher.
type Finished struct{}

func (EventEmitted) effect()  {}
func (SignalEmitted) effect() {}
func (StatusChanged) effect() {}
func (HealthChanged) effect() {}
func (LogEntry) effect()      {}
func (Finished) effect()      {}

// emitter collects the effects of one step, in their order.
type emitter struct {
	now     time.Time // of the step
	effects []Effect

	// revision counts the changes of what a successor cannot learn from its first reading of
	// the playlist. Each change of such a part of the state advances it.
	revision int
}

func (e *emitter) revise() { e.revision++ }

func (e *emitter) emit(t event.Type, d event.Data) {
	e.revise() // a successor must not emit it again
	e.effects = append(e.effects, EventEmitted{event.Event{Type: t, At: e.now, Data: d}})
}

func (e *emitter) logWarn(message string, data map[string]any) {
	e.effects = append(e.effects, LogEntry{Warn: true, Message: message, Data: data})
}

func (e *emitter) logInfo(message string, data map[string]any) {
	e.effects = append(e.effects, LogEntry{Message: message, Data: data})
}
