package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Watcher is the state machine of one stream. Make it with New or Restore.
type Watcher struct {
	rules Rules
	life  life

	now     time.Time // of the present step
	effects []Effect  // of the present step
}

// life is everything that outlives a worker: the content of a Snapshot.
type life struct {
	At         time.Time            `json:"at,omitzero"` // of the last step
	Status     monitor.Status       `json:"status"`
	Stream     monitor.StreamStatus `json:"stream"`
	Statistics monitor.Statistics   `json:"statistics"`
	StartedAt  time.Time            `json:"started_at,omitzero"` // of the stream; zero: never seen live
	LastCheck  time.Time            `json:"last_check,omitzero"`
	Odd        int                  `json:"odd_segments,omitempty"` // segments of a strange length (S10)
	Schedule   schedule             `json:"schedule"`
	Asking     asking               `json:"asking"`
	Manifest   manifest             `json:"manifest"`
	Feeds      []*feed              `json:"feeds,omitempty"`
	Conditions conditions           `json:"conditions"`
	Blind      blindness            `json:"blind"`
	Over       bool                 `json:"over,omitempty"`
}

// New starts a watcher at now, in Waiting Mode (section 7.1).
func New(rules Rules, now time.Time) *Watcher {
	return &Watcher{
		rules: rules,
		now:   now,
		life: life{
			Status:     monitor.Initializing,
			Stream:     monitor.StreamUnknown,
			Asking:     asking{Next: now},
			Blind:      blindness{Since: now},
			Conditions: conditions{},
		},
	}
}

// Next is what to find out next: at most one task for each lane. Only the
// tasks of idle lanes are to be begun; after each Step, ask again.
func (w *Watcher) Next() []Task {
	if w.life.Over {
		return nil
	}
	tasks := []Task{w.nextResolving()}
	if t, ok := w.nextMedia(); ok {
		tasks = append(tasks, t)
	}
	if at := w.wakeAt(); !at.IsZero() {
		tasks = append(tasks, Task{Kind: TaskWake, At: at})
	}
	return tasks
}

// Step takes in an observation made by now and gives what follows from it. An
// observation that nobody waits for any more changes nothing; after Finish,
// none does. Times never go backwards from one step to the next, but with a
// ClockStep that says so.
func (w *Watcher) Step(now time.Time, o Observation) []Effect {
	if w.life.Over {
		return nil
	}
	w.now, w.effects = now, nil
	w.life.At = now
	before := w.health()
	switch o := o.(type) {
	case Resolution:
		w.resolved(o)
	case ProbeResult:
		w.probed(o)
	case Playlist:
		w.read(o)
	case Analysis:
		w.analysed(o)
	case ClockStep:
		w.stepClock(o)
	case Tick:
	}
	w.passTime()
	if after := w.health(); after != before && !w.life.Over {
		w.effects = append(w.effects, after)
	}
	return w.effects
}

// Report is the present state as a worker reports it (section 8.6), without
// generation and events.
func (w *Watcher) Report() monitor.Report {
	h := w.health()
	return monitor.Report{
		Status:       w.life.Status,
		StreamStatus: h.Stream,
		Health:       h.Health,
		Statistics:   w.life.Statistics,
	}
}

// passTime does what time alone brings about.
func (w *Watcher) passTime() {
	if w.life.Over {
		return
	}
	if at := w.expiresAt(); !at.IsZero() && !w.now.Before(at.Add(blindLimit)) {
		w.expire() // nobody has answered since
		return
	}
	if at := w.life.Blind.alertAt(); !at.IsZero() && !w.now.Before(at) {
		w.alertBlindness()
	}
}

// wakeAt is the earliest moment at which time alone brings something about.
func (w *Watcher) wakeAt() time.Time {
	at := w.life.Blind.alertAt()
	if e := w.expiresAt(); !e.IsZero() {
		at = earliest(at, e.Add(blindLimit))
	}
	return at
}

func (w *Watcher) expiresAt() time.Time {
	if w.monitoring() {
		return time.Time{}
	}
	return w.life.Schedule.expires(w.rules)
}

// expire is the end of a reservation whose stream never went live (decision A10).
func (w *Watcher) expire() {
	w.fail(event.ReasonReservationExpired, "the stream had not started by its scheduled end and the tolerance after it")
}

func (w *Watcher) monitoring() bool { return w.life.Status == monitor.Monitoring }

// start enters Monitoring Mode (sections 7.1, 7.5).
func (w *Watcher) start(startedAt time.Time) {
	if startedAt.IsZero() || startedAt.After(w.now) {
		startedAt = w.now
	}
	w.life.StartedAt = startedAt
	w.life.Stream = monitor.StreamLive
	w.become(monitor.Monitoring)
	data := event.Started{StartedAt: startedAt, DetectedAt: w.now}
	if scheduled := w.rules.ScheduledStart; !scheduled.IsZero() {
		delay := max(0, whole(startedAt.Sub(scheduled)))
		data.ScheduledStartTime, data.DelaySec = &scheduled, &delay
	}
	w.emit(event.StreamStarted, data)
}

// end is the end of the stream (section 7.6).
func (w *Watcher) end(reason string) {
	at := w.now
	if last := w.lastMedia(); last.Before(at) && last.After(w.life.StartedAt) {
		at = last
	}
	data := event.Ended{EndedAt: at, Reason: reason}
	if !w.life.StartedAt.IsZero() {
		data.DurationSec = whole(max(0, at.Sub(w.life.StartedAt))) // a clock may have been set back
	}
	w.life.Stream = monitor.StreamEnded
	w.emit(event.StreamEnded, data)
	w.finish(monitor.Completed)
}

// fail is the end of the watch, with the stream's state unknown or hopeless
// (section 7.2).
func (w *Watcher) fail(reason, details string) {
	if details == "" {
		details = "YouTube gives no further reason" // a video that is no stream is no error to it
	}
	w.emit(event.MonitorError, event.Trouble{Reason: reason, ErrorDetails: details, Terminal: true})
	w.finish(monitor.Failed)
}

func (w *Watcher) finish(s monitor.Status) {
	w.become(s)
	w.life.Over = true
	w.effects = append(w.effects, Finished{})
}

func (w *Watcher) become(s monitor.Status) {
	if w.life.Status == s {
		return
	}
	w.life.Status = s
	w.effects = append(w.effects, StatusChanged{s})
}

func (w *Watcher) emit(t event.Type, d event.Data) {
	w.effects = append(w.effects, EventEmitted{event.Event{Type: t, At: w.now, Data: d}})
}

func (w *Watcher) note(warn bool, message string, data map[string]any) {
	w.effects = append(w.effects, LogEntry{Warn: warn, Message: message, Data: data})
}

// learned takes note that something was found out.
func (w *Watcher) learned() {
	w.life.Asking.Missing = 0
	if blind := w.life.Blind.learned(w.now); blind > 0 {
		w.note(false, "The stream can be observed again", map[string]any{"blind_sec": whole(blind)})
	}
}

// earliest is the earlier of two times of which either may be zero for never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
