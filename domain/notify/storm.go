package notify

import (
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The limits of section 19.7.
const (
	StormWindow  = time.Minute // incidents that are opened within it count
	stormOpened  = 10          // so many make a storm
	stormStreams = 3           // or those of so many streams, if
	stormShare   = 5           // they are a fifth of the live ones
)

// StormPause is the shortest time between two messages about a storm, and before the first.
// Its incidents come within seconds, and one message should count most of them.
const StormPause = 5 * time.Second

// Openings are incidents that have just been opened, with what decides whether they are a
// storm.
type Openings struct {
	Opened  []Opening
	Earlier []Opening // open incidents that are in no storm, at least those of the last StormWindow
	Live    int       // streams that are live

	// StormGrewAt is when the newest incident of an open storm was opened; zero: no storm
	// is open.
	StormGrewAt time.Time
}

// Opening is an incident that was opened. Each is of another stream: a stream has one open
// incident.
type Opening struct {
	IncidentID string
	At         time.Time
}

// Gather returns the IDs of the incidents that are one storm from now on: they join the open
// storm, or make a new one. Earlier ones are among them: they could not be counted when they
// were opened, or were too few. None: they get messages of their own.
func (o Openings) Gather() (incidentIDs []string, joins bool) {
	if len(o.Opened) == 0 {
		return nil, false
	}
	first := slices.MinFunc(o.Opened, func(a, b Opening) int { return a.At.Compare(b.At) }).At
	atOnce := func(at time.Time) bool { return at.Sub(first).Abs() < StormWindow }
	for _, i := range o.Opened {
		incidentIDs = append(incidentIDs, i.IncidentID)
	}
	for _, i := range o.Earlier {
		if atOnce(i.At) && !slices.Contains(incidentIDs, i.IncidentID) {
			incidentIDs = append(incidentIDs, i.IncidentID)
		}
	}
	if atOnce(o.StormGrewAt) {
		return incidentIDs, true
	}
	if n := len(incidentIDs); n >= stormOpened || n >= stormStreams && o.Live > 0 && n*stormShare >= o.Live {
		return incidentIDs, false
	}
	return nil, false
}

// Storm is a set of incidents that share one message at each destination.
type Storm struct {
	OpenedAt   time.Time // when it was found
	ResolvedAt time.Time // zero while one of its incidents is open
	Live       int       // the most streams that were live at once when it grew; 0: unknown
	Incidents  []StormIncident
}

// StormIncident is an incident of a storm.
type StormIncident struct {
	incident.Incident

	MonitorID monitor.ID
	Metadata  map[string]string // as in Subject
}

// Subject returns what routes and silences compare.
func (i StormIncident) Subject() Subject { return subjectOf(i.Incident, i.MonitorID, i.Metadata) }

// LedTo returns the storm with those of its incidents that the routes lead to a destination.
func (s Storm) LedTo(d Destination, r Routing) Storm {
	s.Incidents = slices.DeleteFunc(slices.Clone(s.Incidents), func(i StormIncident) bool { return !r.leadsTo(d, i.Subject()) })
	return s
}

// Of returns the storm that messages to a destination are about. If the routes lead none of
// its incidents there any more, it has all: the destination may still have to get the end.
func (s Storm) Of(d Destination, r Routing) Storm {
	if own := s.LedTo(d, r); len(own.Incidents) > 0 {
		return own
	}
	return s
}

// Notifies reports whether a destination is notified of the storm, and not of each of its own
// incidents in it. Fewer than three streams get messages of their own.
func (s Storm) Notifies(d Destination, r Routing) bool {
	return s.LedTo(d, r).Streams() >= stormStreams
}

// Policy returns the policy for the messages about the storm to a destination. If they are
// not about the storm, only an end is sent.
func (s Storm) Policy(d Destination, r Routing, now time.Time) ThreadPolicy {
	var open []Subject
	for _, i := range s.Of(d, r).Incidents {
		if i.State == incident.Open {
			open = append(open, i.Subject())
		}
	}
	p := r.Policy(d, now, open...)
	if !s.Notifies(d, r) {
		p.SilencedUntil = Forever
	}
	return p
}

// IncidentPolicy returns the policy for the messages about an incident of the open storm to a
// destination. Only an end is sent if the destination is notified of the storm.
func (s Storm) IncidentPolicy(of Subject, d Destination, r Routing, now time.Time) ThreadPolicy {
	p := r.Policy(d, now, of)
	if s.Notifies(d, r) {
		p.SilencedUntil = Forever
	}
	return p
}

// Streams counts the streams with an incident in the storm.
func (s Storm) Streams() int {
	streams := map[monitor.ID]bool{}
	for _, i := range s.Incidents {
		streams[i.MonitorID] = true
	}
	return len(streams)
}

// Among returns how many streams messages count the streams of the storm among; 0: unknown.
// They are never fewer than those of the storm, because a stream that is down is not live.
func (s Storm) Among() int {
	if s.Live == 0 {
		return 0
	}
	return max(s.Live, s.Streams())
}

// Open reports whether an incident of the storm is open.
func (s Storm) Open() bool {
	return slices.ContainsFunc(s.Incidents, func(i StormIncident) bool { return i.State == incident.Open })
}

// Situation returns what messages tell of a storm. It was opened with its first incident: a
// clock may have been ahead when the storm was found. It is as severe as the worst of its
// incidents, and handled when each that is open is.
func (s Storm) Situation() Situation {
	all := Situation{Open: s.ResolvedAt.IsZero() && s.Open(), OpenedAt: s.OpenedAt, ResolvedAt: s.ResolvedAt, Streams: s.Streams()}
	var by []string
	handled := all.Open
	for _, i := range s.Incidents {
		one := SituationOf(i.Incident)
		if one.OpenedAt.Before(all.OpenedAt) {
			all.OpenedAt = one.OpenedAt
		}
		if !all.Open && s.ResolvedAt.IsZero() && one.ResolvedAt.After(all.ResolvedAt) {
			all.ResolvedAt = one.ResolvedAt // incidents of other destinations last
		}
		all.Severity = max(all.Severity, one.Severity)
		for _, c := range one.Conditions {
			if all.Open && !slices.Contains(all.Conditions, c) { // what comes back after the storm is no part of it
				all.Conditions = append(all.Conditions, c)
			}
		}
		if one.Open {
			handled = handled && one.Handled()
			if !slices.Contains(by, one.AcknowledgedBy) {
				by = append(by, one.AcknowledgedBy)
			}
		}
	}
	if handled {
		slices.Sort(by)
		all.AcknowledgedBy, all.AcknowledgedSeverity = strings.Join(by, ", "), all.Severity
	}
	return all
}
