package incident

import (
	"slices"
	"time"
)

// MaxSpans limits the spans that a condition keeps. Beyond it, the two with the shortest gap
// between them become one.
const MaxSpans = 200

// Span is a time in which a condition was there.
type Span struct {
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"` // zero: it lasts; only of the last span
}

// beginSpan returns the spans with one more, which lasts. It begins with the earliest of
// those that were not over by then.
func beginSpan(all []Span, at time.Time) []Span {
	first := slices.IndexFunc(all, func(s Span) bool { return s.EndedAt.IsZero() || !s.EndedAt.Before(at) })
	if first < 0 {
		first = len(all)
	} else if all[first].StartedAt.Before(at) {
		at = all[first].StartedAt
	}
	all = append(slices.Clone(all[:first]), Span{StartedAt: at})
	if len(all) > MaxSpans {
		all = mergeNearest(all)
	}
	return all
}

// mergeNearest joins the two spans with the shortest gap between them.
func mergeNearest(all []Span) []Span {
	nearest := 1
	for n := range all {
		if n > 0 && all[n].StartedAt.Sub(all[n-1].EndedAt) < all[nearest].StartedAt.Sub(all[nearest-1].EndedAt) {
			nearest = n
		}
	}
	all[nearest-1].EndedAt = all[nearest].EndedAt
	return slices.Delete(all, nearest, nearest+1)
}

// Total adds up how long spans are. A span that lasts counts until now.
func Total(all []Span, now time.Time) (sum time.Duration) {
	for _, s := range all {
		if s.EndedAt.IsZero() {
			s.EndedAt = now
		}
		sum += max(0, s.EndedAt.Sub(s.StartedAt))
	}
	return sum
}
