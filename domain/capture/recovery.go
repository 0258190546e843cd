package capture

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// recovery is the recovery of a detector, until it is captured. It is often seen in the
// last moments of the newest segment, whose pictures may all be black.
type recovery struct {
	condition  trouble.Name
	event      string    // ID
	instant    time.Time // on the media timeline
	reportedAt time.Time // by the clock

	rendition detector.Rendition // see episode
}

// captureRecoveries captures the recoveries whose picture is listed, or will not come.
func (t *Tracker) captureRecoveries(now time.Time) (jobs []Job) {
	t.recoveries = slices.DeleteFunc(t.recoveries, func(r recovery) bool {
		if !t.stream.mediaEnd().After(r.instant.Add(afterRecovery)) && now.Sub(r.reportedAt) < completeWait {
			return false
		}
		jobs = append(jobs, t.capture(r)...)
		return true
	})
	return jobs
}

// Finish captures the recoveries that still wait, from the media that are known. The
// worker calls it when it ends; no step follows.
func (t *Tracker) Finish() (jobs []Job) {
	for _, r := range t.recoveries {
		jobs = append(jobs, t.capture(r)...)
	}
	t.recoveries = nil
	return jobs
}

func (t *Tracker) capture(r recovery) []Job {
	if len(t.stream.media) == 0 {
		return nil
	}
	return []Job{t.stream.withRendition(t.stream.withMedia(Job{
		Key: key(r.condition, evidence.RecoveryPhase, r.instant), Step: Complete, Condition: r.condition,
		Phase: evidence.RecoveryPhase, EventID: r.event, Instant: r.instant, Fetch: true,
	}), r.rendition)}
}
