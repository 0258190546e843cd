package incident

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// MaxSeverity is the highest severity; the lowest is 0.
const MaxSeverity = 3

// rise says from which duration of an episode on a condition has a severity.
type rise struct {
	after    time.Duration
	severity int
}

// severities is the table of section 16.1. Each row is ascending and begins at 0 s.
var severities = map[Name][]rise{
	Late:    {{0, 0}, {10 * time.Minute, 1}, {30 * time.Minute, 2}},
	NoMedia: {{0, 2}, {5 * time.Minute, 3}},
	Blind:   {{0, 0}, {15 * time.Minute, 1}, {time.Hour, 2}},
	Error:   {{0, 2}},
}

// ofDetectors is the row of every detector's condition.
var ofDetectors = []rise{{0, 1}, {2 * time.Minute, 2}, {10 * time.Minute, 3}}

func risesOf(name Name) []rise {
	if row, is := severities[name]; is {
		return row
	}
	return ofDetectors
}

// severityOf is the severity of a condition whose episode has lasted for d.
func severityOf(name Name, d time.Duration) (severity int) {
	for _, r := range risesOf(name) {
		if d >= r.after {
			severity = r.severity
		}
	}
	return severity
}

// blindWithin returns how much of a condition's newest episode, until a time, was blind.
// Nothing is known of the stream then, so only Blind itself gets worse (section 7.6, S6).
func (i *Incident) blindWithin(c Condition, until time.Time) (sum time.Duration) {
	blind := i.condition(Blind)
	if blind == nil || c.Name == Blind {
		return 0
	}
	for _, s := range blind.Spans {
		from, to := s.StartedAt, s.EndedAt
		if from.Before(c.LastStartedAt) {
			from = c.LastStartedAt
		}
		if to.IsZero() || until.Before(to) {
			to = until
		}
		sum += max(0, to.Sub(from))
	}
	return sum
}

// severityAt is the severity of the conditions that last at a time: that of the worst,
// and one more while picture and sound are bad together.
func (i *Incident) severityAt(at time.Time) (severity int) {
	for _, c := range i.Conditions {
		if c.Lasts() {
			severity = max(severity, i.severityOfLasting(c, at))
		}
	}
	return min(severity+i.bothTracks(), MaxSeverity)
}

// severityOfLasting is the severity of a condition that lasts at a time.
func (i *Incident) severityOfLasting(c Condition, at time.Time) int {
	return severityOf(c.Name, c.lasted(at)-i.blindWithin(c, at))
}

// WorstLasting returns the worst condition that lasts, the first of several, and its severity;
// ok is false if none lasts.
func (i *Incident) WorstLasting(now time.Time) (name Name, severity int, ok bool) {
	for _, c := range i.Conditions {
		if of := i.severityOfLasting(c, now); c.Lasts() && (!ok || of > severity) {
			name, severity, ok = c.Name, of, true
		}
	}
	return name, severity, ok
}

// LastingSeverity returns the severity of a condition that lasts; -1: it does not.
func (i *Incident) LastingSeverity(name Name, now time.Time) int {
	if c := i.condition(name); c != nil && c.Lasts() {
		return i.severityOfLasting(*c, now)
	}
	return -1
}

// bothTracks is 1 while detectors of picture and of sound find trouble, else 0.
func (i *Incident) bothTracks() int {
	var video, audio bool
	for _, d := range detector.Table {
		if c := i.condition(d.Condition); c != nil && c.Lasts() {
			video = video || d.Track == detector.Video
			audio = audio || d.Track == detector.Audio
		}
	}
	if video && audio {
		return 1
	}
	return 0
}

// nextRise is when the severity rises if nothing else happens; zero: never.
func (i *Incident) nextRise() (at time.Time) {
	more := i.bothTracks()
	for _, c := range i.Conditions {
		blind := i.condition(Blind)
		if !c.Lasts() || c.Name != Blind && blind != nil && blind.Lasts() { // nobody sees it get worse
			continue
		}
		var unseen time.Duration
		if blind != nil {
			unseen = i.blindWithin(c, blind.EndedAt)
		}
		for _, r := range risesOf(c.Name) {
			if min(r.severity+more, MaxSeverity) > i.SeverityNow {
				at = instant.Earliest(at, c.LastStartedAt.Add(r.after+unseen))
			}
		}
	}
	return at
}
