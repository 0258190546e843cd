package incident

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// Name identifies a kind of trouble.
type Name = trouble.Name

// The conditions beside those of the detectors.
const (
	Late    = trouble.Late
	NoMedia = trouble.NoMedia
	Blind   = trouble.Blind
	Error   = trouble.Error
)

// Names lists every condition: late, those of the detectors, no_media, blind, error.
func Names() []Name {
	names := []Name{Late}
	for _, d := range detector.Table {
		names = append(names, d.Condition)
	}
	return append(names, NoMedia, Blind, Error)
}

// Condition is one kind of trouble within an incident. It may come and go several
// times; each time is an episode.
type Condition struct {
	Name          Name          `json:"condition"`
	StartedAt     time.Time     `json:"started_at"`        // onset of the first episode
	LastStartedAt time.Time     `json:"last_started_at"`   // onset of the newest episode
	EndedAt       time.Time     `json:"ended_at,omitzero"` // end of the newest episode; zero: it lasts
	Count         int           `json:"count"`             // episodes, from 1
	Longest       time.Duration `json:"longest"`           // of the episodes that have ended
	Spans         []Span        `json:"spans"`             // when it was there, ascending and apart; at most MaxSpans
	Alert         *Alert        `json:"alert,omitempty"`   // of the newest episode; nil: none yet

	// BeganSeverity is the severity of the incident when the newest episode was found: the event that tells of it has it.
	BeganSeverity int `json:"began_severity"`

	// OpensAt is until when it may last in a resolved incident.
	OpensAt time.Time `json:"opens_at,omitzero"`
}

// Lasts reports whether the newest episode has not ended.
func (c Condition) Lasts() bool { return c.EndedAt.IsZero() }

// lasted returns how long the newest episode has lasted at a time.
func (c Condition) lasted(at time.Time) time.Duration {
	if !c.Lasts() && c.EndedAt.Before(at) {
		at = c.EndedAt
	}
	return max(0, at.Sub(c.LastStartedAt))
}

// LongestAt returns the length of the longest episode, including one that lasts at now.
func (c Condition) LongestAt(now time.Time) time.Duration { return max(c.Longest, c.lasted(now)) }

// knows reports whether an episode is known already. Others of a condition that lasts are not:
// the end of the one before was lost.
func (c Condition) knows(in Began) bool {
	switch {
	case c.LastStartedAt.Equal(in.StartedAt):
		return true
	case !in.MayRepeat:
		return false
	case c.Lasts():
		return true
	}
	stale := c.EndedAt.Sub(in.StartedAt)
	return stale > 0 && stale < monitor.MaxOvertaken
}

// explain adds the numbers of an episode that was known without them, for example by a signal.
func (c *Condition) explain(in Began) {
	if c.Alert == nil && (c.Lasts() || c.LastStartedAt.Equal(in.StartedAt)) {
		c.Alert = in.Alert
	}
}

// begin starts another episode, with its alert.
func (c *Condition) begin(at time.Time, alert *Alert) {
	c.LastStartedAt, c.EndedAt, c.OpensAt, c.Alert = at, time.Time{}, time.Time{}, alert
	c.Spans = beginSpan(c.Spans, at)
	c.Count++
}

// end ends the newest episode, not before it began.
func (c *Condition) end(at time.Time) {
	at = instant.Latest(at, c.LastStartedAt)
	c.EndedAt, c.OpensAt = at, time.Time{}
	c.Longest = max(c.Longest, at.Sub(c.LastStartedAt))
	c.Spans = slices.Clone(c.Spans)
	if n := len(c.Spans); n > 0 { // none: its row was changed by hand
		c.Spans[n-1].EndedAt = at
	}
}

// equal reports whether nothing differs.
func (c Condition) equal(d Condition) bool {
	return c.Name == d.Name && c.StartedAt.Equal(d.StartedAt) && c.LastStartedAt.Equal(d.LastStartedAt) && c.EndedAt.Equal(d.EndedAt) && c.OpensAt.Equal(d.OpensAt) &&
		c.Count == d.Count && c.BeganSeverity == d.BeganSeverity && c.Longest == d.Longest && c.Alert == d.Alert && slices.Equal(c.Spans, d.Spans)
}
