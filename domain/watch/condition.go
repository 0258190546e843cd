package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
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

// durable returns what a successor cannot learn from the next segment.
func (c *condition) durable() condition {
	kept := *c
	kept.JudgedUntil, kept.BadUntil = time.Time{}, time.Time{}
	return kept
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

// advance applies one sample and returns the alerts and recoveries. The caller
// applies samples in the order of media time. An alert follows when bad time
// reaches the threshold (decision S2). A recovery follows at the first good instant
// after an alert (decision S3). A change between two samples counts from the start
// of the later one, because bisection has already looked between them. The sample is
// judged until a time within it.
func (c *condition) advance(threshold time.Duration, s sample, bad []badPeriod, until time.Time) []event.Data {
	var emitted []event.Data
	at := s.start()
	if unseen := at.Sub(c.JudgedUntil); unseen > 0 {
		c.Blind, c.Unjudged = c.Blind+min(unseen, c.Unjudged), 0
	}
	if c.Seen && at.Before(c.JudgedUntil) {
		at = c.JudgedUntil
	}
	for _, b := range bad {
		if !b.to.After(at) {
			continue
		}
		// Sound may fade out in the first milliseconds of a silent segment. The gap
		// does not interrupt the silence.
		continued := at.Equal(s.start()) && b.from.Sub(at) <= boundaryTolerance
		if b.from.After(at) && !continued {
			emitted = append(emitted, c.recover(at)...)
		}
		from := at
		if b.from.After(from) {
			from = b.from
		}
		if !c.Open {
			c.Open, c.Onset = true, from
		}
		c.BadUntil, at = b.to, b.to
		c.LastBadThroughout = b.covers(s)
		emitted = append(emitted, c.alertIfDue(threshold, s)...)
	}
	if until.After(at) {
		emitted = append(emitted, c.recover(at)...)
	}
	c.Seen = true
	if until.After(c.JudgedUntil) {
		c.JudgedUntil = until
	}
	return emitted
}

// alertIfDue returns the alert once bad time has reached the threshold.
func (c *condition) alertIfDue(threshold time.Duration, s sample) []event.Data {
	lasted := c.BadUntil.Sub(c.Onset) - c.Blind
	if c.Alerted || lasted < threshold {
		return nil
	}
	c.Alerted = true
	return []event.Data{event.Alert{
		DurationSec:  wholeSeconds(lasted),
		StartedAt:    c.Onset,
		ThresholdSec: wholeSeconds(threshold),
		SegmentInfo:  event.SegmentInfo{Sequence: s.segment.Sequence, Duration: s.segment.Duration.Seconds()},
	}}
}

// recover ends an open condition at the first good instant, and returns the
// recovery if it was alerted.
func (c *condition) recover(at time.Time) []event.Data {
	if !c.Open {
		return nil
	}
	onset, lasted, alerted := c.Onset, at.Sub(c.Onset)-c.Blind, c.Alerted
	*c = condition{Seen: c.Seen, JudgedUntil: c.JudgedUntil}
	if !alerted {
		return nil
	}
	return []event.Data{event.Recovered{
		TotalDurationSec: wholeSeconds(lasted),
		StartedAt:        onset,
		RecoveredAt:      at,
	}}
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
