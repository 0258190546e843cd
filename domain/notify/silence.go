package notify

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Forever is later than the end of every silence. It stands for what has no end that is known.
var Forever = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// Silence holds back messages about incidents. It never holds back the recovery of an
// incident that a destination was notified of, nor any webhook.
type Silence struct {
	ID        string    `json:"silence_id"` // a UUIDv7
	Match     Match     `json:"match"`
	StartsAt  time.Time `json:"from"`
	EndsAt    time.Time `json:"to"`      // zero: see UntilRecovered and Window
	CreatedBy string    `json:"by"`      // 1 to 100 characters
	Comment   string    `json:"comment"` // at most 500 characters

	// UntilRecovered ends the silence when an incident that it matches is resolved or its monitor has
	// ended: the store then ends it. Match names exactly one monitor.
	UntilRecovered bool `json:"until_recovered"`

	// Window repeats the silence between StartsAt and EndsAt; nil: it lasts from one to the other.
	Window *Window `json:"window"`

	// SkipUntil is when a silence with a Window goes on: until then it holds nothing back. So one of its occurrences ends, and the
	// others stay. Zero: nothing is skipped.
	SkipUntil time.Time `json:"skip_until"`

	Owner   string    `json:"owner"` // names the configuration file that manages it; empty: managed by hand
	EndedAt time.Time `json:"-"`     // by a person or a recovery, or EndsAt when that is over; zero: it has not ended
}

// OfEverything reports whether the silence holds back the messages about every incident of every stream.
func (s Silence) OfEverything() bool {
	m := s.Match
	if m.MaxSeverity != nil && *m.MaxSeverity == incident.MaxSeverity {
		m.MaxSeverity = nil
	}
	return m.isEmpty()
}

// SilenceState says whether a silence holds messages back.
type SilenceState string

// The states of a silence.
const (
	SilenceScheduled SilenceState = "scheduled"
	SilenceActive    SilenceState = "active"
	SilenceEnded     SilenceState = "ended"
)

// State returns the state at a time.
func (s Silence) State(at time.Time) SilenceState {
	switch {
	case !s.EndedAt.IsZero():
		return SilenceEnded
	case s.Active(at):
		return SilenceActive
	case s.NextAt(at).IsZero():
		return SilenceEnded
	}
	return SilenceScheduled
}

// Active reports whether the silence holds messages back at a time.
func (s Silence) Active(at time.Time) bool { return s.ActiveUntil(at).After(at) }

// ActiveUntil returns when the silence that is active at a time ends for now. Zero: it is not
// active. Forever: no end is known.
func (s Silence) ActiveUntil(at time.Time) time.Time {
	to := s.EndsAt
	if to.IsZero() {
		to = Forever
	}
	if at.Before(s.goesOnAt()) || !at.Before(to) {
		return time.Time{}
	}
	if s.Window == nil {
		return to
	}
	if end := s.Window.activeUntil(at); end.Before(to) {
		return end
	}
	return to
}

// goesOnAt returns when the silence begins, or goes on after what is skipped.
func (s Silence) goesOnAt() time.Time { return instant.Latest(s.StartsAt, s.SkipUntil) }

// NextAt returns when a silence that is not active at a time becomes active. Zero: never,
// or it is active.
func (s Silence) NextAt(at time.Time) time.Time {
	next := instant.Latest(at, s.goesOnAt())
	if s.Window != nil {
		if start, _ := s.Window.nextOccurrence(next); start.IsZero() || start.After(next) {
			next = start
		}
	}
	if !next.After(at) || !s.EndsAt.IsZero() && !next.Before(s.EndsAt) {
		return time.Time{}
	}
	return next
}

// Check returns what is wrong, as Destination.Check does. The zone of a Window is loaded.
func (s Silence) Check(now time.Time) (problems []error) {
	problems = s.Match.Check()
	if len(s.Match.Hints) > 0 {
		problems = addProblem(problems, "match.hints", "is for routes: a silence of incidents holds back the hints about their streams, too")
	}
	problems = checkText(problems, "by", s.CreatedBy, 1, MaxName)
	problems = checkText(problems, "comment", s.Comment, 0, MaxComment)
	problems = checkTime(problems, "from", s.StartsAt)
	switch {
	case s.EndsAt.IsZero() && !s.UntilRecovered && s.Window == nil:
		problems = addProblem(problems, "to", "is missing: a silence needs to, until_recovered or window")
	case s.EndsAt.IsZero():
	case !s.EndsAt.After(s.StartsAt):
		problems = addProblem(problems, "to", "must be after from")
	case !s.EndsAt.After(now):
		problems = addProblem(problems, "to", "is over already")
	default:
		problems = checkTime(problems, "to", s.EndsAt)
	}
	if s.UntilRecovered && len(s.Match.Monitors) != 1 {
		problems = addProblem(problems, "match.monitors", "has %d entries; until_recovered needs exactly one", len(s.Match.Monitors))
	}
	if s.UntilRecovered && s.Window != nil {
		problems = addProblem(problems, "until_recovered", "cannot be given with window")
	}
	if s.Window != nil {
		problems = append(problems, s.Window.check("window")...)
	}
	if !s.SkipUntil.IsZero() {
		if problems = checkTime(problems, "skip_until", s.SkipUntil); s.Window == nil {
			problems = addProblem(problems, "skip_until", "is given without window; end the silence instead")
		}
	}
	return checkOwner(problems, s.Owner)
}

func checkTime(problems []error, field string, at time.Time) []error {
	return addError(problems, monitor.ValidTime(field, at))
}
