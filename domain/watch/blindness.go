package watch

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// blindness is a time in which the watcher learns nothing, neither the stream's
// state nor anything of its media (decision S15). Times are the clock's.
type blindness struct {
	Since      time.Time `json:"since"`                // when something was last learned, or the watch began
	ObservedAt time.Time `json:"observed_at,omitzero"` // when something was last learned; zero: never
	Alerted    bool      `json:"alerted,omitempty"`    // monitor.error has been emitted for this blindness
	LastError  string    `json:"last_error,omitempty"` // the newest failure after Since; empty: none

	// Class and Egress are those of the latest question that was asked and not answered.
	Class  monitor.UnseenClass `json:"class,omitempty"`
	Egress string              `json:"egress,omitempty"`

	UnansweredAt time.Time `json:"unanswered_at,omitzero"` // when the latest question came back without an answer
	ResumedAt    time.Time `json:"resumed_at,omitzero"`    // when a successor took over during this blindness
	Refused      bool      `json:"refused,omitempty"`      // the source has refused the question and all media since
}

// visibility returns what the watcher can observe at present.
func (w *Watcher) visibility() monitor.Visibility {
	s := &w.state
	v := monitor.Visibility{LastError: s.lastError(), LastObservedAt: s.Blind.ObservedAt}
	if s.Blind.Alerted {
		v.BlindSince = s.Blind.Since
	}
	if s.Blind.unseen(w.now, w.unseenLimit()) {
		v.Unseen = monitor.Unseen{Since: s.Blind.Since, Class: cmp.Or(s.Blind.Class, monitor.OtherUnseen), Egress: s.Blind.Egress}
	}
	return v
}

// lastError returns the newest failure since something was learned. Without one it
// returns the error of the longest outage; empty: there is none (section 3.3).
func (s *state) lastError() string {
	if s.Blind.LastError != "" {
		return s.Blind.LastError
	}
	if longest := s.Feeds.longestOutage(func(*mediaFeed) bool { return true }); longest != nil {
		return longest.LastError
	}
	return ""
}

// unseen reports whether the state and the media are unknown: a question failed, and nothing was
// learned for the limit, or ever. It comes long before the alert (decisions S14, S15).
func (b *blindness) unseen(now time.Time, limit time.Duration) bool {
	if b.Alerted || b.Refused {
		return true
	}
	return !b.UnansweredAt.IsZero() && (b.ObservedAt.IsZero() || now.Sub(b.Since) >= limit)
}

// unseenLimit returns two intervals of the looks at the stream: of its checks, or of the
// questions before its start.
func (w *Watcher) unseenLimit() time.Duration {
	if w.state.monitoring() {
		return 2 * w.rules.CheckInterval
	}
	return 2 * pollBeforeStart
}

// recordNoAnswer records a question that came back without an answer.
func (b *blindness) recordNoAnswer(now time.Time, o Resolution) {
	b.UnansweredAt, b.LastError = now, string(o.State)+": "+o.Detail
	if o.State != CircuitOpen || b.Class == "" { // nobody was asked: what was found before is why
		b.Class, b.Egress = o.State.unseen(), o.Egress
	}
}

// unseen returns why a question was not answered.
func (s StreamState) unseen() monitor.UnseenClass {
	switch s {
	case Blocked, RateLimited:
		return monitor.Refused
	case NameUnresolved:
		return monitor.NoDNS
	case ProxyFailed:
		return monitor.NoProxy
	case Unreachable:
		return monitor.NoNetwork
	case ToolFailed:
		return monitor.NoTool
	case LoginLost:
		return monitor.NoLogin
	}
	return monitor.OtherUnseen
}

// end ends the blindness, because something was learned.
func (b *blindness) end(e *emitter) {
	if *b != (blindness{Since: b.Since, ObservedAt: b.ObservedAt}) {
		e.revise() // an attempt has failed, or a successor has taken over
	}
	if b.Alerted {
		e.logInfo("The stream can be observed again", map[string]any{"blind_sec": wholeSeconds(e.now.Sub(b.Since))})
	}
	*b = blindness{Since: e.now, ObservedAt: e.now}
}

// noteRefusal records that the source refuses whoever asks: the question and all media at
// the same time (decision S6). It goes on until anything is learned, whatever other
// failures come.
func (s *state) noteRefusal() {
	if s.Resolve.Refused && s.Feeds.refused() {
		s.Blind.Refused = true
	}
}

// refused reports whether the latest reading of every feed was refused.
func (all mediaFeeds) refused() bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(f *mediaFeed) bool { return !f.Outage.open() || !f.Outage.Refused })
}

// dropBlindTime begins outages and stalls again at now, because blind time proves nothing
// of the stream (decision S6). An alerted outage keeps its onset unless the blindness was
// alerted. Alerted conditions go on, without the blind time (decision S20).
func (s *state) dropBlindTime(now time.Time) {
	lasted := now.Sub(s.Blind.Since)
	for _, f := range s.Feeds {
		f.Newest.Unwatched = now.Sub(f.Newest.SeenAt)
		if s.Blind.Refused && f.failing() {
			f.failingSince = now // one wrong answer must not end the watch now (S19)
		}
		if o := &f.Outage; o.open() && (!o.Alerted || s.Blind.Alerted) {
			o.Since, o.Unwatched, o.Failures, o.LookAt, o.DueAt = now, 0, 0, time.Time{}, time.Time{}
		}
	}
	for _, c := range s.Conditions {
		if lasted >= outageLimit {
			c.dropUnalerted()
		}
		if c.Open {
			c.Unjudged = lasted
		}
	}
}

// resume goes on at now, after a time in which nobody watched. That time counts as
// blind if the last attempts before it had failed. The alert waits for the
// successor's own attempts, which may still end the blindness.
func (b *blindness) resume(now time.Time, unwatched time.Duration) {
	if b.Alerted {
		return
	}
	b.ResumedAt = now
	if b.LastError != "" {
		return
	}
	b.Since = instant.Earliest(b.Since.Add(unwatched), now)
}

// limitAt returns when the blindness reaches blindLimit; zero: it was alerted.
// Both lanes try once more at that moment.
func (b *blindness) limitAt() time.Time {
	if b.Alerted {
		return time.Time{}
	}
	return b.Since.Add(blindLimit)
}

// alertAt returns when to alert; zero: the alert was emitted. The alert needs a
// question that came back unanswered after the limit and after any restart.
// Without one, the alert follows blindAnswerWait later. Media that fail decide
// nothing, because an answer may still arrive (decision S20).
func (b *blindness) alertAt() time.Time {
	limit := b.limitAt()
	if limit.IsZero() {
		return limit
	}
	limit = instant.Latest(limit, b.ResumedAt)
	if !b.UnansweredAt.Before(limit) {
		return limit
	}
	return limit.Add(blindAnswerWait)
}

// alert emits and logs monitor.error, once for each blindness (decision S15).
func (b *blindness) alert(e *emitter) {
	b.Alerted = true
	detail := cmp.Or(b.LastError, "no answer yet")
	lasted := wholeSeconds(e.now.Sub(b.Since))
	e.emit(event.MonitorError, event.MonitorFailure{
		Reason:       event.ReasonBlind,
		ErrorDetails: fmt.Sprintf("nothing could be learned of the stream or its media for %d seconds: %s", lasted, detail),
		Terminal:     false,
	})
	e.logWarn("The stream cannot be observed", map[string]any{
		"error": b.LastError, "blind_since": b.Since, "duration_sec": lasted,
	})
}
