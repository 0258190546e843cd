package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Watcher is the state machine of one stream. Make it with New or Restore. It passes what was found
// out to its handler: answers, playlists or analyses.
type Watcher struct {
	stream
	newestSnapshot snapshotMark // of SnapshotIfDue
}

// state is everything that outlives a worker. Its JSON is the content of a
// snapshot, which a worker of another snapshotVersion does not read.
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
	Broadcast   broadcast            `json:"broadcast,omitzero"`
	Manifest    manifest             `json:"manifest"`
	Feeds       mediaFeeds           `json:"feeds,omitempty"`
	Others      otherRenditions      `json:"others,omitzero"`
	Text        captionText          `json:"text,omitzero"`
	Conditions  conditions           `json:"conditions"`
	Blind       blindness            `json:"blind"`
	Signalled   signalled            `json:"signalled,omitzero"`
	Official    official             `json:"official,omitzero"`
	NoData      noData               `json:"no_data,omitzero"`
	Paused      bool                 `json:"paused,omitempty"`
	Over        bool                 `json:"over,omitempty"`

	otherTone *detector.ToneMeasure // of the newest sample of a feed of sound alone, until the picture is judged; nil: there is none
}

// New starts a watcher at now, in Waiting Mode (section 7.1).
func New(rules Rules, now time.Time) *Watcher {
	w := &Watcher{stream: stream{
		rules:   rules,
		emitter: emitter{now: now},
		state: state{
			Status:     monitor.Initializing,
			Stream:     monitor.StreamUnknown,
			Resolve:    resolveState{NextAt: now},
			Conditions: conditions{},
			Blind:      blindness{Since: now},
		},
	}}
	w.followPause()
	return w
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
	if changed, is := o.(RulesChanged); is {
		w.rules = changed.Rules
	}
	if paused := w.followPause(); !paused || o.kind() == clockStep {
		w.take(o)
	}
	if after := w.health(now); !after.same(before) && !w.state.Over {
		w.effects = append(w.effects, after)
	}
	return w.effects
}

// take takes in an observation of a stream that is not paused, or a ClockStep.
func (w *Watcher) take(o Observation) {
	w.state.Schedule.follow(w.rules, &w.emitter) // the rules may have changed while nobody watched
	w.endSwitchedOff()
	switch o.(type) {
	case Resolution, ProbeResult, ClockStep, RulesChanged:
		w.revise() // each of them changes when the next question is due, or all times
	}
	switch o := o.(type) {
	case Resolution:
		answers{&w.stream}.handle(o)
		if w.state.monitoring() {
			w.state.Resolve.spendQuota(o.Began)
		}
	case ProbeResult:
		answers{&w.stream}.handleProbe(o)
	case Playlist:
		playlists{&w.stream}.handle(o)
	case Analysis:
		analyses{&w.stream}.handle(o)
	case RenditionLook:
		if o.Text {
			captionTexts{&w.stream}.handle(o)
		} else {
			otherRenditionLooks{&w.stream}.handle(o)
		}
	case ClockStep:
		w.handleClockStep(o)
	case RulesChanged:
		w.bringQuestionForward()
	case OfficialState:
		w.handleOfficialState(o)
	case IngestState:
		w.handleIngestState(o)
	case Tick:
	}
	w.followNoData()
	otherRenditionLooks{&w.stream}.follow()
	w.handlePassedTime()
	if !w.state.Over { // the end of the watch ends every condition
		w.state.Signalled.follow(&w.state.Blind, w.state.Feeds, w.state.NoData, &w.emitter)
	}
	if w.state.countsTime() {
		w.revise() // At has changed
	}
}

// Next returns what to find out next, at most one task for each lane. Begin
// only tasks of idle lanes, and call Next again after each Step.
func (w *Watcher) Next() []Task {
	switch {
	case w.state.Over:
		return nil
	case w.state.Paused:
		return []Task{w.pauseTask()}
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
		Broadcast:    w.state.Broadcast.ID,
		Health:       h.Health,
		Statistics:   w.state.Statistics,
		Visibility:   &v,
		Paused:       w.state.Paused,
	}
}

// handlePassedTime does what is due without any observation.
func (w *Watcher) handlePassedTime() {
	if w.state.Over {
		return
	}
	if at := w.plan().givenUpAt(); !at.IsZero() && !w.now.Before(at) {
		w.expire() // no question has been answered since
		return
	}
	if at := w.state.Blind.alertAt(); !at.IsZero() && !w.now.Before(at) {
		w.state.Blind.alert(&w.emitter)
	}
}

// wholeSeconds returns a duration as events carry it: rounded down, and never below 0.
func wholeSeconds(d time.Duration) int64 { return int64(max(0, d) / time.Second) }
