package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// condition is the state of one detector: whether the media are bad, since when,
// and whether that was alerted. Times are on the media timeline.
type condition struct {
	Seen              bool      `json:"seen"`                          // any media have been judged
	Open              bool      `json:"open"`                          // the media were bad at JudgedUntil
	Onset             time.Time `json:"onset,omitzero"`                // first bad instant, while Open
	JudgedUntil       time.Time `json:"judged_until,omitzero"`         // the newest instant judged
	BadUntil          time.Time `json:"bad_until,omitzero"`            // the newest instant known to be bad, while Open
	LastBadThroughout bool      `json:"last_bad_throughout,omitempty"` // the last segment was bad throughout, while Open
	Alerted           bool      `json:"alerted,omitempty"`

	// Time after Onset in which the watch was blind. Unjudged is the last such time, until
	// media are judged again; those may show a part of it.
	Blind    time.Duration `json:"blind,omitempty"`
	Unjudged time.Duration `json:"unjudged,omitempty"`
}

// conditions has the condition of each detector, by its name.
type conditions map[detector.Name]*condition

// of returns the condition of a detector. A detector without one begins now.
func (c conditions) of(d detector.Detector) *condition {
	if c[d.Name] == nil {
		c[d.Name] = &condition{}
	}
	return c[d.Name]
}

// shift moves the conditions of these tracks with the media timeline.
func (c conditions) shift(t trackSet, by time.Duration) {
	for _, d := range detectorsOf(t) {
		c.of(d).shift(by)
	}
}

// advance applies one sample and emits the alerts, which it counts, and the recoveries. The caller
// applies samples in the order of media time. An alert follows when bad time reaches the
// threshold (decision S2). A recovery follows at the first good instant after an alert
// (decision S3). A change between two samples counts from the start of the later one,
// because bisection has already looked between them.
func (c *condition) advance(d detector.Detector, threshold time.Duration, s sample, e *emitter) (alerts int) {
	if !c.Seen || c.Unjudged > 0 {
		e.revise()
	}
	at, until := s.start(), s.judgedUntil(d)
	if unseen := at.Sub(c.JudgedUntil); unseen > 0 {
		c.Blind, c.Unjudged = c.Blind+min(unseen, c.Unjudged), 0
	}
	if c.Seen {
		at = instant.Latest(at, c.JudgedUntil)
	}
	for _, b := range s.bad[d.Name] {
		if !b.to.After(at) {
			continue
		}
		// Sound may fade out in the first milliseconds of a silent segment. The gap
		// does not interrupt the silence.
		continued := at.Equal(s.start()) && b.from.Sub(at) <= boundaryTolerance
		if b.from.After(at) && !continued {
			c.recover(d, at, e)
		}
		if !c.Open {
			c.Open, c.Onset = true, instant.Latest(at, b.from)
		}
		if throughout := b.covers(s); throughout != c.LastBadThroughout {
			c.LastBadThroughout = throughout
			e.revise()
		}
		c.BadUntil, at = b.to, b.to
		if lasted := c.BadUntil.Sub(c.Onset) - c.Blind; !c.Alerted && lasted >= threshold {
			c.Alerted = true
			alerts++
			e.emit(event.Type(d.Alert), event.Alert{
				DurationSec:  wholeSeconds(lasted),
				StartedAt:    c.Onset,
				ThresholdSec: wholeSeconds(threshold),
				SegmentInfo:  event.SegmentInfo{Sequence: s.segment.Sequence, Duration: s.segment.Duration.Seconds()},
			})
		}
	}
	if until.After(at) {
		c.recover(d, at, e)
	}
	c.Seen, c.JudgedUntil = true, instant.Latest(until, c.JudgedUntil)
	return alerts
}

// recover ends an open condition at the first good instant. It emits the recovery if the
// condition was alerted.
func (c *condition) recover(d detector.Detector, at time.Time, e *emitter) {
	if !c.Open {
		return
	}
	e.revise()
	if c.Alerted {
		e.emit(event.Type(d.Recovered), event.Recovered{
			TotalDurationSec: wholeSeconds(at.Sub(c.Onset) - c.Blind),
			StartedAt:        c.Onset,
			RecoveredAt:      at,
		})
	}
	*c = condition{Seen: c.Seen, JudgedUntil: c.JudgedUntil}
}

// dropUnalerted resets a condition that was not alerted, because bad media before
// and after a long outage are not one condition (decision S20). An alerted
// condition stays open until media are good.
func (c *condition) dropUnalerted() {
	if !c.Alerted {
		*c = condition{}
	}
}

// shift moves the condition with the media timeline.
func (c *condition) shift(d time.Duration) {
	for _, t := range []*time.Time{&c.Onset, &c.JudgedUntil, &c.BadUntil} {
		if !t.IsZero() {
			*t = t.Add(d)
		}
	}
}

// thresholdAt returns the earliest media time at which the condition could reach
// the threshold; zero: the condition is not open, or was alerted.
func (c *condition) thresholdAt(threshold time.Duration) time.Time {
	if !c.Open || c.Alerted {
		return time.Time{}
	}
	return c.Onset.Add(threshold + c.Blind)
}

// looksForRecovery reports whether each new segment is analysed, to find the recovery early
// (decision S18): until recoveryLooks after the alert. Without this limit, a stream without
// sound would always cost several times as much as a calm one.
func (c *condition) looksForRecovery(threshold time.Duration) bool {
	return c.Open && c.Alerted && c.BadUntil.Sub(c.Onset) < threshold+recoveryLooks
}
