package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// outage is a time without new media: the playlist or its newest segment
// fails, or the playlist has not moved (sections 6.6, 7.6, decision S6). Times
// are the clock's. The zero value is no outage.
type outage struct {
	Since     time.Time `json:"since,omitzero"`
	Failure   string    `json:"failure,omitempty"` // event.FailedManifest, …
	LastError string    `json:"last_error,omitempty"`
	Failures  int       `json:"failures,omitempty"` // in a row, of this Failure
	Last      time.Time `json:"last,omitzero"`      // when the latest of them was seen
	RetryAt   time.Time `json:"retry_at,omitzero"`
	Alerted   bool      `json:"alerted,omitempty"`
}

func (o *outage) open() bool { return !o.Since.IsZero() }

// fail adds a failure that began at since.
func (o *outage) fail(now, since time.Time, failure, lastError string) {
	if !o.open() || since.Before(o.Since) {
		o.Since = since
	}
	if o.Failure != failure {
		o.Failures = 0
	}
	o.Failure, o.LastError, o.Last = failure, lastError, now
	o.Failures++
	policy := manifestBackoff
	if failure == event.FailedSegment {
		policy = segmentBackoff
	}
	o.RetryAt = now.Add(policy.delay(o.Failures))
	if limit := o.Since.Add(outageLimit); limit.After(now) && limit.Before(o.RetryAt) {
		o.RetryAt = limit // it is judged by what is seen then, not before
	}
}

// judgeAt is from when on is_live is to be asked about this outage: once a
// failure has been seen that is 60 s from the first. Zero when it need not be
// asked: there is no outage, none that long yet, or it has been told.
func (o *outage) judgeAt() time.Time {
	limit := o.Since.Add(outageLimit)
	if !o.open() || o.Alerted || o.Last.Before(limit) {
		return time.Time{}
	}
	return limit
}

// due tells whether the outage has lasted long enough to be told.
func (o *outage) due(at time.Time) bool {
	judge := o.judgeAt()
	return !judge.IsZero() && !at.Before(judge)
}

// long tells whether at now it has lasted so long that what was seen before it
// says nothing about what is seen after it.
func (o *outage) long(now time.Time) bool { return o.open() && now.Sub(o.Since) >= outageLimit }

// tell marks the outage as told and gives the alert.
func (o *outage) tell(now time.Time) event.Outage {
	o.Alerted = true
	return event.Outage{
		StartedAt:    o.Since,
		DurationSec:  whole(now.Sub(o.Since)),
		ThresholdSec: whole(outageLimit),
		Failure:      o.Failure,
		LastError:    o.LastError,
	}
}

// mediaFailed opens or prolongs an outage of a stream that has started. A URL
// that is no longer good has the manifest resolved again at once (decision S7).
func (w *Watcher) mediaFailed(failure string, f *Failure, since time.Time) {
	w.life.Blind.LastErr = f.Error()
	if !w.monitoring() {
		return
	}
	w.life.Outage.fail(w.now, since, failure, f.Error())
	if f.Kind == FailureExpired {
		w.life.Asking.Urgent = true
	}
	w.note(true, "The stream's media could not be read", map[string]any{
		"failure": failure, "error": f.Error(), "failures": w.life.Outage.Failures,
	})
}

// provenLive tells the outage if, at a moment at which the stream was proven
// to be live, it had lasted long enough (section 6.6, decision S6).
func (w *Watcher) provenLive(at time.Time) {
	if w.life.Outage.due(at) {
		w.emit(event.SegmentError, w.life.Outage.tell(w.now))
	}
}

// mediaBack ends an outage. One that was long enough to be told, but could not
// be judged, is told now: media that flow again are the proof that the stream
// was live (decision S6).
func (w *Watcher) mediaBack() {
	if !w.life.Outage.open() {
		return
	}
	w.provenLive(w.now)
	if w.life.Outage.long(w.now) {
		for i := range w.life.Conditions {
			w.life.Conditions[i].interrupt()
		}
	}
	w.note(false, "The stream's media are back", map[string]any{"outage_sec": w.now.Sub(w.life.Outage.Since).Seconds()})
	w.life.Outage = outage{}
}
