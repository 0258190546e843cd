package watch

import "time"

// setBack moves what a snapshot remembers by the clock back by d. A successor's
// clock may be behind the one by which the snapshot was made: it was set back,
// or is another machine's. Unmoved, an hour would pass before what is seen now
// would count as new. A clock that was put forward cannot be told from a time in
// which nobody watched. Times of the media are their own and stay, but for
// streams that state none: those are on the clock's time.
func (l *life) setBack(d time.Duration) {
	back := func(times ...*time.Time) {
		for _, t := range times {
			if !t.IsZero() {
				*t = t.Add(-d)
			}
		}
	}
	a := &l.Asking
	back(&a.Began, &a.RenewAt, &a.Renewed, &a.ProbedAt, &l.Manifest.Since, &l.Blind.Since, &l.Blind.InVain)
	for _, f := range l.Feeds {
		back(&f.Newest.Moved, &f.Outage.Since, &f.Outage.Last)
		if !f.Clock.Own {
			f.Clock.Lag -= d
			continue
		}
		back(&f.Clock.End)
		for i := range l.Conditions {
			if f.Judges[i] {
				l.Conditions[i].shift(-d)
			}
		}
	}
}
