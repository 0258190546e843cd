package notify

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
)

// Situation is the present state of an incident or of a storm, as far as messages tell it.
type Situation struct {
	Open                 bool
	Severity             int             // the worst so far
	SeverityNow          int             // of what lasts; 0 if nothing does
	Conditions           []incident.Name // that last
	OpenedAt             time.Time
	BeganAt              time.Time // when it was opened or reopened last
	ResolvedAt           time.Time // zero while open
	Reopened             int       // how often
	AcknowledgedBy       string    // empty: nobody has it
	AcknowledgedSeverity int       // the severity at that time
	NewCondition         bool      // another condition has begun since, and lasts
	HasPicture           bool
	Cause                string // the type of the likely cause of what lasts; empty: none is known
	OnlyBlind            bool   // no other condition was there, or none that is told; false of a storm
	Streams              int    // of a storm: streams with an incident in it
}

// SituationOf returns the situation of an incident.
func SituationOf(i incident.Incident) Situation {
	s := Situation{
		Open: i.State == incident.Open, Severity: i.Severity, SeverityNow: i.SeverityNow, OpenedAt: i.OpenedAt, BeganAt: i.BeganAt(), ResolvedAt: i.ResolvedAt, Reopened: i.Reopened,
		AcknowledgedBy: i.AcknowledgedBy, AcknowledgedSeverity: i.AcknowledgedSeverity, HasPicture: i.Picture != nil, NewCondition: i.AnotherSinceAcknowledged(),
	}
	s.Conditions = i.Conditions.Lasting().Names()
	for _, c := range i.Conditions.Lasting() {
		if s.Cause == "" && c.Alert != nil && c.Alert.Cause != nil {
			s.Cause = c.Alert.Cause.Type
		}
	}
	s.OnlyBlind = !slices.ContainsFunc(i.Conditions, func(c incident.Condition) bool { return c.Name != incident.Blind })
	return s
}

// Handled reports whether somebody has acknowledged the incident, and it has not got worse
// since: its severity has not risen, and no other condition has begun.
func (s Situation) Handled() bool {
	return s.AcknowledgedBy != "" && s.Severity <= s.AcknowledgedSeverity && !s.NewCondition
}

// Notified records what a destination was notified of about an incident. Only messages that
// were sent count.
type Notified struct {
	Opened            bool   `json:"opened"`                        // it was sent the first message
	Open              bool   `json:"open"`                          // as of the newest message
	MaybeReopened     bool   `json:"maybe_reopened,omitempty"`      // the message of a reopening got no answer: people may have seen it
	ProviderMessageID string `json:"provider_message_id,omitempty"` // names the message at the channel, for edits
	Shown             Shown  `json:"shown"`
	Known             Known  `json:"known"`
	Sounds            Sounds `json:"sounds"`
}

// Shown has the contents of the newest message.
type Shown struct {
	Reopened       int             `json:"reopened"`
	AcknowledgedBy string          `json:"acknowledged_by,omitempty"`
	HasPicture     bool            `json:"has_picture"`
	Cause          string          `json:"cause,omitempty"`
	Streams        int             `json:"streams,omitempty"`
	Conditions     []incident.Name `json:"conditions,omitempty"` // those that lasted
}

// Known has the trouble that people know of: with it the incident was opened, was reopened or got worse.
// While Sounds.Owed, they know of no condition.
type Known struct {
	Severity   int             `json:"severity"` // the highest; a reopening that makes the first sound in PushInterval counts anew
	Conditions []incident.Name `json:"conditions"`
}

// Sounds are the messages that made a sound.
type Sounds struct {
	Owed   bool                        `json:"owed,omitempty"` // PushInterval has held back that of a reopening which was shown
	Newest time.Time                   `json:"newest,omitzero"`
	Of     map[incident.Name]time.Time `json:"of,omitempty"` // the newest while a condition lasted
}

// Knows reports whether people know of a condition.
func (t Notified) Knows(c incident.Name) bool {
	return !t.Sounds.Owed && slices.Contains(t.Known.Conditions, c)
}

// isUnaware reports whether the destination was not told that the incident is open, which was
// reopened so often.
func (t Notified) isUnaware(reopened int) bool { return !t.Open || reopened > t.Shown.Reopened }

// Unanswered returns what the destination knows after a message that got no answer. It may show
// that trouble has come back, so it has to hear of the end.
func (t Notified) Unanswered(step NextMessage) Notified {
	t.MaybeReopened = t.MaybeReopened || step.Kind == Reopened
	return t
}

// After returns what the destination knows after a message about s was sent at a time. ref
// names the message at the channel; empty: it cannot be edited, or the name is the same.
func (t Notified) After(s Situation, step NextMessage, at time.Time, ref string) Notified {
	wasOwed := t.Sounds.Owed
	t.MaybeReopened = false
	t.Sounds.Owed = s.Open && !s.Handled() && !step.Push && (step.Kind == Reopened || wasOwed)
	switch {
	case t.Sounds.Owed:
	case wasOwed, step.Kind == Opened, step.Kind == Reopened:
		t.Known.Conditions = slices.Clone(s.Conditions)
	case step.Kind == Worse:
		t.Known.Conditions = slices.Clone(t.Known.Conditions)
		for _, c := range s.Conditions {
			if !t.Knows(c) {
				t.Known.Conditions = append(t.Known.Conditions, c)
			}
		}
	}
	if t.Known.Severity = max(t.Known.Severity, s.SeverityNow); step.Kind == Reopened && step.Push && !at.Before(t.Sounds.Newest.Add(PushInterval)) {
		t.Known.Severity = s.SeverityNow // what was heard before is long ago
	}
	t.Opened, t.Open = true, s.Open
	t.Shown = Shown{s.Reopened, s.AcknowledgedBy, t.Shown.HasPicture || s.HasPicture, cmp.Or(s.Cause, t.Shown.Cause), s.Streams, slices.Clone(s.Conditions)}
	if ref != "" {
		t.ProviderMessageID = ref
	}
	if step.Push {
		t.Sounds.Newest, t.Sounds.Of = at, maps.Clone(t.Sounds.Of)
		if t.Sounds.Of == nil {
			t.Sounds.Of = map[incident.Name]time.Time{}
		}
		for _, c := range s.Conditions {
			t.Sounds.Of[c] = at
		}
	}
	return t
}
