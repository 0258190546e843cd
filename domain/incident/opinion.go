package incident

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The times of a second opinion (section 19.9), from when the alert was stored.
const (
	AskedAfter    = 2 * time.Second  // its pictures are stored by then
	OpinionWithin = 10 * time.Second // nobody is asked later, and an answer that comes later changes no message
)

// Verdict is what became of a second opinion. It is stored and shown.
type Verdict string

// The verdicts.
const (
	OpinionAsked    Verdict = "asked"     // there is no answer yet
	OpinionKeep     Verdict = "keep"      // it is trouble
	OpinionDrop     Verdict = "drop"      // it is none
	OpinionLabel    Verdict = "label"     // it is what the label says
	OpinionUnknown  Verdict = "unknown"   // there was no answer, or none that is understood
	OpinionNotAsked Verdict = "not_asked" // the stream was asked about just before, or it was too late
)

// The statuses of answers that say why there is no opinion.
const (
	statusOtherSchema = 409
	statusBusy        = 429
)

// Limits of the texts of an answer, in bytes.
const (
	maxLabel  = 100
	maxReason = 500
)

// Opinion is a second opinion about an alert.
type Opinion struct {
	Verdict    Verdict   `json:"verdict"`
	AskedAt    time.Time `json:"asked_at,omitzero"`
	AnsweredAt time.Time `json:"answered_at,omitzero"` // when the answer was stored, or the question given up; zero: not yet
	Label      string    `json:"label,omitempty"`      // at most maxLabel bytes
	Confidence float64   `json:"confidence,omitempty"` // of the label, 0 to 1
	Severity   int       `json:"severity,omitempty"`   // of the label, 0 to MaxSeverity
	Reason     string    `json:"reason,omitempty"`     // for people, at most maxReason bytes: that of the answer, or why there is none
}

// ReadOpinion reads the answer to a question. An answer that is not understood is OpinionUnknown.
func ReadOpinion(status int, body []byte) Opinion {
	switch {
	case status == statusOtherSchema:
		return NoOpinion("it does not know this version of the question (409)")
	case status == statusBusy:
		return NoOpinion("it is busy (429)")
	case status < 200 || status > 299:
		return NoOpinion(fmt.Sprintf("it answered with status %d", status))
	}
	var answer struct {
		Opinion    Verdict  `json:"opinion"`
		Label      string   `json:"label"`
		Confidence *float64 `json:"confidence"`
		Severity   *int     `json:"severity"`
		Reason     string   `json:"reason"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return NoOpinion("its answer is no JSON object of section 19.9")
	}
	o := Opinion{Verdict: answer.Opinion, Reason: oneLine(answer.Reason, maxReason)}
	switch {
	case o.Verdict == OpinionKeep, o.Verdict == OpinionDrop:
		return o
	case o.Verdict != OpinionLabel:
		return NoOpinion(fmt.Sprintf("its opinion is %.40q; accepted are keep, drop, label", o.Verdict))
	case oneLine(answer.Label, maxLabel) == "", answer.Confidence == nil, *answer.Confidence < 0, *answer.Confidence > 1, answer.Severity == nil, *answer.Severity < 0, *answer.Severity > MaxSeverity:
		return NoOpinion(fmt.Sprintf("its label lacks a text, a confidence of 0 to 1 or a severity of 0 to %d", MaxSeverity))
	}
	o.Label, o.Confidence, o.Severity = oneLine(answer.Label, maxLabel), *answer.Confidence, *answer.Severity
	return o
}

// NoOpinion returns an OpinionUnknown. reason says why, for people, and is cut to maxReason bytes.
func NoOpinion(reason string) Opinion {
	return Opinion{Verdict: OpinionUnknown, Reason: oneLine(reason, maxReason)}
}

func oneLine(text string, most int) string {
	return monitor.StorableText(monitor.CleanLine(text), most)
}

// Text returns the label and the reason, for people.
func (o Opinion) Text() string {
	switch {
	case o.Label == "":
		return o.Reason
	case o.Reason == "":
		return o.Label
	}
	return o.Label + ": " + o.Reason
}

// Ask says that somebody can be asked for second opinions. AskedNow then returns what to ask about, once.
type Ask struct {
	CoolDown time.Duration // nobody is asked about a stream again within it
}

// Answered is the end of a question about the alert of an event. Opinion is its answer, or a NoOpinion.
type Answered struct {
	EventID string
	Opinion Opinion
}

func (Ask) input()      {}
func (Answered) input() {}

// MayBeAsked reports whether somebody is asked about the alerts of a condition: those of which pictures
// or measurements are there.
func MayBeAsked(name Name) bool { return name != Late && name != Error }

// awaits reports whether the alert of a condition has yet to be asked about.
func (c Condition) awaits() bool {
	return c.Lasts() && c.Alert != nil && c.Alert.EventID != "" && c.Alert.Opinion == nil && MayBeAsked(c.Name)
}

// isAsked reports whether there is no answer yet.
func (c Condition) isAsked() bool {
	return c.Alert != nil && c.Alert.Opinion != nil && c.Alert.Opinion.Verdict == OpinionAsked
}

// OpinionDueAt is when Ask changes the incident; zero: it does not. An alert is asked about while it lasts, and a
// question to which nobody answers ends.
func (i *Incident) OpinionDueAt() (due time.Time) {
	for _, c := range i.Conditions {
		switch {
		case c.isAsked():
			due = instant.Earliest(due, c.Alert.Opinion.AskedAt.Add(OpinionWithin))
		case i.State == Open && c.awaits():
			due = instant.Earliest(due, c.Alert.StoredAt.Add(AskedAfter))
		}
	}
	return due
}

// AskedNow returns the conditions whose alerts an Ask at a time has found.
func (i *Incident) AskedNow(at time.Time) (all []Condition) {
	for _, c := range i.Conditions {
		if c.isAsked() && c.Alert.Opinion.AskedAt.Equal(at) {
			all = append(all, c)
		}
	}
	return all
}

// ask marks the alerts that are due as asked. Those that are due together are one occasion for the cool-down.
func (c *Change) ask(in Ask) {
	lastAsked := c.AskedAt
	for n := range c.Conditions {
		one := &c.Conditions[n]
		switch {
		case one.isAsked() && !c.now.Before(one.Alert.Opinion.AskedAt.Add(OpinionWithin)):
			c.endQuestion(one, NoOpinion(fmt.Sprintf("no answer came within %v", OpinionWithin)))
		case c.State != Open || !one.awaits() || c.now.Before(one.Alert.StoredAt.Add(AskedAfter)):
		case c.now.Sub(one.Alert.StoredAt) > OpinionWithin:
			one.giveOpinion(Opinion{Verdict: OpinionNotAsked, Reason: "it was too late"})
		case !lastAsked.IsZero() && c.now.Sub(lastAsked) < in.CoolDown:
			one.giveOpinion(Opinion{Verdict: OpinionNotAsked, Reason: fmt.Sprintf("the stream was asked about less than %v before", in.CoolDown)})
		default:
			one.giveOpinion(Opinion{Verdict: OpinionAsked, AskedAt: c.now})
			c.AskedAt = c.now
		}
	}
}

// answer takes in the answer to a question that is open. The condition may have ended meanwhile.
func (c *Change) answer(in Answered) {
	for n := range c.Conditions {
		if one := &c.Conditions[n]; one.isAsked() && one.Alert.EventID == in.EventID {
			c.endQuestion(one, in.Opinion)
		}
	}
}

// endQuestion gives the alert of a condition, about which somebody was asked, an opinion or a NoOpinion.
func (c *Change) endQuestion(one *Condition, o Opinion) {
	o.AskedAt, o.AnsweredAt = one.Alert.Opinion.AskedAt, c.now
	one.giveOpinion(o)
	c.log(Entry{Kind: SecondOpinion, At: c.now, Text: o.Text(), Verdict: o.Verdict})
}

// giveOpinion replaces the alert by one with an opinion: others may read the one before.
func (c *Condition) giveOpinion(o Opinion) {
	alert := *c.Alert
	alert.Opinion, c.Alert = &o, &alert
}

// Without returns the incident as it is now without some of its conditions. Its severity is that of the others that
// last.
func (i Incident) Without(left func(Condition) bool, now time.Time) Incident {
	var kept Conditions
	for _, c := range i.Conditions {
		if !left(c) {
			kept = append(kept, c)
		}
	}
	if len(kept) < len(i.Conditions) {
		i.Conditions = kept
		i.judge(now)
	}
	return i
}
