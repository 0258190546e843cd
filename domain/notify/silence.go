package notify

import (
	"fmt"
	"slices"
	"time"

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

	Owner   string    `json:"owner"` // names the configuration file that manages it; empty: managed by hand
	EndedAt time.Time `json:"-"`     // by a person or a recovery, or EndsAt when that is over; zero: it has not ended
}

// Window is a recurring time of maintenance. A local time that daylight saving skips means
// the instant of the change; one that occurs twice means the first.
type Window struct {
	Weekdays []string `json:"weekdays"` // on which it begins, such as mon; empty: every day
	Start    string   `json:"start"`    // "02:00", by the clock of Timezone
	End      string   `json:"end"`      // "04:00"; not after Start: of the next day
	Timezone string   `json:"timezone"` // IANA name

	// Zone is that of Timezone. LoadZone sets it, because the domain reads no files. nil: the
	// zone is unknown, and the window is never open.
	Zone *time.Location `json:"-"`
}

// weekdays are the names of the days, as time.Weekday counts them.
var weekdays = [...]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// LoadZone sets Zone by the name in Timezone. Callers pass time.LoadLocation.
func (w *Window) LoadZone(load func(name string) (*time.Location, error)) error {
	if w.Timezone == "" || w.Timezone == "Local" { // these depend on the machine or are no choice
		return fmt.Errorf("window.timezone is %q, which is no IANA name", w.Timezone)
	}
	zone, err := load(w.Timezone)
	if err != nil {
		return fmt.Errorf("window.timezone: %w", err)
	}
	w.Zone = zone
	return nil
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
	if at.Before(s.StartsAt) || !at.Before(to) {
		return time.Time{}
	}
	if s.Window == nil {
		return to
	}
	start, end := s.Window.nextOccurrence(at)
	switch {
	case start.IsZero() || start.After(at):
		return time.Time{}
	case end.After(to):
		return to
	}
	return end
}

// NextAt returns when a silence that is not active at a time becomes active. Zero: never,
// or it is active.
func (s Silence) NextAt(at time.Time) time.Time {
	next := at
	if next.Before(s.StartsAt) {
		next = s.StartsAt
	}
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

// nextOccurrence returns the next time of the window that ends after a time. Zero: it is never open.
func (w *Window) nextOccurrence(after time.Time) (start, end time.Time) {
	from, errFrom := clockTime(w.Start)
	to, errTo := clockTime(w.End)
	if w.Zone == nil || errFrom != nil || errTo != nil {
		return time.Time{}, time.Time{}
	}
	if to <= from {
		to += 24 * time.Hour
	}
	local := after.In(w.Zone)
	for day := -1; day <= 8; day++ { // from that of yesterday, which may reach into today
		midnight := time.Date(local.Year(), local.Month(), local.Day()+day, 0, 0, 0, 0, time.UTC)
		if len(w.Weekdays) > 0 && !slices.Contains(w.Weekdays, weekdays[midnight.Weekday()]) {
			continue
		}
		start, end = atWallClock(midnight.Add(from), w.Zone), atWallClock(midnight.Add(to), w.Zone)
		if end.After(after) && start.Before(end) {
			return start, end
		}
	}
	return time.Time{}, time.Time{}
}

// atWallClock returns when the clocks of a zone show what clock shows in UTC.
func atWallClock(clock time.Time, zone *time.Location) time.Time {
	shown := func(t time.Time) time.Time {
		_, offset := t.Zone()
		return t.UTC().Add(time.Duration(offset) * time.Second)
	}
	t := time.Date(clock.Year(), clock.Month(), clock.Day(), clock.Hour(), clock.Minute(), 0, 0, zone)
	began, ends := t.ZoneBounds()
	switch shown := shown(t); {
	case shown.After(clock): // the clocks have skipped it
		return began
	case shown.Before(clock): // they are about to
		return ends
	case began.IsZero():
		return t
	}
	_, before := began.Add(-1).Zone()
	_, now := t.Zone()
	if first := t.Add(time.Duration(now-before) * time.Second); first.Before(began) && shown(first).Equal(clock) {
		return first
	}
	return t
}

// clockTime returns the time since midnight of "15:04".
func clockTime(s string) (time.Duration, error) {
	t, err := time.Parse("15:04", s)
	if err != nil || len(s) != len("15:04") {
		return 0, fmt.Errorf("is %.20q; accepted is a time such as 02:00", s)
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
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
		problems = append(problems, s.Window.check()...)
	}
	return checkOwner(problems, s.Owner)
}

func checkTime(problems []error, field string, at time.Time) []error {
	return addError(problems, monitor.ValidTime(field, at))
}

func (w *Window) check() (problems []error) {
	for n, day := range w.Weekdays {
		if !slices.Contains(weekdays[:], day) || slices.Contains(w.Weekdays[:n], day) {
			problems = addProblem(problems, "window.weekdays", "has %.20q, or has it twice; accepted are mon, tue, wed, thu, fri, sat, sun", day)
		}
	}
	if _, err := clockTime(w.Start); err != nil {
		problems = addProblem(problems, "window.start", "%v", err)
	}
	if _, err := clockTime(w.End); err != nil {
		problems = addProblem(problems, "window.end", "%v", err)
	}
	if w.Zone == nil {
		problems = addProblem(problems, "window.timezone", "is %.60q; accepted is an IANA name such as Asia/Tokyo", w.Timezone)
	}
	return problems
}
