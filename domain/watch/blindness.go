package watch

import (
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// blindness is the time in which nothing could be learned, neither of the
// stream's state nor of its media (decision S15).
type blindness struct {
	Since   time.Time `json:"since"` // when something was last learned
	Told    bool      `json:"told,omitempty"`
	LastErr string    `json:"last_error,omitempty"`
	InVain  time.Time `json:"in_vain,omitzero"` // when a question last came back unanswered
}

// unanswered takes note of a question asked in vain.
func (b *blindness) unanswered(now time.Time, err string) { b.InVain, b.LastErr = now, err }

// learned ends an episode; it reports whether one had been told.
func (b *blindness) learned(now time.Time) (wasBlind bool) {
	wasBlind = b.Told
	*b = blindness{Since: now}
	return wasBlind
}

// dueAt is when the watcher will have been blind for long enough; zero when it
// has been told. What can be tried is tried once more then.
func (b *blindness) dueAt() time.Time {
	if b.Told {
		return time.Time{}
	}
	return b.Since.Add(blindLimit)
}

// tellAt is when to tell: as soon as a question has come back unanswered after
// dueAt, or when none has come back for the patience beyond it. Media that fail
// meanwhile decide nothing: the answer may be under way.
func (b *blindness) tellAt() time.Time {
	due := b.dueAt()
	if due.IsZero() || !b.InVain.Before(due) {
		return due
	}
	return due.Add(blindPatience)
}

// tell gives the event, once per episode.
func (b *blindness) tell(now time.Time) event.Trouble {
	b.Told = true
	detail := b.LastErr
	if detail == "" {
		detail = "no answer yet"
	}
	return event.Trouble{
		Reason:       event.ReasonBlind,
		ErrorDetails: fmt.Sprintf("nothing could be learned of the stream or its media for %d seconds: %s", whole(now.Sub(b.Since)), detail),
		Terminal:     false,
	}
}
