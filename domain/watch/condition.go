package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// condition is one thing that can be wrong with the media: a black picture, a
// silent sound. It knows since when, and whether that has been told. Times are
// on the media timeline.
type condition struct {
	Seen    bool      `json:"seen"`            // any media has been judged
	Open    bool      `json:"open"`            // bad at Until
	Onset   time.Time `json:"onset,omitzero"`  // first bad instant, while Open
	Until   time.Time `json:"until,omitzero"`  // the newest instant judged
	Known   time.Time `json:"known,omitzero"`  // the newest instant seen to be bad, while Open
	Solid   bool      `json:"solid,omitempty"` // the last segment of it was bad throughout, while Open
	Alerted bool      `json:"alerted,omitempty"`
}

// pass takes a condition through one segment, in order, and says what there is
// to tell: at the first instant at which bad time reaches the threshold an
// alert (decision S2), at the first good instant after an alert a recovery
// (S3). Where the state at the segment's start differs from the last one known, the
// change is taken to have been at the segment's start: trace has looked
// between them before if it could.
func (c *condition) pass(threshold time.Duration, s sample, bad []stretch) []event.Data {
	var told []event.Data
	at := s.start()
	if c.Seen && at.Before(c.Until) {
		at = c.Until
	}
	for _, b := range bad {
		if !b.to.After(at) {
			continue
		}
		// Sound dies away for some milliseconds into a segment that is silent.
		goesOn := at.Equal(s.start()) && b.from.Sub(at) <= edge
		if b.from.After(at) && !goesOn {
			told = append(told, c.good(at)...)
		}
		from := at
		if b.from.After(from) {
			from = b.from
		}
		if !c.Open {
			c.Open, c.Onset = true, from
		}
		c.Known, at = b.to, b.to
		c.Solid = b.covers(s)
		told = append(told, c.due(threshold, s)...)
	}
	if s.end().After(at) {
		told = append(told, c.good(at)...)
	}
	c.Seen = true
	if s.end().After(c.Until) {
		c.Until = s.end()
	}
	return told
}

// due is the alert, if bad time has reached the threshold and it is not told.
func (c *condition) due(threshold time.Duration, s sample) []event.Data {
	lasted := c.Known.Sub(c.Onset)
	if c.Alerted || lasted < threshold {
		return nil
	}
	c.Alerted = true
	return []event.Data{event.Alert{
		DurationSec:  whole(lasted),
		StartedAt:    c.Onset,
		ThresholdSec: whole(threshold),
		SegmentInfo:  event.SegmentInfo{Sequence: s.segment.Sequence, Duration: s.segment.Duration.Seconds()},
	}}
}

// good ends an open condition at the first good instant.
func (c *condition) good(from time.Time) []event.Data {
	if !c.Open {
		return nil
	}
	onset, alerted := c.Onset, c.Alerted
	*c = condition{Seen: c.Seen, Until: c.Until}
	if !alerted {
		return nil
	}
	return []event.Data{event.Recovered{
		TotalDurationSec: whole(from.Sub(onset)),
		StartedAt:        onset,
		RecoveredAt:      from,
	}}
}

// interrupt is a long time without media: bad media before it and after it are
// not one condition. One that has been told stays, until media are good again.
func (c *condition) interrupt() {
	if !c.Alerted {
		*c = condition{}
	}
}

// shift moves the condition with the media timeline.
func (c *condition) shift(d time.Duration) {
	for _, t := range []*time.Time{&c.Onset, &c.Until, &c.Known} {
		if !t.IsZero() {
			*t = t.Add(d)
		}
	}
}

// crossing is the earliest media instant at which the threshold could be
// reached; zero when no threshold is being approached.
func (c *condition) crossing(threshold time.Duration) time.Time {
	if !c.Open || c.Alerted {
		return time.Time{}
	}
	return c.Onset.Add(threshold)
}
