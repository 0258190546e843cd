package incident

import (
	"time"
)

// Acknowledge says that somebody handles the incident. The first acknowledgement stays
// until the incident is reopened, or acknowledged again at a higher severity or after another condition has begun. It ends an
// error: nothing else can.
type Acknowledge struct{ By string }

// Resolve says that nobody needs to care any more. It resolves the incident at once, for
// good. Conditions that last go on in it; only an error ends.
type Resolve struct{ By string }

// Paused says that nobody looks at the stream from now on (section 16.9). It ends what lasts, and resolves the incident for good.
type Paused struct{ By string }

// Note adds a text to the log.
type Note struct{ By, Text string }

// Label says whether the incident was a false alarm; nil takes the label away.
type Label struct {
	By            string
	FalsePositive *bool
}

func (Acknowledge) input() {}
func (Resolve) input()     {}
func (Paused) input()      {}
func (Note) input()        {}
func (Label) input()       {}

// EntryKind says what a line of the log is about. It is stored and shown.
type EntryKind string

// The kinds of lines: what happened to the incident, and what operators did.
const (
	WasOpened     EntryKind = "opened"
	WasReopened   EntryKind = "reopened"
	WasResolved   EntryKind = "resolved"
	WasPaused     EntryKind = "paused" // resolved, because its stream was paused
	Acknowledged  EntryKind = "acknowledged"
	Noted         EntryKind = "note"
	Labelled      EntryKind = "label"
	SecondOpinion EntryKind = "opinion" // a question for a second one has ended

	SeverityRaised EntryKind = "severity_raised" // by time, or by another condition
)

// Entry is one line of an incident's log. Its JSON is as it is stored.
type Entry struct {
	Kind          EntryKind `json:"kind"`
	At            time.Time `json:"at"`
	By            string    `json:"by"`                       // who did it; empty: it happened by itself
	Text          string    `json:"text"`                     // of a note, or why an opinion is as it is
	FalsePositive *bool     `json:"false_positive,omitempty"` // of a label; nil: it was taken away
	Severity      int       `json:"severity,omitempty"`       // of SeverityRaised: from then on, 1 to MaxSeverity; 0: another kind
	Verdict       Verdict   `json:"verdict,omitempty"`        // of SecondOpinion
}
