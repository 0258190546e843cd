package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Watcher is the state machine of one stream. Make it with New or Restore.
type Watcher struct {
	rules Rules
	state state

	now     time.Time // of the present step
	effects []Effect  // of the present step
}

// state is everything that outlives a worker. Its JSON is the content of a
// snapshot, so the names in its tags do not change without snapshotVersion.
type state struct {
	At          time.Time            `json:"at,omitzero"` // of the last step
	Status      monitor.Status       `json:"status"`
	Stream      monitor.StreamStatus `json:"stream"`
	Statistics  monitor.Statistics   `json:"statistics"`
	StartedAt   time.Time            `json:"started_at,omitzero"` // of the stream; zero: it was never seen live
	LastCheckAt time.Time            `json:"last_check,omitzero"` // when a segment was last analysed
	OddSegments int                  `json:"odd_segments,omitempty"`
	Schedule    schedule             `json:"schedule"`
	Resolve     resolveState         `json:"asking"`
	Manifest    manifest             `json:"manifest"`
	Feeds       []*feed              `json:"feeds,omitempty"`
	Conditions  conditions           `json:"conditions"`
	Blind       blindness            `json:"blind"`
	Over        bool                 `json:"over,omitempty"`
}

// New starts a watcher at now, in Waiting Mode (section 7.1).
func New(rules Rules, now time.Time) *Watcher {
	return &Watcher{
		rules: rules,
		now:   now,
		state: state{
			Status:     monitor.Initializing,
			Stream:     monitor.StreamUnknown,
			Resolve:    resolveState{Next: now},
			Conditions: conditions{},
			Blind:      blindness{Since: now},
		},
	}
}

// Step takes in an observation that was made by now and returns what follows
// from it. An observation that answers no task of the present changes nothing.
// After Finished no observation does. Times never decrease from one step to the
// next, except at a ClockStep.
func (w *Watcher) Step(now time.Time, o Observation) []Effect {
	if w.state.Over {
		return nil
	}
	w.now, w.effects = now, nil
	w.state.At = now
	before := w.health()
	switch o := o.(type) {
	case Resolution:
		w.resolved(o)
	case ProbeResult:
		w.probed(o)
	case Playlist:
		w.readPlaylist(o)
	case Analysis:
		w.analysed(o)
	case ClockStep:
		w.stepClock(o)
	case Tick:
	}
	w.passTime()
	if after := w.health(); after != before && !w.state.Over {
		w.effects = append(w.effects, after)
	}
	return w.effects
}

// Report returns the present state as a worker reports it (section 8.6),
// without generation, time, events and snapshot.
func (w *Watcher) Report() monitor.Report {
	h := w.health()
	return monitor.Report{
		Status:       w.state.Status,
		StreamStatus: h.Stream,
		Health:       h.Health,
		Statistics:   w.state.Statistics,
	}
}

// passTime does what follows from time alone.
func (w *Watcher) passTime() {
	if w.state.Over {
		return
	}
	if at := w.expiresAt(); !at.IsZero() && !w.now.Before(at.Add(blindLimit)) {
		w.expire() // no question has been answered since
		return
	}
	if at := w.state.Blind.alertAt(); !at.IsZero() && !w.now.Before(at) {
		w.alertBlindness()
	}
}

// wakeAt is the earliest moment at which something follows from time alone.
func (w *Watcher) wakeAt() time.Time {
	at := w.state.Blind.alertAt()
	if e := w.expiresAt(); !e.IsZero() {
		at = earliest(at, e.Add(blindLimit))
	}
	return at
}

func (w *Watcher) monitoring() bool { return w.state.Status == monitor.Monitoring }

// start enters Monitoring Mode (sections 7.1, 7.5).
func (w *Watcher) start(startedAt time.Time) {
	if startedAt.IsZero() || startedAt.After(w.now) {
		startedAt = w.now
	}
	w.state.StartedAt = startedAt
	w.state.Stream = monitor.StreamLive
	w.setStatus(monitor.Monitoring)
	data := event.Started{StartedAt: startedAt, DetectedAt: w.now}
	if scheduled := w.rules.ScheduledStart; !scheduled.IsZero() {
		delay := max(0, wholeSeconds(startedAt.Sub(scheduled)))
		data.ScheduledStartTime, data.DelaySec = &scheduled, &delay
	}
	w.emit(event.StreamStarted, data)
}

// end ends the watch because the stream has ended (section 7.6).
func (w *Watcher) end(reason string) {
	at := w.now
	if last := w.mediaEnd(); last.Before(at) && last.After(w.state.StartedAt) {
		at = last
	}
	data := event.Ended{EndedAt: at, Reason: reason}
	if !w.state.StartedAt.IsZero() {
		data.DurationSec = wholeSeconds(max(0, at.Sub(w.state.StartedAt))) // the clock may have been set back
	}
	w.state.Stream = monitor.StreamEnded
	w.emit(event.StreamEnded, data)
	w.finish(monitor.Completed)
}

// fail ends the watch because the stream cannot be watched (section 7.2).
func (w *Watcher) fail(reason, details string) {
	if details == "" {
		details = "no further reason is given"
	}
	w.emit(event.MonitorError, event.MonitorFailure{Reason: reason, ErrorDetails: details, Terminal: true})
	w.finish(monitor.Failed)
}

func (w *Watcher) finish(s monitor.Status) {
	w.setStatus(s)
	w.state.Over = true
	w.effects = append(w.effects, Finished{})
}

func (w *Watcher) setStatus(s monitor.Status) {
	if w.state.Status == s {
		return
	}
	w.state.Status = s
	w.effects = append(w.effects, StatusChanged{s})
}

func (w *Watcher) emit(t event.Type, d event.Data) {
	w.effects = append(w.effects, EventEmitted{event.Event{Type: t, At: w.now, Data: d}})
}

func (w *Watcher) logWarn(message string, data map[string]any) { w.log(true, message, data) }
func (w *Watcher) logInfo(message string, data map[string]any) { w.log(false, message, data) }

func (w *Watcher) log(warn bool, message string, data map[string]any) {
	w.effects = append(w.effects, LogEntry{Warn: warn, Message: message, Data: data})
}

// learned records that the stream's state or new media were observed.
func (w *Watcher) learned() {
	w.state.Resolve.Missing = 0
	if blind := w.state.Blind.learned(w.now); blind > 0 {
		w.logInfo("The stream can be observed again", map[string]any{"blind_sec": wholeSeconds(blind)})
	}
}

// earliest returns the earlier of two times, of which either may be zero for
// never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// wholeSeconds returns a duration as events carry it, never more than has passed.
func wholeSeconds(d time.Duration) int64 { return int64(d / time.Second) }
