package notify

import (
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

// news says what there is to tell a destination about an incident.
type news int

const (
	firstAtOnce     news = iota // it has heard nothing of the incident yet
	firstOfBlind                // the same, and there was nothing but blindness
	firstAfterDelay             // the same, by a route with a delay
	cameBack                    // it knows of an end, and not that trouble has come back
	soundOwed                   // it was shown that trouble has come back, and has not heard it
	gotWorse                    // the severity has risen, or another condition has begun
	nothingNew                  // it knows what lasts
	ended                       // the incident is over, and it does not know that
	knownEnd                    // the incident is over, and it knows that
	neverTold                   // the incident is over, and it has heard nothing of it
)

// attention says whether what lasts now may make a sound.
type attention int

const (
	nothingLasts attention = iota // or the incident is over
	isHandled                     // somebody handles what lasts
	makesSound                    // nobody does
	soundLater                    // nobody does, and a sound is not allowed yet, or not at all
)

const (
	nothing MessageKind = ""
	changes MessageKind = "changes" // Acknowledged, or Updated if the message shows less than there is; else nothing
)

// messages is the table of section 19.3. All but those in the column makesSound are quiet.
var messages = map[news][4]MessageKind{
	//                nothingLasts, isHandled, makesSound, soundLater
	firstAtOnce:     {Opened, Opened, Opened, nothing},       // what could not be told in time comes without a sound,
	firstOfBlind:    {nothing, Opened, Opened, nothing},      // but not of a blindness that is over,
	firstAfterDelay: {nothing, nothing, Opened, nothing},     // and not by a route with a delay
	cameBack:        {nothing, Reopened, Reopened, Reopened}, // later: edited at once; changes if the channel cannot edit
	soundOwed:       {changes, changes, Reopened, changes},
	gotWorse:        {changes, Worse, Worse, changes},
	nothingNew:      {changes, changes, Repeated, changes},
	ended:           {Recovered},
	knownEnd:        {Updated}, // if the message shows less than there is
	neverTold:       {nothing},
}

// isFirst reports whether the destination has heard nothing of the open incident.
func (is news) isFirst() bool {
	return is == firstAtOnce || is == firstOfBlind || is == firstAfterDelay
}

// newsOf returns what there is to tell about an incident.
func (t Notified) newsOf(s Situation, p ThreadPolicy) news {
	switch {
	case !s.Open && (t.Open || t.MaybeReopened):
		return ended
	case !s.Open && t.Opened:
		return knownEnd
	case !s.Open:
		return neverTold
	case !t.Opened && p.Delay > 0:
		return firstAfterDelay
	case !t.Opened && s.OnlyBlind:
		return firstOfBlind
	case !t.Opened:
		return firstAtOnce
	case t.isUnaware(s.Reopened):
		return cameBack
	case t.Sounds.Owed:
		return soundOwed
	case s.SeverityNow > t.Known.Severity || slices.ContainsFunc(s.Conditions, func(c incident.Name) bool { return !t.Knows(c) }):
		return gotWorse
	}
	return nothingNew
}

// Next returns the next message of a thread. It sees only the present situation: changes
// that the destination was not notified of in time become one message.
func Next(now time.Time, s Situation, t Notified, p ThreadPolicy) NextMessage {
	switch {
	case !s.Open: // silences do not hold the end back
	case p.SilencedUntil.Equal(Forever):
		return NextMessage{}
	case p.SilencedUntil.After(now):
		return NextMessage{At: p.SilencedUntil}
	}
	is := t.newsOf(s, p)
	gets, soundAt := nothingLasts, time.Time{}
	switch {
	case !s.Open || len(s.Conditions) == 0:
	case s.Handled():
		gets = isHandled
	default:
		if gets, soundAt = soundLater, t.soundAt(now, is, s, p); !soundAt.IsZero() && !soundAt.After(now) {
			gets = makesSound
		}
	}
	kind := messages[is][gets]
	if kind == nothing {
		return NextMessage{}
	}
	if at := is.earliest(s, p); at.After(now) {
		return NextMessage{At: at}
	}
	if is == cameBack && gets == soundLater && !p.Edits {
		kind = changes
	}
	if kind == changes {
		if kind = Updated; s.AcknowledgedBy != "" && s.AcknowledgedBy != t.Shown.AcknowledgedBy {
			kind = Acknowledged
		}
	}
	if kind == Updated && (!p.Edits || !t.Shown.lacks(s)) {
		return NextMessage{At: soundAt}
	}
	return NextMessage{Kind: kind, Push: gets == makesSound}
}

// soundAt returns when what lasts and nobody handles may make a sound; zero: not by itself.
func (t Notified) soundAt(now time.Time, is news, s Situation, p ThreadPolicy) (at time.Time) {
	switch {
	case is == nothingNew && p.Repeat > 0:
		return t.Sounds.Newest.Add(max(p.Repeat, PushInterval))
	case is == nothingNew:
		return time.Time{}
	case is.isFirst() || s.SeverityNow > t.Known.Severity:
		return now
	}
	for n, c := range s.Conditions { // PushInterval is over for one of them
		if over := t.Sounds.Of[c].Add(PushInterval); n == 0 || over.Before(at) {
			at = over
		}
	}
	return at
}

// earliest returns when the news may be told; zero: at once.
func (is news) earliest(s Situation, p ThreadPolicy) (at time.Time) {
	if !is.isFirst() && is != cameBack {
		return time.Time{}
	}
	if len(s.Conditions) == 1 && s.Conditions[0] == incident.Blind {
		at = s.BeganAt.Add(BlindWait)
	}
	if is == cameBack {
		return at
	}
	wait := p.Delay
	if !s.HasPicture {
		wait = max(wait, p.PictureWait)
	}
	return instant.Latest(at, s.OpenedAt.Add(wait))
}

// lacks reports whether the message shows less than there is.
func (m Shown) lacks(s Situation) bool {
	return s.HasPicture && !m.HasPicture || s.Cause != "" && s.Cause != m.Cause || s.Streams != m.Streams || !sameNames(s.Conditions, m.Conditions)
}

func sameNames(a, b []incident.Name) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
