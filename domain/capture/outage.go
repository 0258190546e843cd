package capture

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// outage is a time without media, or one in which nothing could be observed, from its
// alert on. No event ends it, only a signal.
type outage struct {
	condition trouble.Name
	alert     string    // event ID
	instant   time.Time // the end of the media before it; zero: none were known
	over      bool      // its end was signalled
}

// beginOutage captures what was there before an outage. An outage may be alerted when the
// media are back already; then the media before its onset count.
func (t *Tracker) beginOutage(c trouble.Name, alert string, onset time.Time) []Job {
	o := &outage{condition: c, alert: alert, instant: t.stream.mediaEnd()}
	if o.instant.After(onset) {
		o.instant = onset
	}
	t.outages = append(slices.DeleteFunc(t.outages, func(old *outage) bool { return old.condition == c }), o)
	if len(t.stream.media) == 0 {
		return nil
	}
	return []Job{t.stream.withMedia(Job{
		Key: key(c, evidence.AlertPhase, onset), Step: Complete, Condition: c, Phase: evidence.AlertPhase,
		EventID: alert, Instant: o.instant, Fetch: true,
	})}
}

// handleSignal notes the end of an outage.
func (t *Tracker) handleSignal(s monitor.Signal) {
	for _, o := range t.outages {
		if o.condition == s.Condition && !s.EndedAt.IsZero() {
			o.over = true
		}
	}
}

// recoverOutages captures the recoveries from outages that are over, once there are newer
// media. The evidence is of the alert's event: a recovery from an outage has none.
func (t *Tracker) recoverOutages() (jobs []Job) {
	t.outages = slices.DeleteFunc(t.outages, func(o *outage) bool {
		if !o.over || !t.stream.mediaEnd().After(o.instant) {
			return false
		}
		instant := t.stream.newestStart()
		jobs = append(jobs, t.stream.withMedia(Job{
			Key: key(o.condition, evidence.RecoveryPhase, instant), Step: Complete, Condition: o.condition,
			Phase: evidence.RecoveryPhase, EventID: o.alert, Instant: instant, Fetch: true,
		}))
		return true
	})
	return jobs
}
