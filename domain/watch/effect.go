package watch

import (
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Effect is what follows from an observation. The types of this file are its
// only implementations.
type Effect interface{ effect() }

// Emit says that something happened that the broadcaster wants to hear of. The
// event has no ID yet: whoever carries it out gives one.
type EventEmitted struct{ Event event.Event }

// Become says that the monitor has another status (section 8.2).
type StatusChanged struct{ Status monitor.Status }

// Health says that a check has been made or that what is known of picture,
// sound or stream has changed (section 8.6).
type HealthChanged struct {
	Health monitor.Health
	Stream monitor.StreamStatus
}

// Note is for the log, not for the broadcaster.
type LogEntry struct {
	Warn    bool
	Message string
	Data    map[string]any
}

// Finish says that the watcher is done; nothing follows.
type Finished struct{}

func (EventEmitted) effect()  {}
func (StatusChanged) effect() {}
func (HealthChanged) effect() {}
func (LogEntry) effect()      {}
func (Finished) effect()      {}
