package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
)

// condition is what one detector knows of the media: whether they are bad, since
// when, and whether that was alerted. Times are on the media timeline.
type condition struct {
	Seen        bool      `json:"seen"`            // any media have been judged
	Open        bool      `json:"open"`            // the media were bad at JudgedUntil
	Onset       time.Time `json:"onset,omitzero"`  // first bad instant, while Open
	JudgedUntil time.Time `json:"until,omitzero"`  // the newest instant judged
	BadUntil    time.Time `json:"known,omitzero"`  // the newest instant known to be bad, while Open
	WhollyBad   bool      `json:"solid,omitempty"` // the last segment was bad throughout, while Open
	Alerted     bool      `json:"alerted,omitempty"`
}

// conditions are those of all detectors, by name.
type conditions map[detector.Name]*condition

// of returns the condition of a detector. A detector without one begins now.
func (c conditions) of(d detector.Detector) *condition {
	if c[d.Name] == nil {
		c[d.Name] = &condition{}
	}
	return c[d.Name]
}

// advance takes the condition through one segment, in order, and returns the
// events. An alert follows when bad time reaches the threshold (decision S2), a
// recovery at the first good instant after an alert (decision S3). If the
// condition changed between two segments, it counts as changed at the start of
// the later one; bisection has looked between them before.
func (c *condition) advance(threshold time.Duration, s sample, bad []period) []event.Data {
	var emitted []event.Data
	at := s.start()
	if c.Seen && at.Before(c.JudgedUntil) {
		at = c.JudgedUntil
	}
	for _, b := range bad {
		if !b.to.After(at) {
			continue
		}
		// Sound fades for some milliseconds into a silent segment.
		continued := at.Equal(s.start()) && b.from.Sub(at) <= edge
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
		c.WhollyBad = b.covers(s)
		emitted = append(emitted, c.alertIfDue(threshold, s)...)
	}
	if s.end().After(at) {
		emitted = append(emitted, c.recover(at)...)
	}
	c.Seen = true
	if s.end().After(c.JudgedUntil) {
		c.JudgedUntil = s.end()
	}
	return emitted
}

// alertIfDue returns the alert once bad time has reached the threshold.
func (c *condition) alertIfDue(threshold time.Duration, s sample) []event.Data {
	lasted := c.BadUntil.Sub(c.Onset)
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
	onset, alerted := c.Onset, c.Alerted
	*c = condition{Seen: c.Seen, JudgedUntil: c.JudgedUntil}
	if !alerted {
		return nil
	}
	return []event.Data{event.Recovered{
		TotalDurationSec: wholeSeconds(at.Sub(onset)),
		StartedAt:        onset,
		RecoveredAt:      at,
	}}
}

// interrupt forgets a condition that was not alerted: bad media before and after
// a long outage are not one condition (decision S20). An alerted one lasts until
// media are good.
func (c *condition) interrupt() {
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

// thresholdAt is the earliest media time at which the threshold could be reached;
// zero when the condition is not open or was alerted.
func (c *condition) thresholdAt(threshold time.Duration) time.Time {
	if !c.Open || c.Alerted {
		return time.Time{}
	}
	return c.Onset.Add(threshold)
}
