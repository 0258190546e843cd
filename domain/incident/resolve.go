package incident

import "time"

// resolveAtOnce ends the condition error alone: no person can end what goes on in the stream.
func (t *Tracker) resolveAtOnce(in Resolve) {
	t.passTime(t.now)
	if t.isOpen() {
		t.change(func(i *Incident) {
			for n := range i.Conditions {
				switch c := &i.Conditions[n]; {
				case c.Name == Error && c.Lasts():
					c.end(t.now)
				case c.Lasts():
					c.OpensAt = t.now.Add(ResolvedFor)
				}
			}
			i.State, i.ResolvedAt, i.ResolvedBy = Resolved, t.now, in.By
		})
	}
	t.log(Entry{Kind: WasResolved, At: t.now, By: in.By})
}

// goesOn reports whether a condition lasts in the incident that was resolved. Another episode of
// it is the same trouble. No recovery was reported: a worker that started without the state of
// the one before has found it anew.
func (t *Tracker) goesOn(name Name) bool {
	if t.newest == nil || t.newest.State != Resolved {
		return false
	}
	c := t.newest.condition(name)
	return c != nil && c.Lasts()
}

// waited reports whether an episode was detected before the incident was resolved.
func (t *Tracker) waited(in Began) bool {
	return t.newest != nil && t.newest.State == Resolved && in.At.Before(t.newest.ResolvedAt)
}

// beginResolved adds an episode to the incident that was resolved without knowing of it. The
// next Tick decides, because its end may have waited, too.
func (t *Tracker) beginResolved(in Began) {
	opensAt := t.newest.ResolvedAt
	if t.newest.ResolvedBy != "" && t.newest.condition(in.Condition) != nil {
		opensAt = opensAt.Add(ResolvedFor)
	}
	t.change(func(i *Incident) {
		i.begin(in)
		i.condition(in.Condition).OpensAt = opensAt
	})
	t.raise(in.At)
}

// openWhatLasts opens an incident with the conditions that go on for too long in a resolved one:
// a new incident if a person has resolved it, else the same one.
func (t *Tracker) openWhatLasts() {
	if t.newest == nil || t.newest.State != Resolved {
		return
	}
	if due := t.newest.DueAt(); due.IsZero() || due.After(t.now) {
		return
	}
	if t.newest.ResolvedBy == "" {
		t.change(func(i *Incident) { i.State, i.ResolvedAt = Open, time.Time{} })
		t.log(Entry{Kind: WasReopened, At: t.now})
	} else {
		t.open(t.now)
		t.change(func(i *Incident) { i.Severity = i.severityAt(t.now) })
	}
	t.passTime(t.now)
}

// open opens another incident. It takes over what lasts in the resolved one before it, with
// its onset.
func (t *Tracker) open(at time.Time) {
	next := &Incident{State: Open, OpenedAt: at, Quiet: FirstQuiet}
	if t.newest != nil {
		for _, c := range t.newest.Conditions {
			if c.Lasts() {
				next.begin(Began{Condition: c.Name, StartedAt: c.LastStartedAt, Alert: c.Alert})
			}
		}
		t.endAll(at)
	}
	t.newest = next
	t.log(Entry{Kind: WasOpened, At: at})
}

// endAll ends all conditions but error.
func (t *Tracker) endAll(at time.Time) {
	t.change(func(i *Incident) {
		for n := range i.Conditions {
			if c := &i.Conditions[n]; c.Lasts() && c.Name != Error {
				c.end(at)
			}
		}
	})
}
