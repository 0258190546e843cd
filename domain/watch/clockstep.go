package watch

import "time"

// stepClock goes on after the machine's clock was set. Durations so far stay as
// they are, and what is stamped from now on is on the new time. A machine that was
// suspended looks the same: nobody watched meanwhile. What is in doubt is asked
// again at once, as after a restart.
func (w *Watcher) stepClock(o ClockStep) {
	w.life.shiftClock(o.By)
	w.life.resume(w.now, 0)
	w.note(true, "The clock of this machine was set; monitoring goes on by the new time", map[string]any{
		"step_sec": o.By.Seconds(),
	})
}

// shiftClock moves what is remembered by the clock by d. Without it, a clock that
// is set back by an hour would hide for an hour what is seen from now on. Times of
// the media are their own and stay, but those of a stream that states none: they
// are on the clock's time.
func (l *life) shiftClock(d time.Duration) {
	shift := func(times ...*time.Time) {
		for _, t := range times {
			if !t.IsZero() {
				*t = t.Add(d)
			}
		}
	}
	a := &l.Asking
	shift(&a.Began, &a.RenewAt, &a.Renewed, &a.ProbedAt, &a.Claim.At, &l.Manifest.Since, &l.Blind.Since, &l.Blind.ObservedAt, &l.Blind.UnansweredAt, &l.Blind.ResumedAt)
	for _, f := range l.Feeds {
		shift(&f.Newest.Moved, &f.Outage.Since, &f.Outage.Last)
		if !f.Clock.Own {
			// Of a clock that was put forward the lag stays: had the machine been
			// suspended, a larger one would pass for a reset of program time.
			f.Clock.Lag += min(d, 0)
			continue
		}
		shift(&f.Clock.End)
		for _, judged := range detectorsOf(f.Tracks) {
			l.Conditions.of(judged).shift(d)
		}
	}
}
