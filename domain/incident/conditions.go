package incident

import (
	"slices"
	"time"
)

// Conditions are those of an incident, in the order in which they first began. Each name is there
// at most once.
type Conditions []Condition

// named returns the condition with a name; nil: the incident has no such condition.
func (all Conditions) named(name Name) *Condition {
	n := slices.IndexFunc(all, func(c Condition) bool { return c.Name == name })
	if n < 0 {
		return nil
	}
	return &all[n]
}

// lasting returns the condition with a name; nil: it does not last.
func (all Conditions) lasting(name Name) *Condition {
	if c := all.named(name); c != nil && c.Lasts() {
		return c
	}
	return nil
}

// Names returns the names of all.
func (all Conditions) Names() (names []Name) {
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}

// Lasting returns those that last.
func (all Conditions) Lasting() (lasting Conditions) {
	for _, c := range all {
		if c.Lasts() {
			lasting = append(lasting, c)
		}
	}
	return lasting
}

// quietSince is when the last condition ended; over is false while one lasts.
func (all Conditions) quietSince() (at time.Time, over bool) {
	for _, c := range all {
		if c.Lasts() {
			return time.Time{}, false
		}
		if c.EndedAt.After(at) {
			at = c.EndedAt
		}
	}
	return at, true
}

// end ends all but error: only a person or time ends that.
func (all Conditions) end(at time.Time) {
	for n := range all {
		if c := &all[n]; c.Lasts() && c.Name != Error {
			c.end(at)
		}
	}
}

// Trouble returns when any condition was there: the spans of all, where those that overlap
// are one.
func (all Conditions) Trouble() (trouble []Span) {
	var spans []Span
	for _, c := range all {
		spans = append(spans, c.Spans...)
	}
	slices.SortFunc(spans, func(a, b Span) int { return a.StartedAt.Compare(b.StartedAt) })
	for _, s := range spans {
		last := len(trouble) - 1
		switch {
		case last < 0 || !trouble[last].EndedAt.IsZero() && s.StartedAt.After(trouble[last].EndedAt):
			trouble = append(trouble, s)
		case !trouble[last].EndedAt.IsZero() && (s.EndedAt.IsZero() || s.EndedAt.After(trouble[last].EndedAt)):
			trouble[last].EndedAt = s.EndedAt
		}
	}
	return trouble
}
