package notify

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// lastsLong is the age from which messages about an incident can wait a little. They leave room
// for those about new incidents.
const lastsLong = time.Hour

// DueThread names a destination that may have to be told of an incident.
type DueThread struct {
	IncidentID    string
	DestinationID string
	RouteID       string
	DueAt         time.Time // when it is decided what it is told
}

// DueThreads returns the threads of incidents that have changed. A destination is told of those that
// have lasted long one after the other, at half of its rate limit.
func (r Routing) DueThreads(now time.Time, incidents []StreamIncident) (all []DueThread) {
	behind := map[string]time.Duration{} // by destination
	for _, i := range incidents {
		long := i.lastsLong(now)
		for _, to := range r.Targets(i.Subject(), now) {
			id, dueAt := to.Destination.ID, now
			if long {
				channel, _ := ChannelOf(to.Destination.Kind)
				dueAt = now.Add(behind[id])
				behind[id] += max(2*channel.RateLimit.Interval, time.Second)
			}
			all = append(all, DueThread{i.ID, id, to.Route.ID, dueAt})
		}
	}
	return all
}

// lastsLong reports whether an open incident is old, and nothing in it is new.
func (i StreamIncident) lastsLong(now time.Time) bool {
	newest := i.BeganAt()
	for _, c := range i.Conditions {
		newest = instant.Latest(newest, c.LastStartedAt)
	}
	return i.State == incident.Open && now.Sub(newest) >= lastsLong
}

// WaitsForRecovery reports whether a silence lasts until an incident has recovered.
func (r Routing) WaitsForRecovery() bool {
	return slices.ContainsFunc(r.Silences, func(s Silence) bool { return s.UntilRecovered })
}

// Recovered returns the silences that end because an incident has recovered. Their incidents are
// resolved, or their monitors have ended and have no open incident.
func (r Routing) Recovered(now time.Time, resolved []Subject, ended []monitor.ID) (silenceIDs []string) {
	for _, silence := range r.Silences {
		if !silence.UntilRecovered || !silence.Active(now) {
			continue
		}
		isOf := func(id monitor.ID) bool { return slices.Equal(silence.Match.Monitors, []monitor.ID{id}) }
		if slices.ContainsFunc(resolved, silence.Match.Matches) || slices.ContainsFunc(ended, isOf) {
			silenceIDs = append(silenceIDs, silence.ID)
		}
	}
	return silenceIDs
}

// Due has all that decides about the messages to a destination that are due now.
type Due struct {
	Now         time.Time
	Destination Destination
	Routing     Routing
	Watched     int          // streams
	Opinions    OpinionPower // over messages
	Threads     []Thread     // that are due

	// Openings are those of the last two StormWindows, of incidents that last.
	Openings []Opening
}

// Thread holds the messages about an incident or a storm at a destination.
type Thread struct {
	Notified Notified
	Incident *StreamIncident // nil: the thread is a storm's

	// Storm is that of the thread, with its incidents. Of an incident it is the open storm that
	// it is in, of which only ID and First are needed; nil: it is in none.
	Storm *Storm
}

// Plan says what a destination is told now.
type Plan struct {
	// Storms are those that are new, have grown, or have an incident among the threads: their
	// own threads are due after StormPause.
	Storms   []Gathered
	Messages []Planned // of Due.Threads, in their order
}

// Planned is the next message of a thread, with what decided about it.
type Planned struct {
	NextMessage

	Situation Situation // a storm that is not open has ended for good
	Policy    ThreadPolicy

	// Told is the incident of the thread as second opinions let it be told; of a storm it is empty.
	Told incident.Incident

	// Dropped says why nothing is told of an incident; empty: second opinions drop no message about it.
	Dropped string
}

// Plan decides what the destination is told. No other place asks for the next message of a thread.
func (d Due) Plan() (p Plan) {
	unknown := map[string]bool{}
	for _, t := range d.Threads {
		if t.Incident != nil && t.Notified.isUnaware(t.Incident.Reopened) {
			unknown[t.Incident.ID] = true
		}
	}
	p.Storms = newGathering(d, unknown).gather()
	joined, changed := map[string]*Storm{}, map[string]bool{}
	for _, g := range p.Storms {
		changed[g.StormID] = true
		for _, id := range g.IncidentIDs {
			joined[id] = &Storm{ID: g.StormID, First: g.First}
		}
	}
	for _, t := range d.Threads {
		if t.Incident != nil {
			if storm, is := joined[t.Incident.ID]; is {
				t.Storm = storm
			} else if t.Storm != nil && !changed[t.Storm.ID] {
				changed[t.Storm.ID] = true
				p.Storms = append(p.Storms, Gathered{StormID: t.Storm.ID, First: t.Storm.First})
			}
		}
		p.Messages = append(p.Messages, d.next(t))
	}
	return p
}

// next returns the next message of a thread. An incident that a storm covers gets only the end of
// what was told before.
func (d Due) next(t Thread) (m Planned) {
	if t.Incident == nil {
		m.Situation, m.Policy = t.Storm.Situation(d.Now), d.Routing.Policy(d.Destination, d.Now, t.Storm.open()...)
		m.NextMessage = Next(d.Now, m.Situation, t.Notified, m.Policy)
		return m
	}
	advice := d.Opinions.Advise(t.Incident.Incident, d.Now)
	if m.Told = advice.Told; t.Incident.State != incident.Open {
		m.Told = t.Incident.Incident // its end is never hidden, nor a part of it
	}
	m.Situation, m.Policy = SituationOf(m.Told), d.Routing.Policy(d.Destination, d.Now, t.Incident.Subject())
	if t.Storm != nil && t.Storm.Covers(m.Told, d.Now) {
		m.Policy.SilencedUntil = Forever
	}
	m.NextMessage = Next(d.Now, m.Situation, t.Notified, m.Policy) // none about an incident without conditions
	if m.Kind == "" {
		m.At = instant.Earliest(m.At, advice.Until)
		if advice.Nothing && t.Notified.isUnaware(t.Incident.Reopened) {
			m.Dropped = advice.Dropped
		}
	}
	return m
}
