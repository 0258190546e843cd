package notify

import (
	"maps"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
)

// PushInterval is the time in which a condition makes at most one sound, unless it gets worse.
const PushInterval = 10 * time.Minute

// BlindWait delays a message that nothing can be learned of a stream. Streams that are refused at
// about the same time become one storm meanwhile.
const BlindWait = 30 * time.Second

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
	OnlyBlind            bool // no other condition was there; false of a storm
	Streams              int  // of a storm: streams with an incident in it
}

// SituationOf returns the situation of an incident.
func SituationOf(i incident.Incident) Situation {
	s := Situation{
		Open: i.State == incident.Open, Severity: i.Severity, SeverityNow: i.SeverityNow, OpenedAt: i.OpenedAt, BeganAt: i.BeganAt(), ResolvedAt: i.ResolvedAt, Reopened: i.Reopened,
		AcknowledgedBy: i.AcknowledgedBy, AcknowledgedSeverity: i.AcknowledgedSeverity, HasPicture: i.Picture != nil, NewCondition: i.AnotherSinceAcknowledged(),
	}
	s.OnlyBlind = !slices.ContainsFunc(i.Conditions, func(c incident.Condition) bool { return c.Name != incident.Blind })
	for _, c := range i.Conditions {
		if c.Lasts() {
			s.Conditions = append(s.Conditions, c.Name)
		}
	}
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
	Opened             bool                        `json:"opened"`
	Open               bool                        `json:"open"`     // as of the newest message
	Severity           int                         `json:"severity"` // the highest; a reopening that makes the first sound in PushInterval counts anew
	Reopened           int                         `json:"reopened"`
	AcknowledgedBy     string                      `json:"acknowledged_by,omitempty"`
	HasPicture         bool                        `json:"has_picture"`
	Streams            int                         `json:"streams,omitempty"`
	NotifiedConditions []incident.Name             `json:"notified_conditions"`           // that it was opened, reopened or got worse with
	CurrentConditions  []incident.Name             `json:"current_conditions,omitempty"`  // those that lasted as of the newest message
	PushedAt           time.Time                   `json:"pushed_at,omitzero"`            // of the newest message that makes a sound
	Pushed             map[incident.Name]time.Time `json:"pushed,omitempty"`              // the same, by condition
	PushPending        bool                        `json:"push_pending,omitempty"`        // the sound of a reopening, which PushInterval has held back
	ProviderMessageID  string                      `json:"provider_message_id,omitempty"` // names the message at the channel, for edits
	MaybeReopened      bool                        `json:"maybe_reopened,omitempty"`      // the message of a reopening got no answer: people may have seen it
}

// MessageKind says why a message is sent.
type MessageKind string

// The kinds of messages about an incident.
const (
	Opened       MessageKind = "opened"
	Worse        MessageKind = "worse"    // its severity has risen, or another condition has begun
	Reopened     MessageKind = "reopened" // trouble has come back
	Acknowledged MessageKind = "acknowledged"
	Recovered    MessageKind = "recovered"
	Repeated     MessageKind = "repeated"
	Updated      MessageKind = "updated" // something else has changed; only for channels that edit
)

// ThreadPolicy holds the settings of route, channel and silences for a thread.
type ThreadPolicy struct {
	Delay       time.Duration // of the route
	Repeat      time.Duration // of the route
	Edits       bool          // of the channel
	PictureWait time.Duration // of the channel: for a picture

	// SilencedUntil ends the silences that match now; zero: no silence does. It is
	// Forever for silences without a known end.
	SilencedUntil time.Time
}

// NextMessage says what to send now. If Kind is empty, nothing is sent before At; if At is
// zero, too, nothing until the incident changes.
type NextMessage struct {
	Kind MessageKind
	Push bool // the message makes a sound
	At   time.Time
}

// Next returns the next message of a thread. It sees only the present situation: changes
// that the destination was not notified of in time become one message.
func Next(now time.Time, s Situation, t Notified, p ThreadPolicy) NextMessage {
	s.OpenedAt, s.BeganAt, t = notAhead(now, s.OpenedAt), notAhead(now, s.BeganAt), t.notAhead(now)
	switch {
	case (t.Open || t.MaybeReopened) && !s.Open:
		return NextMessage{Kind: Recovered} // silences do not hold it back
	case !s.Open && t.Opened && t.outdated(s, p):
		return NextMessage{Kind: Updated}
	case !s.Open:
		return NextMessage{}
	case p.SilencedUntil.Equal(Forever):
		return NextMessage{}
	case p.SilencedUntil.After(now):
		return NextMessage{At: p.SilencedUntil}
	case !t.Opened:
		return open(now, s, p)
	}
	return t.next(now, s, p)
}

// maxAhead is how far ahead of now a time may be that was taken before.
const maxAhead = 10 * time.Second

// notAhead returns a time that was taken before now, or zero: a clock that was set back must
// not hold a message back.
func notAhead(now, at time.Time) time.Time {
	if at.Sub(now) > maxAhead {
		return time.Time{}
	}
	return at
}

func (t Notified) notAhead(now time.Time) Notified {
	t.PushedAt = notAhead(now, t.PushedAt)
	pushed := make(map[incident.Name]time.Time, len(t.Pushed))
	for c, at := range t.Pushed {
		pushed[c] = notAhead(now, at)
	}
	t.Pushed = pushed
	return t
}

// open returns the first message of a thread, or when it is due. What is over by then makes no
// sound and is not escalated, and nobody is told of a blindness that is over.
func open(now time.Time, s Situation, p ThreadPolicy) NextMessage {
	lasts := len(s.Conditions) > 0
	if p.Delay > 0 && (!lasts || s.Handled()) || !lasts && s.OnlyBlind {
		return NextMessage{}
	}
	wait := p.Delay
	if !s.HasPicture {
		wait = max(wait, p.PictureWait)
	}
	if due := later(s.OpenedAt.Add(wait), s.gathersUntil()); due.After(now) {
		return NextMessage{At: due}
	}
	return NextMessage{Kind: Opened, Push: lasts && !s.Handled()}
}

// gathersUntil returns until when no message says that a stream or a storm is blind.
func (s Situation) gathersUntil() time.Time {
	if len(s.Conditions) == 1 && s.Conditions[0] == incident.Blind {
		return s.BeganAt.Add(BlindWait)
	}
	return time.Time{}
}

// next returns the next message about an open incident that the destination knows. While
// nothing lasts, there is nothing to wake anybody for.
func (t Notified) next(now time.Time, s Situation, p ThreadPolicy) NextMessage {
	kind, due := t.repetition(s, p)
	worse := t.change(s)
	switch until := s.gathersUntil(); {
	case worse == Reopened && len(s.Conditions) == 0:
		return NextMessage{} // the destination knows of an end, and that is how it is
	case worse == Reopened && until.After(now):
		return NextMessage{At: until}
	case len(s.Conditions) == 0:
		kind, due, worse = "", time.Time{}, ""
	}
	if worse == Reopened || worse == Worse && (!t.PushPending || !s.Handled()) {
		kind, due = worse, t.nextPushAllowed(s)
		switch {
		case s.Handled():
			return NextMessage{Kind: kind}
		case s.SeverityNow > t.Severity && !s.Handled():
			due = now
		case kind == Reopened && p.Edits && due.After(now):
			return NextMessage{Kind: kind} // its sound is owed
		}
	}
	switch {
	case kind != "" && !due.After(now) && t.PushPending:
		return NextMessage{Kind: Reopened, Push: true}
	case kind != "" && !due.After(now):
		return NextMessage{Kind: kind, Push: true}
	case s.AcknowledgedBy != "" && s.AcknowledgedBy != t.AcknowledgedBy:
		return NextMessage{Kind: Acknowledged}
	case t.outdated(s, p):
		return NextMessage{Kind: Updated}
	}
	return NextMessage{At: due}
}

// change returns the kind of the message about what has got worse; empty: nothing has.
func (t Notified) change(s Situation) MessageKind {
	switch {
	case !t.Open, s.Reopened > t.Reopened:
		return Reopened
	case s.SeverityNow > t.Severity, !t.notifiedOfAll(s.Conditions):
		return Worse
	}
	return ""
}

// repetition returns the next push about what the destination knows already; empty: none.
func (t Notified) repetition(s Situation, p ThreadPolicy) (kind MessageKind, due time.Time) {
	switch {
	case s.Handled():
		return "", time.Time{}
	case t.PushPending:
		return Reopened, t.nextPushAllowed(s)
	case p.Repeat > 0:
		return Repeated, t.PushedAt.Add(max(p.Repeat, PushInterval))
	}
	return "", time.Time{}
}

// nextPushAllowed returns when a push is allowed: when PushInterval is over for one of the
// conditions that last.
func (t Notified) nextPushAllowed(s Situation) (at time.Time) {
	for n, c := range s.Conditions {
		if over := t.Pushed[c].Add(PushInterval); n == 0 || over.Before(at) {
			at = over
		}
	}
	return at
}

// outdated reports whether the message can be edited and shows less than there is.
func (t Notified) outdated(s Situation, p ThreadPolicy) bool {
	return p.Edits && (s.HasPicture && !t.HasPicture || s.Streams != t.Streams || !sameNames(s.Conditions, t.CurrentConditions))
}

// notifiedOfAll reports whether the destination was notified of all conditions.
func (t Notified) notifiedOfAll(conditions []incident.Name) bool {
	return !slices.ContainsFunc(conditions, func(c incident.Name) bool { return !slices.Contains(t.NotifiedConditions, c) })
}

func sameNames(a, b []incident.Name) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// Unanswered returns what the destination knows after a message that got no answer. It may show
// that trouble has come back, so it has to hear of the end.
func (t Notified) Unanswered(step NextMessage) Notified {
	t.MaybeReopened = t.MaybeReopened || step.Kind == Reopened
	return t
}

// After returns what the destination knows after a message about s was sent at a time. ref
// names the message at the channel; empty: it cannot be edited, or the name is the same.
func (t Notified) After(s Situation, step NextMessage, at time.Time, ref string) Notified {
	owed := t.PushPending
	t.MaybeReopened = false
	t.PushPending = s.Open && !s.Handled() && !step.Push && (step.Kind == Reopened || t.PushPending)
	switch {
	case t.PushPending:
		t.NotifiedConditions = nil // all are still to be heard
	case owed, step.Kind == Opened, step.Kind == Reopened:
		t.NotifiedConditions = slices.Clone(s.Conditions)
	case step.Kind == Worse:
		t.NotifiedConditions = slices.Clone(t.NotifiedConditions)
		for _, c := range s.Conditions {
			if !slices.Contains(t.NotifiedConditions, c) {
				t.NotifiedConditions = append(t.NotifiedConditions, c)
			}
		}
	}
	if t.Severity = max(t.Severity, s.SeverityNow); step.Kind == Reopened && step.Push && !at.Before(t.PushedAt.Add(PushInterval)) {
		t.Severity = s.SeverityNow // what was heard before is long ago
	}
	t.Opened, t.Open, t.Reopened, t.AcknowledgedBy = true, s.Open, s.Reopened, s.AcknowledgedBy
	t.HasPicture, t.Streams, t.CurrentConditions = t.HasPicture || s.HasPicture, s.Streams, slices.Clone(s.Conditions)
	if ref != "" {
		t.ProviderMessageID = ref
	}
	if step.Push {
		t.PushedAt, t.Pushed = at, maps.Clone(t.Pushed)
		if t.Pushed == nil {
			t.Pushed = map[incident.Name]time.Time{}
		}
		for _, c := range s.Conditions {
			t.Pushed[c] = at
		}
	}
	return t
}
