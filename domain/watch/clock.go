package watch

import "time"

// clock puts segments on the media timeline (decision S1): by their
// PROGRAM-DATE-TIME or, where there is none, by the time they were fetched.
type clock struct {
	End time.Time     `json:"end,omitzero"` // of the newest segment placed
	Lag time.Duration `json:"lag"`          // least time seen between a segment's end and its sighting
	Set bool          `json:"set"`
	Own bool          `json:"own,omitempty"` // no program time is stated: the timeline is the clock's
}

// place gives every segment of a playlist a ProgramTime. Where the newest has
// none, it is taken to end at the moment of the reading; the others follow
// backwards by their durations.
func place(segments []Segment, read time.Time) []Segment {
	placed := make([]Segment, len(segments))
	next := read
	for i := len(segments) - 1; i >= 0; i-- {
		placed[i] = segments[i]
		if placed[i].ProgramTime.IsZero() {
			placed[i].ProgramTime = next.Add(-placed[i].Duration)
		}
		next = placed[i].ProgramTime
	}
	return placed
}

// see takes note of the newest segment and returns by how much program time was
// reset: a segment that lies before what was already seen, or further ahead
// than the time that passed allows, starts a new time. What is remembered of
// the old one must be moved by the shift to stay at its distance from now.
func (c *clock) see(newest Segment, read time.Time) (shift time.Duration) {
	end := newest.end()
	lag := read.Sub(end)
	switch {
	case !c.Set:
		c.Set, c.Lag = true, lag
	case end.Before(c.End) || lag < c.Lag-clockSlack:
		// Old time t was seen about at t+Lag; in the new time that is t+Lag−lag.
		shift = c.Lag - lag
		c.Lag = lag
	default:
		c.Lag = min(c.Lag, lag)
	}
	c.End = end
	return shift
}

func (s Segment) start() time.Time { return s.ProgramTime }
func (s Segment) end() time.Time   { return s.ProgramTime.Add(s.Duration) }
