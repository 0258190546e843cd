package watch

import (
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// blindness is the time in which nothing can be learned, neither the stream's
// state nor anything of its media (decision S15). Times are the clock's.
type blindness struct {
	Since        time.Time `json:"since"`                // when something was last learned, or the watch began
	ObservedAt   time.Time `json:"observed,omitzero"`    // when something was last learned; zero: never
	Alerted      bool      `json:"told,omitempty"`       // monitor.error has been emitted for this episode
	LastError    string    `json:"last_error,omitempty"` // the newest failure since then; empty: none
	UnansweredAt time.Time `json:"in_vain,omitzero"`     // when the latest question came back without an answer
	ResumedAt    time.Time `json:"resumed,omitzero"`     // when a successor took over while it lasted
}

// Visibility says whether the watcher can observe its stream.
type Visibility struct {
	LastError      string    // the newest failure that has not been made good, one line; empty: there is none
	BlindSince     time.Time // from when on nothing could be learned; zero unless blindness was alerted (decision S15)
	LastObservedAt time.Time // when the stream's state or new media were last learned; zero: never
}

// Visibility reports what the watcher can observe at present.
func (w *Watcher) Visibility() Visibility {
	b := w.state.Blind
	v := Visibility{LastError: w.lastError(), LastObservedAt: b.ObservedAt}
	if b.Alerted {
		v.BlindSince = b.Since
	}
	return v
}

// lastError is the newest failure: of the time in which nothing was learned,
// else of the longest outage, else of the last question.
func (w *Watcher) lastError() string {
	if w.state.Blind.LastError != "" {
		return w.state.Blind.LastError
	}
	var first *outage
	for _, f := range w.state.Feeds {
		if o := &f.Outage; o.open() && (first == nil || o.Since.Before(first.Since)) {
			first = o
		}
	}
	if first != nil {
		return first.LastError
	}
	return w.state.Resolve.LastError
}

// unanswered records a question that came back without an answer.
func (b *blindness) unanswered(now time.Time, err string) { b.UnansweredAt, b.LastError = now, err }

// learned ends an episode. It returns how long the episode lasted if it was
// alerted, and zero otherwise.
func (b *blindness) learned(now time.Time) (blind time.Duration) {
	if b.Alerted {
		blind = now.Sub(b.Since)
	}
	*b = blindness{Since: now, ObservedAt: now}
	return blind
}

// resume has a successor go on at now, after a time in which nobody watched. If
// the last attempts had failed and the successor's fail too, nothing could be
// learned in between either. Otherwise that time does not count.
func (b *blindness) resume(now time.Time, unwatched time.Duration) {
	if b.Alerted {
		return
	}
	b.ResumedAt = now
	if b.LastError != "" {
		return
	}
	if b.Since = b.Since.Add(unwatched); b.Since.After(now) {
		b.Since = now
	}
}

// dueAt is when the episode reaches its limit; zero once it was alerted. Both
// lanes try once more at that moment.
func (b *blindness) dueAt() time.Time {
	if b.Alerted {
		return time.Time{}
	}
	return b.Since.Add(blindLimit)
}

// alertAt is when to alert: once a question comes back unanswered after dueAt,
// and after a successor took over. If no question comes back, it is blindPatience
// later. Media that fail meanwhile decide nothing, because an answer may be under
// way (decision S20).
func (b *blindness) alertAt() time.Time {
	due := b.dueAt()
	if due.IsZero() {
		return due
	}
	if b.ResumedAt.After(due) {
		due = b.ResumedAt
	}
	if !b.UnansweredAt.Before(due) {
		return due
	}
	return due.Add(blindPatience)
}

// alert gives the event of decision S15, once per episode.
func (b *blindness) alert(now time.Time) event.MonitorFailure {
	b.Alerted = true
	detail := b.LastError
	if detail == "" {
		detail = "no answer yet"
	}
	return event.MonitorFailure{
		Reason:       event.ReasonBlind,
		ErrorDetails: fmt.Sprintf("nothing could be learned of the stream or its media for %d seconds: %s", wholeSeconds(now.Sub(b.Since)), detail),
		Terminal:     false,
	}
}

// alertBlindness emits monitor.error and logs it.
func (w *Watcher) alertBlindness() {
	b := &w.state.Blind
	w.emit(event.MonitorError, b.alert(w.now))
	w.logWarn("The stream cannot be observed", map[string]any{
		"error": b.LastError, "blind_since": b.Since, "duration_sec": wholeSeconds(w.now.Sub(b.Since)),
	})
}
