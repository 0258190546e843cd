package monitor

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// MaxPause is how far ahead the end of a pause may be.
const MaxPause = 7 * 24 * time.Hour

// Pause is a time in which nobody looks at the stream of an active monitor (section 16.9). The zero value means that it is watched.
type Pause struct {
	Until time.Time
	By    string // who asked for it; empty: unknown
}

// CheckPause refuses an end that is not in the future, or more than MaxPause ahead, as InvalidConfig.
func CheckPause(until, now time.Time) error {
	if until.After(now) && !until.After(now.Add(MaxPause)) {
		return nil
	}
	return FieldErrorf("paused_until", "is %s; accepted is a time in the future, at most 7 days ahead (%s), or null, which ends the pause",
		until.UTC().Format(time.RFC3339), now.Add(MaxPause).UTC().Format(time.RFC3339))
}

// PauseReport returns the report that a gateway makes in place of the worker when a pause begins or is ended. It says that nobody
// looks from at on, or that nothing is known yet.
func (m Monitor) PauseReport(at time.Time) Report {
	r := Report{At: at, Health: m.Health, Visibility: &m.Visibility}.InPause(at)
	r.Paused = !m.Pause.Until.IsZero()
	return r
}

// InPause returns the report as it counts in a pause that began at since. Events from before count, and any start or end of the
// stream or of the watch. No trouble begins or ends any more, and nothing is known of the media.
func (r Report) InPause(since time.Time) Report {
	health := Health{Video: Unknown, Audio: Unknown, LastCheckAt: r.Health.LastCheckAt}
	if r.Health.Video == NoTrack {
		health.Video = NoTrack
	}
	if r.Visibility != nil {
		r.Visibility = &Visibility{LastObservedAt: r.Visibility.LastObservedAt}
	}
	r.Paused, r.Health, r.Signals = true, health, nil
	r.Events = slices.DeleteFunc(slices.Clone(r.Events), func(e event.Event) bool {
		failure, is := e.Data.(event.MonitorFailure)
		return !e.At.Before(since) && e.Type != event.StreamStarted && e.Type != event.StreamEnded && (!is || !failure.Terminal)
	})
	return r
}
