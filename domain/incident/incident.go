package incident

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// NotFound is the code of an incident that does not exist.
const NotFound monitor.Code = "INCIDENT_NOT_FOUND"

// UnknownID returns the error that no incident has an id.
func UnknownID(id string) error {
	return monitor.Errorf(NotFound, "no incident has the id %.60q", id)
}

// State is the state of an incident.
type State string

// The states of an incident.
const (
	Open     State = "open"
	Resolved State = "resolved"
)

// States lists the states of an incident.
func States() []State { return []State{Open, Resolved} }

// The times of the life cycle.
const (
	FirstQuiet   = time.Minute      // all good for so long resolves an incident for the first time
	MaxQuiet     = 15 * time.Minute // each reopening doubles that, up to so long
	ReopenWithin = 10 * time.Minute // trouble so soon after the resolution reopens the incident
	ErrorKept    = 24 * time.Hour   // an error that nobody acknowledges is resolved after so long
	ResolvedFor  = 30 * time.Minute // what goes on for so long after a person has resolved it opens another incident
)

// Incident is the trouble of one stream, from its onset to its recovery. Its JSON is
// the state that a Tracker needs to go on, as it is stored.
type Incident struct {
	ID              string        `json:"id,omitempty"` // a UUID; empty until it is stored
	State           State         `json:"state"`
	Severity        int           `json:"severity"`     // the worst so far, 0 to MaxSeverity
	SeverityNow     int           `json:"severity_now"` // of what lasts; 0 also if nothing does
	Conditions      Conditions    `json:"conditions"`
	StartedAt       time.Time     `json:"started_at"`           // the earliest onset
	OpenedAt        time.Time     `json:"opened_at"`            // when the first condition was detected
	ResolvedAt      time.Time     `json:"resolved_at,omitzero"` // zero while open
	ResolvedBy      string        `json:"resolved_by"`          // who resolved it; empty: nobody, it was quiet
	ResolvedByPause bool          `json:"resolved_by_pause"`    // because its stream was paused; ResolvedBy has paused it
	Quiet           time.Duration `json:"quiet"`                // how long all has to be good before it is resolved
	Reopened        int           `json:"reopened"`             // how often
	ReopenedAt      time.Time     `json:"reopened_at,omitzero"` // when the newest reopening was detected; zero: never, or it was not read
	AcknowledgedBy  string        `json:"acknowledged_by"`
	AcknowledgedAt  time.Time     `json:"acknowledged_at,omitzero"`

	// AcknowledgedSeverity is the severity when it was acknowledged. A higher severity
	// needs somebody again (section 19.3).
	AcknowledgedSeverity int `json:"acknowledged_severity"`

	// Acknowledgements are those that counted, in order. A reopening takes none of them away.
	Acknowledgements []Acknowledgement `json:"acknowledgements"`

	// AskedAt is when somebody was last asked for a second opinion about the stream; zero: never.
	AskedAt time.Time `json:"asked_at,omitzero"`

	FalsePositive *bool    `json:"false_positive"` // nil: nobody has judged
	Picture       *Picture `json:"picture"`        // nil: there is none
}

// Acknowledgement says who took an incident, when, and how severe it was then.
type Acknowledgement struct {
	By       string    `json:"by"`
	At       time.Time `json:"at"`
	Severity int       `json:"severity"`
}

// DueAt is when time alone changes the incident next. Zero: only an input changes it. Its severity
// rises, it is resolved, its error has been kept for long enough, or what lasts in it although it
// is resolved opens again.
func (i *Incident) DueAt() (due time.Time) {
	if i.State == Resolved {
		for _, c := range i.Conditions {
			if c.Lasts() {
				due = instant.Earliest(due, c.OpensAt)
			}
		}
		return due
	}
	if at, over := i.Conditions.quietSince(); over {
		return at.Add(i.Quiet)
	}
	due = i.Conditions.nextRise(i.SeverityNow)
	if c := i.Conditions.lasting(Error); c != nil {
		due = instant.Earliest(due, c.LastStartedAt.Add(ErrorKept))
	}
	return due
}

// BeganAt is when the incident was opened, or reopened last.
func (i *Incident) BeganAt() time.Time {
	if i.ReopenedAt.After(i.OpenedAt) {
		return i.ReopenedAt
	}
	return i.OpenedAt
}

// AnotherSinceAcknowledged reports whether a condition lasts that first began after somebody
// acknowledged the incident.
func (i *Incident) AnotherSinceAcknowledged() bool {
	return i.AcknowledgedBy != "" && slices.ContainsFunc(i.Conditions, func(c Condition) bool { return c.Lasts() && c.StartedAt.After(i.AcknowledgedAt) })
}

// addEpisode adds an episode of a condition.
func (i *Incident) addEpisode(in Began) {
	if i.Conditions.named(in.Condition) == nil {
		i.Conditions = append(i.Conditions, Condition{Name: in.Condition, StartedAt: in.StartedAt})
	}
	i.Conditions.named(in.Condition).begin(in.StartedAt, in.Alert)
	i.StartedAt = instant.Earliest(i.StartedAt, in.StartedAt)
}

// resolvedForGood reports whether no trouble reopens the incident: a person has resolved it, or it was paused.
func (i *Incident) resolvedForGood() bool { return i.ResolvedBy != "" || i.ResolvedByPause }

// Lasts reports whether a condition lasts.
func (i *Incident) Lasts() bool { return slices.ContainsFunc(i.Conditions, Condition.Lasts) }

// judge says how severe is what lasts now. A severity that time has yet to raise counts
// from the next Tick, which also logs it.
func (i *Incident) judge(now time.Time) {
	if i.SeverityNow = 0; i.State == Open {
		i.SeverityNow = min(i.Conditions.severityAt(now), i.Severity)
	}
}

// clone copies what a Tracker changes in place.
func (i *Incident) clone() *Incident {
	c := *i
	c.Conditions = slices.Clone(i.Conditions)
	return &c
}

// equal reports whether nothing differs that a step changes by itself.
func (i *Incident) equal(j *Incident) bool {
	return slices.EqualFunc(i.Conditions, j.Conditions, Condition.equal) && equalTo(i.FalsePositive, j.FalsePositive) && equalTo(i.Picture, j.Picture) &&
		i.State == j.State && i.Severity == j.Severity && i.SeverityNow == j.SeverityNow && i.StartedAt.Equal(j.StartedAt) && i.ResolvedAt.Equal(j.ResolvedAt) && i.ResolvedBy == j.ResolvedBy && i.ResolvedByPause == j.ResolvedByPause &&
		i.Quiet == j.Quiet && i.Reopened == j.Reopened && i.AcknowledgedBy == j.AcknowledgedBy && i.AcknowledgedAt.Equal(j.AcknowledgedAt) &&
		i.AcknowledgedSeverity == j.AcknowledgedSeverity && i.AskedAt.Equal(j.AskedAt) && len(i.Acknowledgements) == len(j.Acknowledgements)
}

func equalTo[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
