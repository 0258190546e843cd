package watch

import "time"

// mediaTime is the media timeline of a feed (decision S1). The timeline is program
// time or, for a playlist without program time, the time of its readings.
type mediaTime struct {
	End     time.Time     `json:"end,omitzero"`       // of the newest segment
	MinLag  time.Duration `json:"min_lag"`            // the shortest lag seen: a playlist's reading minus the end of its newest segment
	Started bool          `json:"started"`            // a segment has been observed
	ByFetch bool          `json:"by_fetch,omitempty"` // the playlist has no program time
}

// placeSegments gives every segment of a playlist a ProgramTime. A newest segment
// without one ends when the playlist was read. Each earlier segment ends where
// its successor starts.
func placeSegments(segments []Segment, read time.Time) []Segment {
	placed := make([]Segment, len(segments))
	next := read
	for i := len(segments) - 1; i >= 0; i-- {
		placed[i] = segments[i]
		if placed[i].ProgramTime.IsZero() {
			placed[i].ProgramTime, placed[i].TimeEstimated = next.Add(-placed[i].Duration), true
		}
		next = placed[i].ProgramTime
	}
	return placed
}

// update takes in the newest segment of a playlist. It returns a shift if the
// stream's program time was reset, and zero otherwise. A reset shows in a segment
// that ends before its predecessor, or in a lag far below MinLag. Copies of different age
// show the same, but on the same line as their predecessor, where nothing was reset. The
// caller adds the shift to all times of the old timeline.
func (c *mediaTime) update(newest Segment, read time.Time, sameLine bool, e *emitter) (shift time.Duration) {
	end := newest.End()
	lag := read.Sub(end)
	reset := c.Started && !sameLine && (end.Before(c.End) || lag < c.MinLag-clockSlack)
	if reset {
		// A segment that ended at program time t was read at t+MinLag by the clock. On the
		// new timeline, a segment read at that moment ends at t+MinLag−lag.
		shift = c.MinLag - lag
	}
	if !c.Started || reset || lag < c.MinLag {
		c.MinLag = lag
		e.revise()
	}
	if c.ByFetch != newest.TimeEstimated {
		c.ByFetch = newest.TimeEstimated
		e.revise()
	}
	c.Started, c.End = true, end
	return shift
}

// End returns the end of a segment on the media timeline. Its ProgramTime is set.
func (s Segment) End() time.Time { return s.ProgramTime.Add(s.Duration) }

// handleClockStep goes on after the machine's clock was set. Times of the old
// clock move with it, so all durations stay as they are. A suspended machine
// looks the same, so the resolve and media lanes begin again as after a restart.
func (w *Watcher) handleClockStep(o ClockStep) {
	w.state.shiftClock(o.By)
	w.state.resume(w.now, 0)
	w.logWarn("The clock of this machine was set; monitoring goes on by the new time", map[string]any{
		"step_sec": o.By.Seconds(),
	})
}

// shiftClock adds d to all times that were read from the machine's clock. Without
// it, a clock set back by an hour would leave them an hour in the future, and an
// outage would be alerted an hour late. Media times stay, except on a timeline
// without program time.
func (s *state) shiftClock(d time.Duration) {
	shift := func(times ...*time.Time) {
		for _, t := range times {
			if !t.IsZero() {
				*t = t.Add(d)
			}
		}
	}
	r := &s.Resolve
	shift(&r.LastBegan, &r.QuotaWholeAt, &r.ProbeAt, &r.Claim.At, &s.Manifest.AdoptedAt)
	shift(&s.Blind.Since, &s.Blind.ObservedAt, &s.Blind.UnansweredAt, &s.Blind.ResumedAt)
	shift(&s.Official.ChangedAt)
	s.Official.AskedAt = time.Time{} // how old it is now, nobody knows
	shift(&s.NoData.Since, &s.NoData.AskedAt, &s.NoData.AlertedAt)
	shift(&s.Others.ReadAt, &s.Others.TurnAt, &s.Text.ReadAt, &s.Text.NewAt)
	for _, r := range s.Others.All {
		shift(&r.LookedAt, &r.Since, &r.MovedAt, &r.foundAt)
	}
	for _, f := range s.Feeds {
		shift(&f.Newest.SeenAt, &f.Newest.Since, &f.Outage.Since, &f.Outage.FailedAt, &f.Outage.RenewAt, &f.Outage.LookAt, &f.Outage.DueAt)
		if !f.Clock.ByFetch {
			// MinLag does not grow with a clock that jumps forward. After a
			// suspension the lag is as before, and update would see a reset.
			f.Clock.MinLag += min(d, 0)
			continue
		}
		shift(&f.Clock.End)
		s.Conditions.shift(f.Tracks, d)
	}
}
