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
// destinations were sent. Time moves from one thing that is due to the next.
type stormWorld struct {
	t        *testing.T
	now      time.Time
	routing  notify.Routing
	streams  []*stream
	storms   []*storm
	threads  []*stormThread
	messages map[string][]string // by destination: the second, what it is about, and its kind
}

type stream struct {
	id       monitor.ID
	tracker  *incident.Tracker
	incident *incident.Incident // the newest
	storm    *storm             // that it began in; nil: none
}

type storm struct {
	id                   string
	first                notify.Opening
	openedAt, resolvedAt time.Time
	streams              []*stream
}

func (s *storm) facts() notify.Storm {
	facts := notify.Storm{OpenedAt: s.openedAt, ResolvedAt: s.resolvedAt, First: s.first}
	for _, of := range s.streams {
		facts.Incidents = append(facts.Incidents, of.ofStorm())
	}
	return facts
}

func (s *stream) ofStorm() notify.StormIncident {
	return notify.StormIncident{Incident: *s.incident, MonitorID: s.id}
}

// stormThread is a thread of the storm or, without one, of the incident of a stream.
type stormThread struct {
	to       string
	storm    *storm
	stream   *stream
	notified notify.Notified
	due      time.Time // zero: nothing is
}

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
		if c.Incident.ID == "" {
			c.Incident.ID = fmt.Sprintf("%d at %v", n, w.now)
			s.storm = nil
		}
		opened := slices.ContainsFunc(c.Log, func(e incident.Entry) bool { return e.Kind == incident.WasOpened || e.Kind == incident.WasReopened })
		s.incident = c.Incident
		if opened {
			w.gather(s)
		}
		if s.storm != nil && s.storm.resolvedAt.IsZero() && !s.storm.facts().Open() {
			s.storm.resolvedAt = w.now
		}
		w.wake(s)
	}
	w.deliver()
}

// gather counts an incident that was opened or reopened.
func (w *stormWorld) gather(opened *stream) {
	o := notify.Openings{Watched: len(w.streams)}
	if of, lasts := notify.OpeningOf(*opened.incident, w.now); lasts {
		o.Opened = append(o.Opened, of)
	}
	for _, s := range w.storms {
		if s.resolvedAt.IsZero() {
			o.Storms = append(o.Storms, notify.Gathered{StormID: s.id, First: s.first})
		}
	}
	for _, s := range w.streams {
		if s != opened && s.incident != nil && s.incident.State == incident.Open && (s.storm == nil || !s.storm.resolvedAt.IsZero()) {
			if of, lasts := notify.OpeningOf(*s.incident, w.now); lasts {
				o.Earlier = append(o.Earlier, of)
			}
		}
	}
	for _, g := range o.Gather() {
		n := slices.IndexFunc(w.storms, func(s *storm) bool { return s.id == g.StormID })
		if n < 0 {
			n = len(w.storms)
			w.storms = append(w.storms, &storm{id: fmt.Sprint("storm ", n), first: g.First, openedAt: w.now})
		}
		for _, s := range w.streams {
			if s.incident != nil && slices.Contains(g.IncidentIDs, s.incident.ID) && s.storm != w.storms[n] {
				w.join(s, w.storms[n])
			}
		}
	}
}

func (w *stormWorld) join(s *stream, to *storm) {
	if s.storm != nil {
		s.storm.streams = slices.DeleteFunc(s.storm.streams, func(of *stream) bool { return of == s })
	}
	s.storm = to
	to.streams = append(to.streams, s)
	w.wake(s)
}

// wake makes the threads of an incident and of its storm due, and adds those that are missing.
func (w *stormWorld) wake(s *stream) {
	for _, th := range w.threads {
		switch {
		case th.stream == s:
			th.due = w.now
		case th.storm != nil && th.storm == s.storm:
			th.due = w.pause(th.due)
		}
	}
	for _, to := range w.routing.Targets(notify.SubjectOf(*s.incident, s.id, nil)) {
		about := &stormThread{to: to.Destination.ID, stream: s, due: w.now}
		if s.storm != nil && s.storm.resolvedAt.IsZero() && s.storm.facts().Tells(s.ofStorm(), to.Destination, w.routing, w.now) {
			about = &stormThread{to: to.Destination.ID, storm: s.storm, due: w.pause(time.Time{})}
		}
		if !slices.ContainsFunc(w.threads, func(th *stormThread) bool {
			return th.to == about.to && th.storm == about.storm && th.stream == about.stream
		}) {
			w.threads = append(w.threads, about)
		}
	}
}

// pause returns when the next message about a storm is due.
func (w *stormWorld) pause(due time.Time) time.Time {
	if next := w.now.Add(notify.StormPause); due.IsZero() || next.Before(due) {
		return next
	}
	return due
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

func (w *stormWorld) deliver() {
	w.t.Helper()
	for _, th := range w.threads {
		if th.due.IsZero() || th.due.After(w.now) {
			continue
		}
		s, p, about := w.facts(th)
		next := notify.Next(w.now, s, th.notified, p)
		if next.Kind != "" {
			sound := ""
			if next.Push {
				sound = "!"
			}
			w.messages[th.to] = append(w.messages[th.to], fmt.Sprintf("%.0f %s %s%s", w.now.Sub(eight).Seconds(), about, next.Kind, sound))
			th.notified = th.notified.After(s, next, w.now, "ref")
			next = notify.Next(w.now, s, th.notified, p)
		}
		if next.Kind != "" {
			w.t.Fatalf("%s: at %v s all was sent, and at once there is %+v", th.to, w.now.Sub(eight).Seconds(), next)
		}
		th.due = next.At
	}
}

func (w *stormWorld) facts(th *stormThread) (s notify.Situation, p notify.ThreadPolicy, about string) {
	d := w.routing.Destinations[th.to]
	if th.storm != nil {
		all := th.storm.facts()
		s = all.Of(d, w.routing).Situation(w.now)
		return s, all.Policy(d, w.routing, w.now), fmt.Sprintf("%d streams", s.Streams)
	}
	i := *th.stream.incident
	subject := notify.SubjectOf(i, th.stream.id, nil)
	p = w.routing.Policy(d, w.now, subject)
	if of := th.stream.storm; of != nil && of.resolvedAt.IsZero() {
		p = of.facts().IncidentPolicy(th.stream.ofStorm(), d, w.routing, w.now)
	}
	return notify.SituationOf(i), p, string(th.stream.id)
}

func (w *stormWorld) expect(want map[string]string) {
	w.t.Helper()
	for name := range w.routing.Destinations {
		if got := strings.Join(w.messages[name], ", "); got != want[name] {
			w.t.Errorf("%s got\n%s, want\n%s", name, got, want[name])
		}
	}
}
