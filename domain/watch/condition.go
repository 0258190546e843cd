package watch

import (
	"encoding/json"
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

	// Of a detector with a Rule: what it remembers, and its last verdict (detector.Verdict).
	Memory       json.RawMessage    `json:"memory,omitempty"`
	Since        time.Time          `json:"since,omitzero"`
	CloselySince time.Time          `json:"closely_since,omitzero"` // from which sample on each verdict was Closely; zero: the last was not
	Unknown      bool               `json:"unknown,omitempty"`
	Values       map[string]float64 `json:"values,omitempty"`

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
	for _, d := range detector.Table {
		if t.has(d.Track) {
			c.of(d).shift(by)
		}
	}
}

// advance applies one sample and emits the alerts, which it counts, and the recoveries. The caller
// applies samples in the order of media time. An alert follows when bad time reaches the
// threshold (decision S2). A recovery follows at the first good instant after an alert
// (decision S3). A change between two samples counts from the start of the later one,
// because bisection has already looked between them.
func (c *condition) advance(d detector.Detector, threshold time.Duration, s sample, v detector.Verdict, e *emitter) (alerts int) {
	if v.Unknown {
		if v.Forget {
			if c.Open {
				e.revise()
			}
			c.dropUnalerted()
		}
		if c.Open { // this time does not count
			c.Blind += max(0, s.To.Sub(c.JudgedUntil))
			c.JudgedUntil = instant.Latest(s.To, c.JudgedUntil)
		}
		return 0
	}
	if !c.Seen || c.Unjudged > 0 {
		e.revise()
	}
	at, until := s.From, s.judgedUntil(d)
	if unseen := at.Sub(c.JudgedUntil); unseen > 0 {
		c.Blind, c.Unjudged = c.Blind+min(unseen, c.Unjudged), 0
	}
	if c.Seen {
		at = instant.Latest(at, c.JudgedUntil)
	}
	for _, b := range v.Bad {
		if !b.To.After(at) {
			continue
		}
		// Sound may fade out in the first milliseconds of a silent segment. The gap
		// does not interrupt the silence.
		continued := at.Equal(s.From) && b.From.Sub(at) <= boundaryTolerance
		if b.From.After(at) && !continued {
			c.recover(d, at, e)
		}
		if !c.Open {
			c.Open, c.Onset = true, instant.Latest(at, b.From)
			if d.Rule != nil && b.From.Before(s.From) {
				c.Onset = b.From // suspected before, and proved now
			}
		}
		if throughout := s.coveredBy(b); throughout != c.LastBadThroughout {
			c.LastBadThroughout = throughout
			e.revise()
		}
		c.BadUntil, at = b.To, b.To
		if lasted := c.BadUntil.Sub(c.Onset) - c.Blind; !c.Alerted && lasted >= threshold {
			c.Alerted = true
			alerts++
			e.emit(event.Type(d.Alert), event.Alert{
				DurationSec:  wholeSeconds(lasted),
				StartedAt:    c.Onset,
				ThresholdSec: wholeSeconds(threshold),
				SegmentInfo:  event.SegmentInfo{Sequence: s.segment.Sequence, Duration: s.segment.Duration.Seconds()},
				Measured:     v.Values,
				Reference:    v.Reference,
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
	*c = condition{Seen: c.Seen, JudgedUntil: c.JudgedUntil, Memory: c.Memory, Since: c.Since, CloselySince: c.CloselySince, Values: c.Values}
}

// judge returns what a detector makes of a sample. The caller applies samples in the order of media
// time; an older one than those tells nothing to a Rule.
func (c *condition) judge(d detector.Detector, s sample, r Rules) detector.Verdict {
	if d.Rule == nil {
		return s.verdicts[d.Name]
	}
	if c.Seen && !s.To.After(c.JudgedUntil) {
		return detector.Verdict{Unknown: true}
	}
	s.Before, s.ScheduledStart, s.References = c.JudgedUntil, r.ScheduledStart, r.References
	var v detector.Verdict
	c.Memory, v = d.Judge(c.Memory, c.Since, s.Sample, r.setting)
	c.Since, c.Unknown = v.Since, v.Unknown
	switch {
	case !v.Closely:
		c.CloselySince = time.Time{}
	case c.CloselySince.IsZero():
		c.CloselySince = s.From
	}
	if v.Values != nil {
		c.Values = v.Values
	}
	return v
}

// bad reports whether the condition lasts for long enough that health shows it.
func (c *condition) bad(d detector.Detector) bool {
	return c.Open && c.BadUntil.Sub(c.Onset) >= d.Minimum
}

// dropUnalerted resets a condition that was not alerted, because bad media before
// and after a long outage are not one condition (decision S20). An alerted
// condition stays open until media are good.
func (c *condition) dropUnalerted() {
	if !c.Alerted {
		*c = condition{Memory: c.Memory}
	}
}

// shift moves the condition with the media timeline.
func (c *condition) shift(d time.Duration) {
	for _, t := range []*time.Time{&c.Onset, &c.JudgedUntil, &c.BadUntil, &c.Since, &c.CloselySince} {
		if !t.IsZero() {
			*t = t.Add(d)
		}
	}
}

// thresholdAt returns the earliest media time at which the condition could reach
// the threshold; zero: the condition is not open, was alerted, or is unknown for now, so that it
// comes no nearer to the threshold.
func (c *condition) thresholdAt(threshold time.Duration) time.Time {
	if !c.Open || c.Alerted || c.Unknown {
		return time.Time{}
	}
	return c.Onset.Add(threshold + c.Blind)
}

// looksForRecovery reports whether each new segment is analysed, to find the recovery early
// (decision S18): until recoveryLooks after the alert. Without this limit, a stream without
// sound would always cost several times as much as a calm one. A sample that told nothing shows no
// recovery either, and its time has no such limit.
func (c *condition) looksForRecovery(threshold time.Duration) bool {
	return c.Open && c.Alerted && !c.Unknown && c.BadUntil.Sub(c.Onset) < threshold+recoveryLooks
}

// looksClosely reports whether a detector with a Rule has every frame of a segment decoded. It has while
// its verdicts ask for it, up to recoveryLooks beyond the threshold.
func (c *condition) looksClosely(threshold time.Duration, s Segment) bool {
	return !c.CloselySince.IsZero() && s.ProgramTime.Sub(c.CloselySince) < threshold+recoveryLooks
}
