package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// outage is a time without new media of a feed: its playlist or the newest
// segment fails, or the playlist has not moved (sections 6.6, 7.6, decision
// S6). Times are the clock's. The zero value is no outage.
type outage struct {
	Since     time.Time     `json:"since,omitzero"`
	Unwatched time.Duration `json:"unwatched,omitzero"` // since then: nobody looked whether media flow
	Failure   string        `json:"failure,omitempty"`  // event.FailedManifest, …
	LastError string        `json:"last_error,omitempty"`
	Failures  int           `json:"failures,omitempty"` // in a row, of this Failure
	Last      time.Time     `json:"last,omitzero"`      // when the latest of them was seen
	RetryAt   time.Time     `json:"retry_at,omitzero"`
	Alerted   bool          `json:"alerted,omitempty"`
}

func (o *outage) open() bool { return !o.Since.IsZero() }

// limit is when it has lasted, as far as it was watched, for as long as an outage
// may.
func (o *outage) limit() time.Time { return o.Since.Add(o.Unwatched + outageLimit) }

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
	if limit := o.limit(); limit.After(now) && limit.Before(o.RetryAt) {
		o.RetryAt = limit // it is judged by what is seen then, not before
	}
}

// judgeAt is from when on is_live is to be asked about this outage: once a
// failure has been seen that is 60 s from the first. Zero when it need not be
// asked: there is no outage, none that long yet, or it has been told.
func (o *outage) judgeAt() time.Time {
	limit := o.limit()
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
func (o *outage) long(now time.Time) bool { return o.open() && !now.Before(o.limit()) }

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

// outage tells whether any feed is out.
func (w *Watcher) outage() bool {
	for _, f := range w.life.Feeds {
		if f.Outage.open() {
			return true
		}
	}
	return false
}

// mediaFailed opens or prolongs the outage of a feed of a stream that has
// started. A URL that is no longer good has the manifest resolved again at once
// (decision S7).
func (w *Watcher) mediaFailed(f *feed, failure string, cause *Failure, since time.Time) {
	w.life.Blind.LastError = cause.Error()
	if !w.monitoring() {
		return
	}
	w.out(f, since, failure, cause.Error())
	f.mediaTried(false)
	if cause.Kind == FailureExpired {
		w.renew(f, failure)
	}
	w.note(true, "The stream's media could not be read", map[string]any{
		"failure": failure, "error": cause.Error(), "failures": f.Outage.Failures,
	})
}

// out opens or prolongs the outage of a feed. Feeds that are out together are
// one outage, which is told once.
func (w *Watcher) out(f *feed, since time.Time, failure, lastError string) {
	w.life.Blind.LastError = lastError
	f.Outage.fail(w.now, since, failure, lastError)
	for _, other := range w.life.Feeds {
		f.Outage.Alerted = f.Outage.Alerted || other.Outage.open() && other.Outage.Alerted
	}
}

// provenLive tells the outage if, at a moment at which the stream was proven
// to be live, it had lasted long enough (section 6.6, decision S6).
func (w *Watcher) provenLive(at time.Time) {
	var first *outage
	for _, f := range w.life.Feeds {
		if o := &f.Outage; o.due(at) && (first == nil || o.Since.Before(first.Since)) {
			first = o
		}
	}
	if first == nil {
		return
	}
	w.emit(event.SegmentError, first.tell(w.now))
	for _, f := range w.life.Feeds {
		f.Outage.Alerted = f.Outage.open()
	}
}

// mediaBack ends a feed's outage. One that was long enough to be told, but
// could not be judged, is told now: media that flow again are the proof that
// the stream was live (decision S6).
func (w *Watcher) mediaBack(f *feed) {
	if !f.Outage.open() {
		return
	}
	w.provenLive(w.now)
	if f.Outage.long(w.now) {
		for _, d := range detectorsOf(f.Tracks) {
			w.life.Conditions.of(d).interrupt()
		}
	}
	w.note(false, "The stream's media are back", map[string]any{"outage_sec": w.now.Sub(f.Outage.Since).Seconds()})
	f.Outage = outage{}
}
