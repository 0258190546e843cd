package incident

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// MaxSeverity is the highest severity; the lowest is 0.
const MaxSeverity = 3

// severities is the table of section 16.1 but for the conditions of detectors. Each row is
// ascending and begins at 0 s.
var severities = map[Name][]detector.Rise{
	Late:    {{Severity: 0}, {After: 10 * time.Minute, Severity: 1}, {After: 30 * time.Minute, Severity: 2}},
	NoMedia: {{Severity: 2}, {After: 5 * time.Minute, Severity: 3}},
	Blind:   {{Severity: 0}, {After: 15 * time.Minute, Severity: 1}, {After: time.Hour, Severity: 2}},
	Error:   {{Severity: 2}},
}

// risesOf returns the severities of a condition. Those of a detector that this program does not
// have are the usual ones.
func risesOf(name Name) []detector.Rise {
	if row, is := severities[name]; is {
		return row
	}
	d, _ := detector.Of(name)
	return d.Severities()
}

// severityOf is the severity of a condition whose episode has lasted for d.
func severityOf(name Name, d time.Duration) (severity int) {
	for _, r := range risesOf(name) {
		if d >= r.After {
			severity = r.Severity
		}
	}
	return severity
}

// unseen returns how much of a condition's newest episode, until a time, was blind.
// Nothing is known of the stream then, so only Blind itself gets worse (section 7.6, S6).
func (all Conditions) unseen(c Condition, until time.Time) (sum time.Duration) {
	blind := all.named(Blind)
	if blind == nil || c.Name == Blind {
		return 0
	}
	for _, s := range blind.Spans {
		to := s.EndedAt
		if to.IsZero() || until.Before(to) {
			to = until
		}
		sum += max(0, to.Sub(instant.Latest(s.StartedAt, c.LastStartedAt)))
	}
	return sum
}

// severityOf is the severity of one of them that lasts at a time.
func (all Conditions) severityOf(c Condition, at time.Time) int {
	return severityOf(c.Name, c.lasted(at)-all.unseen(c, at))
}

// Worst returns the worst condition that lasts, the first of several, and its severity; ok is
// false if none lasts.
func (all Conditions) Worst(now time.Time) (name Name, severity int, ok bool) {
	for _, c := range all.Lasting() {
		if of := all.severityOf(c, now); !ok || of > severity {
			name, severity, ok = c.Name, of, true
		}
	}
	return name, severity, ok
}

// IsWorst reports whether a condition lasts and none is more severe, or none lasts at all.
func (all Conditions) IsWorst(name Name, now time.Time) bool {
	_, worst, lasts := all.Worst(now)
	c := all.lasting(name)
	return !lasts || c != nil && all.severityOf(*c, now) == worst
}

// severityAt is the severity of what lasts at a time: that of the worst, and one more while
// picture and sound are bad together.
func (all Conditions) severityAt(at time.Time) int {
	_, severity, _ := all.Worst(at)
	return min(severity+all.bothTracks(), MaxSeverity)
}

// bothTracks is 1 while detectors of picture and of sound find trouble, else 0.
func (all Conditions) bothTracks() int {
	bad := map[detector.Track]bool{}
	for _, d := range detector.Table {
		if all.lasting(d.Condition) != nil {
			bad[d.Track] = true
		}
	}
	if bad[detector.Video] && bad[detector.Audio] {
		return 1
	}
	return 0
}

// nextRise is when the severity rises above the one of now if nothing else happens; zero: never.
func (all Conditions) nextRise(severityNow int) (at time.Time) {
	more := all.bothTracks()
	for _, c := range all.Lasting() {
		if c.Name != Blind && all.lasting(Blind) != nil { // nobody sees it get worse
			continue
		}
		var unseen time.Duration
		if blind := all.named(Blind); blind != nil {
			unseen = all.unseen(c, blind.EndedAt)
		}
		for _, r := range risesOf(c.Name) {
			if min(r.Severity+more, MaxSeverity) > severityNow {
				at = instant.Earliest(at, c.LastStartedAt.Add(r.After+unseen))
			}
		}
	}
	return at
}

// FirstSeverity is the severity with which an incident begins in which conditions are found at their onset, together.
func FirstSeverity(names ...Name) int {
	var all Conditions
	for _, name := range names {
		all = append(all, Condition{Name: name})
	}
	return all.severityAt(time.Time{})
}
