package notify

import (
	"cmp"
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
	StormStreams = 3           // so many streams make a storm, if they are
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

	// Elsewhere marks an incident that no route leads to the destination. It counts among the
	// streams that make a storm, and is not in it.
	Elsewhere bool

	// Storm is the open storm at the destination that the incident is in, of which only ID and First
	// are needed; nil: it is in none.
	Storm *Storm
}

// OpeningOf returns the newest opening of an incident; ok is false if nothing lasts.
func OpeningOf(i incident.Incident, now time.Time) (o Opening, ok bool) {
	c, severity, ok := i.Conditions.Worst(now)
	return Opening{IncidentID: i.ID, At: i.BeganAt(), Condition: c, Severity: severity}, ok
}

// isLike reports whether a storm that begins with the first incident is also of the other one.
func (first Opening) isLike(i Opening) bool {
	return i.Condition == first.Condition && i.Severity <= first.Severity
}

// Gathered are the incidents that are one storm from now on.
type Gathered struct {
	StormID     string // of the open storm that they join; empty: they make a new one
	First       Opening
	IncidentIDs []string // that join
}

// gathering makes storms of the incidents of a destination.
type gathering struct {
	watched   int             // streams
	unknown   map[string]bool // incidents of which the destination is about to be told
	storms    []Gathered      // open ones that began in the last two StormWindows
	openings  []Opening       // at the destination and in none of them, in the order of their times, the worst first
	taken     []bool          // the opening is in a storm
	elsewhere []Opening
}

func newGathering(d Due, unknown map[string]bool) *gathering {
	g := &gathering{watched: d.Watched, unknown: unknown}
	for _, o := range d.Openings {
		if o.Elsewhere {
			g.elsewhere = append(g.elsewhere, o)
			continue
		}
		if s := o.Storm; s != nil {
			if d.Now.Sub(s.First.At) < 2*StormWindow && !slices.ContainsFunc(g.storms, func(g Gathered) bool { return g.StormID == s.ID }) {
				g.storms = append(g.storms, Gathered{StormID: s.ID, First: s.First})
			}
			if o.At.Sub(s.First.At) < StormWindow {
				continue
			}
		}
		g.openings = append(g.openings, o)
	}
	slices.SortStableFunc(g.openings, func(a, b Opening) int { return cmp.Or(a.At.Compare(b.At), b.Severity-a.Severity) })
	g.taken = make([]bool, len(g.openings))
	return g
}

// gather returns the open storms that incidents join, and those that they make. Earlier
// incidents are among them: they were too few. One that is in none gets messages of its own.
func (g *gathering) gather() (all []Gathered) {
	for _, storm := range g.storms {
		if members := g.members(storm.First, 0); len(members) > 0 {
			all = append(all, g.take(storm, members))
		}
	}
	if len(g.unknown) == 0 { // a new storm would only repeat what the destination knows
		return all
	}
	for n, first := range g.openings {
		if g.taken[n] {
			continue
		}
		if members := g.members(first, n); g.isStorm(first, members) {
			all = append(all, g.take(Gathered{First: first}, members))
		}
	}
	return all
}

// members returns the openings from the nth on that are of the storm that begins with first.
func (g *gathering) members(first Opening, n int) (members []int) {
	for ; n < len(g.openings) && g.openings[n].At.Sub(first.At) < StormWindow; n++ {
		if i := g.openings[n]; !g.taken[n] && !i.At.Before(first.At) && first.isLike(i) {
			members = append(members, n)
		}
	}
	return members
}

// isStorm reports whether openings are enough for a storm, with those elsewhere at about the same
// time. Without one that the destination is about to be told of, a storm would only repeat
// what it knows.
func (g *gathering) isStorm(first Opening, members []int) bool {
	isUnknown := func(n int) bool { return g.unknown[g.openings[n].IncidentID] }
	if len(members) < StormStreams || !slices.ContainsFunc(members, isUnknown) {
		return false
	}
	streams := len(members)
	for _, i := range g.elsewhere {
		if first.isLike(i) && i.At.Sub(first.At).Abs() < StormWindow {
			streams++
		}
	}
	return streams >= stormOpened || streams*stormShare >= g.watched
}

func (g *gathering) take(storm Gathered, members []int) Gathered {
	storm.IncidentIDs = nil
	for _, n := range members {
		g.taken[n] = true
		storm.IncidentIDs = append(storm.IncidentIDs, g.openings[n].IncidentID)
	}
	return storm
}

// StreamIncident is an incident with what routes compare, and what messages say of its stream.
type StreamIncident struct {
	incident.Incident

	MonitorID monitor.ID
	Number    int // of the stream; 0: none
	StreamURL monitor.StreamURL
	Metadata  map[string]string // as in Subject; channel_name and stream_title name the stream
	Labels    monitor.Labels
	Good      []string       // lanes of the history that are good now: they were looked at
	Unseen    monitor.Unseen // why nothing is known of the stream now
}

// Subject returns what routes and silences compare. It has every condition that the incident
// has had, so what matches once matches until the end.
func (i StreamIncident) Subject() Subject {
	began := make([]int, 0, len(i.Conditions))
	for _, c := range i.Conditions {
		began = append(began, c.BeganSeverity)
	}
	return Subject{IncidentID: i.ID, Conditions: i.Conditions.Names(), Severity: i.Severity, Began: began, MonitorID: i.MonitorID, Metadata: i.Metadata, Labels: i.Labels}
}

// Storm is a set of incidents that share one message at a destination.
type Storm struct {
	ID         string    // of its delivery
	OpenedAt   time.Time // when it was found
	ResolvedAt time.Time // when it was found that all of its incidents are resolved; zero: not yet
	First      Opening   // that it began with
	Watched    int       // the most streams that were watched at once when it grew; 0: unknown
	Incidents  []StreamIncident
}

// Covers reports whether the storm says what there is to say about one of its incidents now. It
// does not once another condition is worse, or once the incident has come back later.
func (s Storm) Covers(i incident.Incident, now time.Time) bool {
	if i.State != incident.Open {
		return true
	}
	return i.BeganAt().Sub(s.First.At) < StormWindow && i.Conditions.IsWorst(s.First.Condition, now)
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

// open returns the incidents of the storm that are open, as routes compare them.
func (s Storm) open() (all []Subject) {
	for _, i := range s.Incidents {
		if i.State == incident.Open {
			all = append(all, i.Subject())
		}
	}
	return all
}

// Situation returns what messages tell of a storm. It was opened with its first incident: a
// clock may have been ahead when the storm was found. It is as severe as the worst of the
// incidents that it covers, and handled when each that is open is.
func (s Storm) Situation(now time.Time) Situation {
	all := Situation{Open: s.ResolvedAt.IsZero() && len(s.open()) > 0, OpenedAt: s.OpenedAt, ResolvedAt: s.ResolvedAt, Streams: s.Streams()}
	if !s.First.At.IsZero() && s.First.At.Before(all.OpenedAt) {
		all.OpenedAt = s.First.At
	}
	all.BeganAt = all.OpenedAt
	var by []string
	handled := all.Open
	for _, i := range s.Incidents {
		one := SituationOf(i.Incident)
		if !all.Open && s.ResolvedAt.IsZero() && one.ResolvedAt.After(all.ResolvedAt) {
			all.ResolvedAt = one.ResolvedAt
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
