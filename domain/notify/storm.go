package notify

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The limits of section 19.7.
const (
	StormWindow  = time.Minute // incidents that begin so soon after the first of a storm are in it
	stormStreams = 3           // so many streams make a storm, if they are
	stormOpened  = 10          // so many, or
	stormShare   = 5           // a fifth of those that are watched
)

// StormPause is the shortest time between two messages about a storm, and before the first.
// Its incidents come within seconds, and one message should count most of them.
const StormPause = 5 * time.Second

// Opening is an incident that was opened or reopened. Each is of another stream: a stream
// has one open incident.
type Opening struct {
	IncidentID string
	At         time.Time
	Condition  incident.Name // the worst that lasts
	Severity   int           // of this condition
}

// OpeningOf returns the newest opening of an incident; ok is false if nothing lasts.
func OpeningOf(i incident.Incident, now time.Time) (o Opening, ok bool) {
	c, severity, ok := i.WorstLasting(now)
	return Opening{i.ID, i.BeganAt(), c, severity}, ok
}

// Openings are incidents that have just been opened or reopened, with what decides whether
// they are storms.
type Openings struct {
	Opened  []Opening
	Earlier []Opening // open incidents that are in no open storm, at least those of the last StormWindow
	Watched int       // streams that are watched
	Storms  []Gathered
}

// Gathered are the incidents that are one storm from now on.
type Gathered struct {
	StormID     string // of the open storm that they join; empty: they make a new one
	First       Opening
	IncidentIDs []string
}

// Gather returns the storms that the incidents make or join. Earlier ones are among them: they
// could not be counted when they were opened, or were too few. An incident that is in none gets
// messages of its own.
func (o Openings) Gather() (all []Gathered) {
	rest := slices.Concat(o.Opened, o.Earlier)
	slices.SortStableFunc(rest, func(a, b Opening) int { return a.At.Compare(b.At) })
	take := func(g Gathered) Gathered {
		g.IncidentIDs = nil
		for _, i := range rest {
			if g.First.begins(i) {
				g.IncidentIDs = append(g.IncidentIDs, i.IncidentID)
			}
		}
		return g
	}
	add := func(g Gathered) {
		all = append(all, g)
		rest = slices.DeleteFunc(slices.Clone(rest), func(i Opening) bool { return slices.Contains(g.IncidentIDs, i.IncidentID) })
	}
	for _, storm := range o.Storms {
		if g := take(storm); len(g.IncidentIDs) > 0 {
			add(g)
		}
	}
	for _, first := range slices.Clone(rest) {
		if g := take(Gathered{First: first}); slices.Contains(g.IncidentIDs, first.IncidentID) && o.isStorm(g) {
			add(g)
		}
	}
	return all
}

// begins reports whether an incident is of the storm that begins with this one.
func (first Opening) begins(i Opening) bool {
	after := i.At.Sub(first.At)
	return i.Condition == first.Condition && i.Severity <= first.Severity && after >= 0 && after < StormWindow
}

// isStorm reports whether incidents are enough for a storm, and one of them has just been opened.
func (o Openings) isStorm(g Gathered) bool {
	n := len(g.IncidentIDs)
	return n >= stormStreams && (n >= stormOpened || n*stormShare >= o.Watched) &&
		slices.ContainsFunc(o.Opened, func(i Opening) bool { return slices.Contains(g.IncidentIDs, i.IncidentID) })
}

// Storm is a set of incidents that share one message at each destination.
type Storm struct {
	OpenedAt   time.Time // when it was found
	ResolvedAt time.Time // zero while one of its incidents is open
	First      Opening   // that it began with
	Watched    int       // the most streams that were watched at once when it grew; 0: unknown
	Incidents  []StormIncident
}

// StormIncident is an incident of a storm.
type StormIncident struct {
	incident.Incident

	MonitorID monitor.ID
	Metadata  map[string]string // as in Subject
	Unseen    monitor.Unseen    // why nothing is known of the stream now
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

// Covers reports whether the storm says what there is to say about one of its incidents now. It
// does not once another condition is worse, or once the incident has come back later.
func (s Storm) Covers(i incident.Incident, now time.Time) bool {
	if i.State != incident.Open {
		return true
	}
	_, worst, lasts := i.WorstLasting(now)
	return i.BeganAt().Sub(s.First.At) < StormWindow && (!lasts || i.LastingSeverity(s.First.Condition, now) == worst)
}

// Tells reports whether a destination is notified of the storm in place of one of its incidents.
func (s Storm) Tells(i StormIncident, d Destination, r Routing, now time.Time) bool {
	return s.Covers(i.Incident, now) && s.Notifies(d, r)
}

// IncidentPolicy returns the policy for the messages about an incident of the open storm to a
// destination. Only an end is sent if the destination is notified of the storm in its place.
func (s Storm) IncidentPolicy(i StormIncident, d Destination, r Routing, now time.Time) ThreadPolicy {
	p := r.Policy(d, now, i.Subject())
	if s.Tells(i, d, r, now) {
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

// BlindSpot returns what the streams of the storm have in common that are unseen now; nil: too
// few are.
func (s Storm) BlindSpot() *monitor.BlindSpot {
	groups := map[monitor.ID]monitor.UnseenGroup{}
	for _, i := range s.Incidents {
		if i.Unseen != (monitor.Unseen{}) {
			groups[i.MonitorID] = monitor.UnseenGroup{Unseen: i.Unseen, Monitors: 1}
		}
	}
	return monitor.NewBlindSpot(slices.Collect(maps.Values(groups)), s.Streams())
}

// Among returns how many streams messages count the streams of the storm among; 0: unknown.
// They are never fewer than those of the storm, because a stream that has ended is not watched.
func (s Storm) Among() int {
	if s.Watched == 0 {
		return 0
	}
	return max(s.Watched, s.Streams())
}

// Open reports whether an incident of the storm is open.
func (s Storm) Open() bool {
	return slices.ContainsFunc(s.Incidents, func(i StormIncident) bool { return i.State == incident.Open })
}

// Situation returns what messages tell of a storm. It was opened with its first incident: a
// clock may have been ahead when the storm was found. It is as severe as the worst of the
// incidents that it covers, and handled when each that is open is.
func (s Storm) Situation(now time.Time) Situation {
	all := Situation{Open: s.ResolvedAt.IsZero() && s.Open(), OpenedAt: s.OpenedAt, ResolvedAt: s.ResolvedAt, Streams: s.Streams()}
	if !s.First.At.IsZero() && s.First.At.Before(all.OpenedAt) {
		all.OpenedAt = s.First.At
	}
	all.BeganAt = all.OpenedAt
	var by []string
	handled := all.Open
	for _, i := range s.Incidents {
		one := SituationOf(i.Incident)
		if !all.Open && s.ResolvedAt.IsZero() && one.ResolvedAt.After(all.ResolvedAt) {
			all.ResolvedAt = one.ResolvedAt // incidents of other destinations last
		}
		if !s.Covers(i.Incident, now) {
			one.Severity, one.SeverityNow, one.Conditions = 0, 0, nil // it is told by itself
		}
		all.Severity, all.SeverityNow = max(all.Severity, one.Severity), max(all.SeverityNow, one.SeverityNow)
		for _, c := range one.Conditions {
			if all.Open && one.Open && !slices.Contains(all.Conditions, c) { // what a person has resolved, or comes back later, is no part of it
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
