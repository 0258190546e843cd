package bench

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// NewID returns a UUIDv7.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// NewMonitor returns a monitor of a stream of its own. It is not registered yet.
func NewMonitor(callback monitor.CallbackURL, metadata string) monitor.Monitor {
	id, now := monitor.NewID(uuid.Must(uuid.NewV7())), time.Now().UTC()
	return monitor.Monitor{
		ID: id, StreamURL: monitor.StreamURL("https://www.youtube.com/watch?v=" + id[len(id)-11:]), CallbackURL: callback,
		Config: monitor.DefaultConfig(), Metadata: json.RawMessage(metadata), Status: monitor.Initializing, StreamStatus: monitor.StreamUnknown,
		Health: monitor.Health{Video: monitor.Unknown, Audio: monitor.Unknown}, Generation: 1, CreatedAt: now, UpdatedAt: now,
	}
}

// NewReport returns a report of a worker that watches.
func NewReport(events ...event.Event) monitor.Report {
	now := time.Now().UTC()
	return monitor.Report{
		Generation: 1, At: now, Status: monitor.Monitoring, StreamStatus: monitor.StreamLive,
		Health: monitor.Health{Video: monitor.OK, Audio: monitor.OK, LastCheckAt: now}, Events: events, Snapshot: json.RawMessage(`{"mode":"monitoring"}`),
	}
}

// NewStart returns the event of a stream that starts. It opens no incident.
func NewStart() event.Event {
	now := time.Now().UTC()
	return event.Event{ID: NewID(), Type: event.StreamStarted, At: now, Data: event.Started{StartedAt: now, DetectedAt: now}}
}

// NewBlackout returns an alert, which opens an incident.
func NewBlackout() event.Event {
	now := time.Now().UTC()
	return event.Event{ID: NewID(), Type: event.Blackout, At: now, Data: event.Alert{DurationSec: 30, StartedAt: now, ThresholdSec: 30}}
}
