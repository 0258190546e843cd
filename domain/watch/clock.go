package watch

import "time"

// mediaTime is the media timeline of a feed (decision S1): program time or, where
// none is stated, the time at which segments were fetched.
type mediaTime struct {
	End     time.Time     `json:"end,omitzero"`  // of the newest segment
	Lag     time.Duration `json:"lag"`           // shortest time seen from a segment's end to its reading
	Set     bool          `json:"set"`           // a segment has been observed
	ByFetch bool          `json:"own,omitempty"` // no program time is stated
}

// placeSegments gives every segment of a playlist a ProgramTime. A newest segment
// without one is taken to end when the playlist was read; the others precede it
// by their durations.
func placeSegments(segments []Segment, read time.Time) []Segment {
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

// observe takes in the newest segment and returns by how much program time was
// reset. A segment before the last one, or further ahead than the time that passed
// allows, begins a new timeline. Times on the old one must be moved by the shift
// to keep their distance from now.
func (c *mediaTime) observe(newest Segment, read time.Time) (shift time.Duration) {
	end := newest.end()
	lag := read.Sub(end)
	switch {
	case !c.Set:
		c.Set, c.Lag = true, lag
	case end.Before(c.End) || lag < c.Lag-clockSlack:
		// Old time t was read about at t+Lag; on the new timeline that is t+Lag−lag.
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

// stepClock goes on after the machine's clock was set. Durations so far stay as
// they are, and later times are of the new clock. A machine that was suspended
// looks the same: nobody watched meanwhile. Open questions are asked again at
// once, as after a restart.
func (w *Watcher) stepClock(o ClockStep) {
	w.state.shiftClock(o.By)
	w.state.resume(w.now, 0)
	w.logWarn("The clock of this machine was set; monitoring goes on by the new time", map[string]any{
		"step_sec": o.By.Seconds(),
	})
}

// shiftClock moves all times of the machine's clock by d. Without it, a clock
// that is set back by an hour would hide new failures for an hour. Times of the
// media stay, except on a timeline that follows the clock.
func (s *state) shiftClock(d time.Duration) {
	shift := func(times ...*time.Time) {
		for _, t := range times {
			if !t.IsZero() {
				*t = t.Add(d)
			}
		}
	}
	r := &s.Resolve
	shift(&r.Began, &r.RenewAt, &r.Renewed, &r.ProbedAt, &r.Claim.At, &s.Manifest.Since)
	shift(&s.Blind.Since, &s.Blind.ObservedAt, &s.Blind.UnansweredAt, &s.Blind.ResumedAt)
	for _, f := range s.Feeds {
		shift(&f.Newest.SeenAt, &f.Outage.Since, &f.Outage.FailedAt)
		if !f.Clock.ByFetch {
			// The lag stays when the clock is put forward: if the machine was
			// suspended, a larger lag would pass for a reset of program time.
			f.Clock.Lag += min(d, 0)
			continue
		}
		shift(&f.Clock.End)
		for _, judged := range detectorsOf(f.Tracks) {
			s.Conditions.of(judged).shift(d)
		}
	}
}
