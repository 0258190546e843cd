package notify

import (
	"maps"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/instant"
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
	s.Conditions = i.Conditions.Lasting().Names()
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

	// What the newest message shows.
	Reopened          int             `json:"reopened"`
	AcknowledgedBy    string          `json:"acknowledged_by,omitempty"`
	HasPicture        bool            `json:"has_picture"`
	Streams           int             `json:"streams,omitempty"`
	CurrentConditions []incident.Name `json:"current_conditions,omitempty"` // those that lasted

	// What people know to be wrong. While PushPending, they have heard of no condition.
	Severity           int                         `json:"severity"`               // the highest; a reopening that makes the first sound in PushInterval counts anew
	NotifiedConditions []incident.Name             `json:"notified_conditions"`    // that it was opened, reopened or got worse with
	PushPending        bool                        `json:"push_pending,omitempty"` // the sound of a reopening, which PushInterval has held back
	PushedAt           time.Time                   `json:"pushed_at,omitzero"`     // of the newest message that makes a sound
	Pushed             map[incident.Name]time.Time `json:"pushed,omitempty"`       // the same, by condition
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
	switch {
	case !s.Open:
		return t.end(s, p) // silences do not hold it back
	case p.SilencedUntil.Equal(Forever):
		return NextMessage{}
	case p.SilencedUntil.After(now):
		return NextMessage{At: p.SilencedUntil}
	case !t.Opened:
		return open(now, s, p)
	}
	return t.next(now, s, p)
}

// end returns the message about an incident that is over.
func (t Notified) end(s Situation, p ThreadPolicy) NextMessage {
	switch {
	case t.Open || t.MaybeReopened:
		return NextMessage{Kind: Recovered}
	case t.Opened && t.outdated(s, p):
		return NextMessage{Kind: Updated}
	}
	return NextMessage{}
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
	if due := instant.Latest(s.OpenedAt.Add(wait), s.gathersUntil()); due.After(now) {
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

// news says how an open incident differs from what a destination knows of it.
type news int

const (
	nothingNew news = iota
	gotWorse        // its severity has risen, or another condition has begun
	pushOwed        // the destination was shown that it has come back, and has not heard it
	cameBack        // the destination knows of an end, and not that it has come back
)

// newsOf returns the news of an open incident.
func (t Notified) newsOf(s Situation) news {
	switch {
	case !t.Open || s.Reopened > t.Reopened:
		return cameBack
	case t.PushPending:
		return pushOwed
	case s.SeverityNow > t.Severity || !t.notifiedOfAll(s.Conditions):
		return gotWorse
	}
	return nothingNew
}

// wording holds the kinds of the messages about news while a condition lasts. Without one, the
// message shows what else has changed.
type wording struct {
	push    MessageKind // with a sound, from pushAt on
	before  MessageKind // quietly before that, if the channel edits
	handled MessageKind // quietly, if the incident is handled
}

var wordings = map[news]wording{
	nothingNew: {push: Repeated},
	gotWorse:   {push: Worse, handled: Worse},
	pushOwed:   {push: Reopened},
	cameBack:   {push: Reopened, before: Reopened, handled: Reopened},
}

// next returns the next message about an open incident that the destination knows.
func (t Notified) next(now time.Time, s Situation, p ThreadPolicy) NextMessage {
	is := t.newsOf(s)
	words, until := wordings[is], s.gathersUntil()
	switch {
	case len(s.Conditions) == 0 && is == cameBack:
		return NextMessage{} // the destination knows of an end, and that is how it is
	case len(s.Conditions) == 0:
		return t.quietly(s, p) // there is nothing to wake anybody for
	case is == cameBack && until.After(now):
		return NextMessage{At: until}
	case s.Handled() && words.handled != "":
		return NextMessage{Kind: words.handled}
	case s.Handled():
		return t.quietly(s, p)
	}
	pushAt := t.pushAt(now, is, s, p)
	switch {
	case !pushAt.IsZero() && !pushAt.After(now):
		return NextMessage{Kind: words.push, Push: true}
	case words.before != "" && p.Edits:
		return NextMessage{Kind: words.before}
	}
	m := t.quietly(s, p)
	if m.Kind == "" {
		m.At = pushAt
	}
	return m
}

// quietly returns the message about what nobody needs to hear of.
func (t Notified) quietly(s Situation, p ThreadPolicy) NextMessage {
	switch {
	case s.AcknowledgedBy != "" && s.AcknowledgedBy != t.AcknowledgedBy:
		return NextMessage{Kind: Acknowledged}
	case t.outdated(s, p):
		return NextMessage{Kind: Updated}
	}
	return NextMessage{}
}

// pushAt returns when the destination hears of an open incident; zero: not by itself.
func (t Notified) pushAt(now time.Time, is news, s Situation, p ThreadPolicy) time.Time {
	switch {
	case is == nothingNew && p.Repeat > 0:
		return t.PushedAt.Add(max(p.Repeat, PushInterval))
	case is == nothingNew:
		return time.Time{}
	case s.SeverityNow > t.Severity:
		return now
	}
	var allowed time.Time // when PushInterval is over for one of the conditions that last
	for n, c := range s.Conditions {
		if over := t.Pushed[c].Add(PushInterval); n == 0 || over.Before(allowed) {
			allowed = over
		}
	}
	return allowed
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
	wasOwed := t.PushPending
	t.MaybeReopened = false
	t.PushPending = s.Open && !s.Handled() && !step.Push && (step.Kind == Reopened || wasOwed)
	switch {
	case t.PushPending:
		t.NotifiedConditions = nil
	case wasOwed, step.Kind == Opened, step.Kind == Reopened:
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
