package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Watcher is the state machine of one stream. Make it with New or Restore. It
// dispatches observations to the handlers that decide across the parts of the
// state; each part decides what needs no other.
type Watcher struct {
	rules Rules
	state state
	emitter

	newestSnapshot snapshotMark // of SnapshotIfDue
}

// state is everything that outlives a worker. Its JSON is the content of a
// snapshot, so a tag changes only together with snapshotVersion.
type state struct {
	At          time.Time            `json:"at,omitzero"` // of the last step
	Status      monitor.Status       `json:"status"`
	Stream      monitor.StreamStatus `json:"stream"`
	Statistics  monitor.Statistics   `json:"statistics"`
	StartedAt   time.Time            `json:"started_at,omitzero"`    // of the stream; zero: it was never seen live
	LastCheckAt time.Time            `json:"last_check_at,omitzero"` // when a segment was last analysed
	OddSegments int                  `json:"odd_segments,omitempty"` // far shorter or longer than the target duration (S10)
	Defects     []string             `json:"defects,omitempty"`      // of playlists, that were logged
	Schedule    schedule             `json:"schedule"`
	Resolve     resolveState         `json:"resolve"`
	Manifest    manifest             `json:"manifest"`
	Feeds       mediaFeeds           `json:"feeds,omitempty"`
	Conditions  conditions           `json:"conditions"`
	Blind       blindness            `json:"blind"`
	Signalled   signalled            `json:"signalled,omitzero"`
	Over        bool                 `json:"over,omitempty"`
}

// New starts a watcher at now, in Waiting Mode (section 7.1).
func New(rules Rules, now time.Time) *Watcher {
	return &Watcher{
		rules:   rules,
		emitter: emitter{now: now},
		state: state{
			Status:     monitor.Initializing,
			Stream:     monitor.StreamUnknown,
			Resolve:    resolveState{NextAt: now},
			Conditions: conditions{},
			Blind:      blindness{Since: now},
		},
	}
}

// Step takes in an observation and returns its effects. The observation was
// finished at now. An observation that answers no current task changes nothing,
// and neither does any observation after Finished. Times never decrease from one
// step to the next, except at a ClockStep.
func (w *Watcher) Step(now time.Time, o Observation) []Effect {
	if w.state.Over {
		return nil
	}
	w.emitter = emitter{now: now, revision: w.revision}
	before := w.health(w.state.At) // as it was reported, because time alone changes it
	w.state.At = now
	w.state.Schedule.follow(w.rules, &w.emitter) // the start may have been moved while nobody watched
	switch o.(type) {
	case Resolution, OEmbedResult, ClockStep, RulesChanged:
		w.revise() // each of them changes when the next question is due, or all times
	}
	switch o := o.(type) {
	case Resolution:
		w.handleResolution(o)
		if w.state.monitoring() {
			w.state.Resolve.spendQuota(o.Began)
		}
	case OEmbedResult:
		w.handleOEmbed(o)
	case Playlist:
		w.handlePlaylist(o)
	case Analysis:
		w.handleAnalysis(o)
	case ClockStep:
		w.handleClockStep(o)
	case RulesChanged:
		w.handleRulesChanged(o)
	case Tick:
	}
	w.handlePassedTime()
	if !w.state.Over { // the end of the watch ends every condition
		w.emitSignals()
	}
	if w.state.countsTime() {
		w.revise() // At has changed
	}
	if after := w.health(now); after != before && !w.state.Over {
		w.effects = append(w.effects, after)
	}
	return w.effects
}

// Next returns what to find out next, at most one task for each lane. Begin
// only tasks of idle lanes, and call Next again after each Step.
func (w *Watcher) Next() []Task {
	if w.state.Over {
		return nil
	}
	return w.plan().tasks()
}

// Report returns the present state as a worker reports it (section 8.6),
// without generation, time, events and snapshot.
func (w *Watcher) Report() monitor.Report {
	h, v := w.health(w.now), w.visibility()
	return monitor.Report{
		Status:       w.state.Status,
		StreamStatus: h.Stream,
		Health:       h.Health,
		Statistics:   w.state.Statistics,
		Visibility:   &v,
	}
}

func (w *Watcher) plan() planner { return planner{w.rules, &w.state, w.now} }

// handlePassedTime does what is due without any observation.
func (w *Watcher) handlePassedTime() {
	if w.state.Over {
		return
	}
	if at := w.plan().expiresAt(); !at.IsZero() && !w.now.Before(at.Add(blindLimit)) {
		w.expire() // no question has been answered since
		return
	}
	if at := w.state.Blind.alertAt(); !at.IsZero() && !w.now.Before(at) {
		w.state.Blind.alert(&w.emitter)
	}
}

// recordObserved records that the stream's state or new media were observed.
func (w *Watcher) recordObserved() {
	if w.state.Resolve.MissingCount > 0 {
		w.revise()
	}
	w.state.Resolve.MissingCount = 0
	if w.state.Blind.Alerted || w.state.Blind.Refused {
		w.dropBlindTime()
	}
	w.state.Blind.end(&w.emitter)
}

func (s *state) monitoring() bool { return s.Status == monitor.Monitoring }

// start enters Monitoring Mode (sections 7.1, 7.5).
func (w *Watcher) start(startedAt time.Time) {
	if startedAt.IsZero() || startedAt.After(w.now) {
		startedAt = w.now
	}
	w.state.StartedAt, w.state.Resolve.Claim = startedAt, claim{}
	w.state.Schedule = schedule{} // stream.started ends the lateness
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
	if last := w.state.Feeds.mediaEnd(); last.Before(at) && last.After(w.state.StartedAt) {
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

// expire ends the watch of a stream that never went live (decision A10).
func (w *Watcher) expire() {
	w.fail(event.ReasonReservationExpired, "the stream had not started by its scheduled end and the tolerance after it")
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
	w.revise()
	w.effects = append(w.effects, StatusChanged{s})
}

// wholeSeconds returns a duration as events carry it: rounded down, and never below 0.
func wholeSeconds(d time.Duration) int64 { return int64(max(0, d) / time.Second) }
