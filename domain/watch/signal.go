package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// signalled has the onset of each episode whose begin was signalled and whose end was
// not (section 16.1). A zero onset means no such episode. Receivers identify an
// episode by its onset, so it stays when the clock is set. No episode of NoMedia lasts
// during one of Blind: nobody knows then.
type signalled struct {
	NoMedia time.Time `json:"no_media,omitzero"`
	Blind   time.Time `json:"blind,omitzero"`
}

// follow emits the begin and the end of episodes that no event ends. Of what the owner is told (noData) an episode of NoMedia
// lasts during one of Blind, too. It compares
// the state after the step with the stored onsets, so it misses no end of an outage.
// One step may alert an outage and also end it.
func (s *signalled) follow(blind *blindness, feeds mediaFeeds, none noData, e *emitter) {
	told := !none.AlertedAt.IsZero()
	switch {
	case !blind.Alerted:
		e.endSignal(trouble.Blind, &s.Blind, e.now)
	case s.Blind.IsZero():
		if !told {
			e.endSignal(trouble.NoMedia, &s.NoMedia, blind.Since)
		}
		e.beginSignal(trouble.Blind, &s.Blind, blind.Since)
	}
	if started := e.alertedOutage(); !started.IsZero() {
		e.endSignal(trouble.NoMedia, &s.NoMedia, e.now)
		e.beginSignal(trouble.NoMedia, &s.NoMedia, started)
	}
	open := feeds.longestOutage(func(f *mediaFeed) bool { return f.Outage.open() && f.Outage.Alerted })
	switch {
	case open == nil && !told, blind.Alerted && !told:
		e.endSignal(trouble.NoMedia, &s.NoMedia, e.now)
	case s.NoMedia.IsZero() && !told && !blind.Alerted: // it still lasts after the blindness
		e.beginSignal(trouble.NoMedia, &s.NoMedia, open.Since)
	}
}

// alertedOutage returns the onset of the outage that this step has alerted, or zero.
func (e *emitter) alertedOutage() time.Time {
	for _, effect := range e.effects {
		if emitted, is := effect.(EventEmitted); is {
			if outage, is := emitted.Event.Data.(event.Outage); is {
				return outage.StartedAt
			}
		}
	}
	return time.Time{}
}

// beginSignal emits the begin of an episode and stores its onset.
func (e *emitter) beginSignal(c trouble.Name, onset *time.Time, at time.Time) {
	*onset = at
	e.revise()
	e.effects = append(e.effects, SignalEmitted{monitor.Signal{Condition: c, StartedAt: at}})
}

// endSignal emits the end of the episode that began at onset, if there is one. It ended at
// at, or at its onset if that is later.
func (e *emitter) endSignal(c trouble.Name, onset *time.Time, at time.Time) {
	if onset.IsZero() {
		return
	}
	e.effects = append(e.effects, SignalEmitted{monitor.Signal{Condition: c, StartedAt: *onset, EndedAt: instant.Latest(at, *onset)}})
	e.revise()
	*onset = time.Time{}
}
