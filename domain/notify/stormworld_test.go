package notify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// stormWorld has streams that are all watched, a routing, and the messages that its
// destinations were sent. It keeps threads and storms as an outbox does. Time moves from one
// thing that is due to the next.
type stormWorld struct {
	t        *testing.T
	now      time.Time
	routing  notify.Routing
	streams  []*stream
	threads  []*stormThread
	messages map[string][]string // by destination: the second, what it is about, and its kind
}

type stream struct {
	id       monitor.ID
	tracker  *incident.Tracker
	incident *incident.Incident // the newest
}

// stormThread is a thread of an incident or, without one, of a storm.
type stormThread struct {
	to       string
	stream   *stream
	incident *incident.Incident
	storm    *notify.Storm // it is, or the incident is in it; nil: none
	notified notify.Notified
	due      time.Time // zero: nothing is
}

func (th *stormThread) ofStorm() notify.StreamIncident {
	return notify.StreamIncident{Incident: *th.incident, MonitorID: th.stream.id}
}

// inOpenStorm reports whether the incident is in a storm that has not ended.
func (th *stormThread) inOpenStorm() bool { return th.storm != nil && th.storm.ResolvedAt.IsZero() }

// newStormWorld makes streams that are watched, and routes, by the names of their destinations
// on Discord, to the first streams: 0 means all of them.
func newStormWorld(t *testing.T, live int, routes map[string]int) *stormWorld {
	w := &stormWorld{t: t, now: eight, routing: notify.Routing{Destinations: map[string]notify.Destination{}}, messages: map[string][]string{}}
	for n := range live {
		w.streams = append(w.streams, &stream{id: monitor.ID(fmt.Sprintf("mon-%d", n)), tracker: incident.NewTracker(nil)})
	}
	for name, first := range routes {
		route := notify.Route{Destinations: []string{name}, Continue: true}
		for _, s := range w.streams[:first] {
			route.Match.Monitors = append(route.Match.Monitors, s.id)
		}
		w.routing.Destinations[name] = destination(name, notify.Discord)
		w.routing.Routes = append(w.routing.Routes, route)
	}
	return w
}

// at lets time pass until sec, and then lets the same happen to streams.
func (w *stormWorld) at(sec float64, what incident.Input, streams ...int) *stormWorld {
	w.t.Helper()
	w.pass(at(sec))
	for _, n := range streams {
		w.step(n, what)
	}
	return w
}

func (w *stormWorld) silence(s notify.Silence) *stormWorld {
	w.routing.Silences = append(w.routing.Silences, s)
	for _, th := range w.threads {
		th.due = w.now
	}
	w.deliver()
	return w
}

func (w *stormWorld) step(n int, in incident.Input) {
	w.t.Helper()
	s := w.streams[n]
	for _, c := range s.tracker.Step(w.now, in) {
		if c.ID == "" {
			c.ID = fmt.Sprintf("%d at %v", n, w.now)
		}
		s.incident = c.Incident
		for _, th := range w.threads {
			if th.incident == c.Incident {
				th.due = w.now
			}
		}
		for _, place := range w.routing.Places(w.now, []notify.StreamIncident{{Incident: *c.Incident, MonitorID: s.id}}) {
			if !slices.ContainsFunc(w.threads, func(th *stormThread) bool { return th.to == place.DestinationID && th.incident == c.Incident }) {
				w.threads = append(w.threads, &stormThread{to: place.DestinationID, stream: s, incident: c.Incident, due: place.DueAt})
			}
		}
	}
	w.deliver()
}

func (w *stormWorld) pass(until time.Time) {
	w.t.Helper()
	for range 10000 {
		next, ticks := until, -1
		for n, s := range w.streams {
			if s.incident == nil {
				continue
			}
			if due := s.incident.DueAt(); !due.IsZero() && (due.Before(next) || due.Equal(next) && ticks < 0) {
				next, ticks = due, n
			}
		}
		for _, th := range w.threads {
			if !th.due.IsZero() && th.due.Before(next) {
				next, ticks = th.due, -1
			}
		}
		if next.After(w.now) {
			w.now = next
		}
		if ticks >= 0 {
			w.step(ticks, incident.Tick{})
			continue
		}
		w.deliver()
		if !w.now.Before(until) {
			return
		}
	}
	w.t.Fatalf("at %v something is always due", w.now)
}

// deliver sends what is due now.
func (w *stormWorld) deliver() {
	w.t.Helper()
	for to := range w.routing.Destinations {
		for left := 10; ; left-- {
			var due []*stormThread
			for _, th := range w.threads {
				if th.to == to && !th.due.IsZero() && !th.due.After(w.now) {
					due = append(due, th)
				}
			}
			if len(due) == 0 {
				break
			}
			if left == 0 {
				w.t.Fatalf("%s: at %v s something is always due", to, w.now.Sub(eight).Seconds())
			}
			w.lease(to, due)
		}
	}
}

// lease decides what a destination is told of the threads that are due, and sends it.
func (w *stormWorld) lease(to string, due []*stormThread) {
	p := w.facts(to, due).Plan()
	for _, g := range p.Storms {
		w.storm(to, g)
	}
	for n, m := range p.Messages {
		th := due[n]
		if th.incident == nil && !m.Situation.Open && th.storm.ResolvedAt.IsZero() {
			th.storm.ResolvedAt = m.Situation.ResolvedAt
		}
		if th.due = m.At; m.Kind == "" {
			continue
		}
		about, sound := fmt.Sprintf("%d streams", m.Situation.Streams), ""
		if th.due = w.now.Add(notify.StormPause); th.incident != nil {
			about, th.due = string(th.stream.id), w.now
		}
		if m.Push {
			sound = "!"
		}
		w.messages[to] = append(w.messages[to], fmt.Sprintf("%.0f %s %s%s", w.now.Sub(eight).Seconds(), about, m.Kind, sound))
		th.notified = th.notified.After(m.Situation, m.NextMessage, w.now, "ref")
	}
}

// storm makes a storm or changes it, and its thread is due after the pause.
func (w *stormWorld) storm(to string, g notify.Gathered) {
	n := slices.IndexFunc(w.threads, func(th *stormThread) bool { return th.incident == nil && th.storm.ID == g.StormID })
	if g.StormID == "" {
		n = len(w.threads)
		w.threads = append(w.threads, &stormThread{to: to, storm: &notify.Storm{ID: fmt.Sprint("storm ", n), First: g.First, OpenedAt: w.now}})
	}
	if due, at := w.threads[n].due, w.now.Add(notify.StormPause); due.IsZero() || at.Before(due) {
		w.threads[n].due = at
	}
	for _, th := range w.threads {
		if th.to == to && th.incident != nil && slices.Contains(g.IncidentIDs, th.incident.ID) {
			th.storm = w.threads[n].storm
		}
	}
}

func (w *stormWorld) facts(to string, due []*stormThread) notify.Due {
	d := notify.Due{Now: w.now, Destination: w.routing.Destinations[to], Routing: w.routing, Watched: len(w.streams)}
	for _, th := range due {
		one := notify.Thread{Notified: th.notified}
		if th.incident == nil {
			storm := *th.storm
			for _, of := range w.threads {
				if of.incident != nil && of.storm == th.storm {
					storm.Incidents = append(storm.Incidents, of.ofStorm())
				}
			}
			one.Storm = &storm
		} else {
			about := th.ofStorm()
			if one.Incident = &about; th.inOpenStorm() {
				one.Storm = &notify.Storm{ID: th.storm.ID, First: th.storm.First}
			}
		}
		d.Threads = append(d.Threads, one)
	}
	for _, s := range w.streams {
		if s.incident == nil || s.incident.State != incident.Open {
			continue
		}
		opening, lasts := notify.OpeningOf(*s.incident, w.now)
		n := slices.IndexFunc(w.threads, func(th *stormThread) bool { return th.to == to && th.incident == s.incident })
		opening.Elsewhere = n < 0
		if n >= 0 && w.threads[n].inOpenStorm() {
			opening.Storm = &notify.Storm{ID: w.threads[n].storm.ID, First: w.threads[n].storm.First}
		}
		if lasts && w.now.Sub(opening.At) < 2*notify.StormWindow {
			d.Openings = append(d.Openings, opening)
		}
	}
	return d
}

func (w *stormWorld) expect(want map[string]string) {
	w.t.Helper()
	for name := range w.routing.Destinations {
		if got := strings.Join(w.messages[name], ", "); got != want[name] {
			w.t.Errorf("%s got\n%s, want\n%s", name, got, want[name])
		}
	}
}
