package notify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// MaxWindows is the maximum number of windows of a route or of a person.
const MaxWindows = 20

// Window is a recurring time of day, from Start until just before End. A local time that daylight saving skips means
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
		return fmt.Errorf("timezone is %q, which is no IANA name", w.Timezone)
	}
	zone, err := load(w.Timezone)
	if err != nil {
		return fmt.Errorf("timezone: %w", err)
	}
	w.Zone = zone
	return nil
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
	// From the day before, which may reach into this one, to a week after one on which the clocks skip the whole window.
	for day := -1; day <= 15; day++ {
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

// activeUntil returns when the window ends that is open at a time. Zero: it is not open.
func (w *Window) activeUntil(at time.Time) time.Time {
	start, end := w.nextOccurrence(at)
	if start.IsZero() || start.After(at) {
		return time.Time{}
	}
	return end
}

// nextChange returns when the window opens or ends next. Zero: it is never open.
func (w *Window) nextChange(after time.Time) time.Time {
	start, end := w.nextOccurrence(after)
	if start.After(after) {
		return start
	}
	return end
}

// anyOpen reports whether one of the windows is open at a time.
func anyOpen(windows []Window, at time.Time) bool {
	return slices.ContainsFunc(windows, func(w Window) bool { return !w.activeUntil(at).IsZero() })
}

// nextChange returns when one of the windows opens or ends next. Zero: none ever does.
func nextChange(windows []Window, after time.Time) (at time.Time) {
	for _, w := range windows {
		at = instant.Earliest(at, w.nextChange(after))
	}
	return at
}

// LoadZones sets the zones of windows, as Window.LoadZone does. One that cannot be loaded stays nil.
func LoadZones(windows []Window, load func(name string) (*time.Location, error)) {
	for n := range windows {
		_ = windows[n].LoadZone(load)
	}
}

// String returns the window as reasons show it, such as "mon tue 22:00-06:00 Asia/Tokyo".
func (w *Window) String() string {
	return strings.Join(append(slices.Clone(w.Weekdays), w.Start+"-"+w.End, w.Timezone), " ")
}

// explainWindows says whether one of the windows is open at a time, by the clock of the first.
func explainWindows(windows []Window, at time.Time) Reason {
	var wanted []string
	for _, w := range windows {
		wanted = append(wanted, w.String())
	}
	got := at.UTC()
	if zone := windows[0].Zone; zone != nil {
		got = at.In(zone)
	}
	return Reason{"windows", strings.Join(wanted, ", "), strings.ToLower(got.Format("Mon 15:04 ")) + windows[0].Timezone, anyOpen(windows, at)}
}

// checkWindows returns what is wrong with the windows in a field. Their zones are loaded.
func checkWindows(problems []error, field string, windows []Window) []error {
	if len(windows) > MaxWindows {
		return addProblem(problems, field, "has %d entries; accepted are up to %d", len(windows), MaxWindows)
	}
	for n, w := range windows {
		problems = append(problems, w.check(fmt.Sprintf("%s[%d]", field, n))...)
	}
	return problems
}

func (w *Window) check(field string) (problems []error) {
	for n, day := range w.Weekdays {
		if !slices.Contains(weekdays[:], day) || slices.Contains(w.Weekdays[:n], day) {
			problems = addProblem(problems, field+".weekdays", "has %.20q, or has it twice; accepted are mon, tue, wed, thu, fri, sat, sun", day)
		}
	}
	if _, err := clockTime(w.Start); err != nil {
		problems = addProblem(problems, field+".start", "%v", err)
	}
	if _, err := clockTime(w.End); err != nil {
		problems = addProblem(problems, field+".end", "%v", err)
	}
	if w.Zone == nil {
		problems = addProblem(problems, field+".timezone", "is %.60q; accepted is an IANA name such as Asia/Tokyo", w.Timezone)
	}
	return problems
}
