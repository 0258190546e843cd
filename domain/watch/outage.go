package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// outage is a time without new media of a feed (sections 6.6 and 7.6, decision
// S6): its playlist or its newest segment fails, or the playlist has stalled.
// Times are the clock's. The zero value is no outage.
type outage struct {
	Since     time.Time     `json:"since,omitzero"`
	Unwatched time.Duration `json:"unwatched,omitzero"` // time since Since in which nobody tried
	Failure   string        `json:"failure,omitempty"`  // event.FailedManifest, event.FailedSegment, event.FailedStalled
	LastError string        `json:"last_error,omitempty"`
	Failures  int           `json:"failures,omitempty"` // in a row, of this Failure
	FailedAt  time.Time     `json:"last,omitzero"`      // of the latest of them
	RetryAt   time.Time     `json:"retry_at,omitzero"`
	Alerted   bool          `json:"alerted,omitempty"`
}

func (o *outage) open() bool { return !o.Since.IsZero() }

// limitAt is when the outage has lasted for outageLimit, without the time in which
// nobody tried.
func (o *outage) limitAt() time.Time { return o.Since.Add(o.Unwatched + outageLimit) }

// fail adds a failure, seen at now, that began at since.
func (o *outage) fail(now, since time.Time, failure, lastError string) {
	if !o.open() || since.Before(o.Since) {
		o.Since = since
	}
	if o.Failure != failure {
		o.Failures = 0
	}
	o.Failure, o.LastError, o.FailedAt = failure, lastError, now
	o.Failures++
	policy := manifestBackoff
	if failure == event.FailedSegment {
		policy = segmentBackoff
	}
	o.RetryAt = now.Add(policy.delay(o.Failures))
	if limit := o.limitAt(); limit.After(now) && limit.Before(o.RetryAt) {
		o.RetryAt = limit // the alert needs a failure at the limit, not before it
	}
}

// questionAt is from when on is_live is asked about this outage: from its limit
// on, once a failure was seen at or after it. Zero when there is nothing to ask:
// no outage, none that long, or one that was alerted.
func (o *outage) questionAt() time.Time {
	limit := o.limitAt()
	if !o.open() || o.Alerted || o.FailedAt.Before(limit) {
		return time.Time{}
	}
	return limit
}

// due reports whether the outage has lasted long enough for its alert.
func (o *outage) due(at time.Time) bool {
	question := o.questionAt()
	return !question.IsZero() && !at.Before(question)
}

// interrupts reports whether the outage has lasted so long that media before and
// after it are not joined (decision S20).
func (o *outage) interrupts(now time.Time) bool { return o.open() && !now.Before(o.limitAt()) }

// alert marks the outage as alerted and returns the alert.
func (o *outage) alert(now time.Time) event.Outage {
	o.Alerted = true
	return event.Outage{
		StartedAt:    o.Since,
		DurationSec:  wholeSeconds(now.Sub(o.Since)),
		ThresholdSec: wholeSeconds(outageLimit),
		Failure:      o.Failure,
		LastError:    o.LastError,
	}
}

// inOutage reports whether any feed has an outage.
func (w *Watcher) inOutage() bool {
	for _, f := range w.state.Feeds {
		if f.Outage.open() {
			return true
		}
	}
	return false
}

// mediaFailed opens or extends the outage of a feed, if the stream has started.
// A URL that was refused has the manifest renewed (decision S7).
func (w *Watcher) mediaFailed(f *feed, failure string, cause *Failure, since time.Time) {
	w.state.Blind.LastError = cause.Error()
	if !w.monitoring() {
		return
	}
	w.extendOutage(f, since, failure, cause.Error())
	f.mediaTried(false)
	if cause.Kind == FailureExpired {
		w.renew(f, failure)
	}
	w.logWarn("The stream's media could not be read", map[string]any{
		"failure": failure, "error": cause.Error(), "failures": f.Outage.Failures,
	})
}

// extendOutage opens or extends the outage of a feed. Outages of two feeds at
// the same time are one, which is alerted once.
func (w *Watcher) extendOutage(f *feed, since time.Time, failure, lastError string) {
	w.state.Blind.LastError = lastError
	f.Outage.fail(w.now, since, failure, lastError)
	for _, other := range w.state.Feeds {
		f.Outage.Alerted = f.Outage.Alerted || other.Outage.open() && other.Outage.Alerted
	}
}

// alertDueOutage alerts the oldest due outage of a stream that is known to be live
// at the time at (section 6.6, decision S6).
func (w *Watcher) alertDueOutage(at time.Time) {
	var first *outage
	for _, f := range w.state.Feeds {
		if o := &f.Outage; o.due(at) && (first == nil || o.Since.Before(first.Since)) {
			first = o
		}
	}
	if first == nil {
		return
	}
	w.emit(event.SegmentError, first.alert(w.now))
	for _, f := range w.state.Feeds {
		f.Outage.Alerted = f.Outage.open()
	}
}

// endOutage ends a feed's outage. One that was due but had no answer about
// is_live is alerted now: new media show that the stream was live (decision S6).
func (w *Watcher) endOutage(f *feed) {
	if !f.Outage.open() {
		return
	}
	w.alertDueOutage(w.now)
	if f.Outage.interrupts(w.now) {
		for _, d := range detectorsOf(f.Tracks) {
			w.state.Conditions.of(d).interrupt()
		}
	}
	w.logInfo("The stream's media are back", map[string]any{"outage_sec": w.now.Sub(f.Outage.Since).Seconds()})
	f.Outage = outage{}
}
