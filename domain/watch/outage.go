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
	o.Failure, o.LastError = failure, lastError
	o.Failures++
	policy := manifestBackoff
	if failure == event.FailedSegment {
		policy = segmentBackoff
	}
	o.RetryAt = now.Add(policy.delay(o.Failures))
	if judged := o.Since.Add(outageLimit); judged.After(now) && judged.Before(o.RetryAt) {
		o.RetryAt = judged
	}
}

// judgeAt is when is_live is to be asked about this outage; zero when it need
// not be, because there is none or it has been told.
func (o *outage) judgeAt() time.Time {
	if !o.open() || o.Alerted {
		return time.Time{}
	}
	return o.Since.Add(outageLimit)
}

// due tells whether the outage has lasted long enough to be told.
func (o *outage) due(at time.Time) bool {
	judge := o.judgeAt()
	return !judge.IsZero() && !at.Before(judge)
}

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
