package notify_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// world has streams that are all watched, and destinations. It keeps threads and storms as an outbox
// does. Time moves from one thing that is due to the next.
type world struct {
	t            failer
	now          time.Time
	routing      notify.Routing
	opinions     notify.OpinionPower
	streams      []*stream
	destinations []*destined
	threads      []*thread
	changesAt    time.Time // when the routes lead elsewhere by themselves; zero: they do not
}

// failer is what testing.T and rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// destined is a destination with the route that leads to it, and what it was sent.
type destined struct {
	name          string
	kind          notify.Kind
	delay, repeat time.Duration
	first         int                  // its route is of so many of the first streams; 0: of all
	down          func(time.Time) bool // the destination is; nil: never
	sent          []message
}

type message struct {
	at       time.Time
	step     notify.NextMessage
	incident *incident.Incident // nil: a storm
	stream   monitor.ID
	about    notify.Situation
}

type stream struct {
	id       monitor.ID
	tracker  *incident.Tracker
	incident *incident.Incident // the newest
}

// thread is a thread of an incident or, without one, of a storm.
type thread struct {
	to       *destined
	stream   *stream
	incident *incident.Incident
	storm    *notify.Storm // it is, or the incident is in it; nil: none
	notified notify.Notified
	due      time.Time // zero: nothing is
}

func (th *thread) streamIncident() notify.StreamIncident {
	return notify.StreamIncident{Incident: *th.incident, MonitorID: th.stream.id}
}

// inOpenStorm reports whether the incident is in a storm that has not ended.
func (th *thread) inOpenStorm() bool { return th.storm != nil && th.storm.ResolvedAt.IsZero() }

// edits and writes are a channel that edits, and one that does not and waits 3 s for a picture.
func edits() *destined  { return &destined{name: "edits", kind: notify.Discord} }
func writes() *destined { return &destined{name: "writes", kind: notify.Teams} }

func (d *destined) delayed(by time.Duration) *destined     { d.delay = by; return d }
func (d *destined) repeated(every time.Duration) *destined { d.repeat = every; return d }

func newWorld(t failer, all ...*destined) *world { return newWorldOf(t, 1, all...) }

func newWorldOf(t failer, streams int, all ...*destined) *world {
	w := &world{t: t, now: eight, routing: notify.Routing{Destinations: map[string]notify.Destination{}}, destinations: all}
	for n := range streams {
		w.streams = append(w.streams, &stream{id: monitor.ID(fmt.Sprintf("mon-%d", n)), tracker: incident.NewTracker(nil)})
	}
	for _, d := range all {
		route := notify.Route{Destinations: []string{d.name}, Continue: true, DelaySec: int64(d.delay.Seconds()), RepeatSec: int64(d.repeat.Seconds())}
		for _, s := range w.streams[:d.first] {
			route.Match.Monitors = append(route.Match.Monitors, s.id)
		}
		w.routing.Destinations[d.name] = destination(d.name, d.kind)
		w.routing.Routes = append(w.routing.Routes, route)
	}
	return w
}

// at lets time pass until sec, and lets something happen to the first stream.
func (w *world) at(sec float64, inputs ...incident.Input) *world {
	w.t.Helper()
	w.pass(at(sec))
	for _, in := range inputs {
		w.step(w.streams[0], in)
	}
	return w
}

// together lets time pass until sec, and lets the same happen to several streams.
func (w *world) together(sec float64, in incident.Input, streams ...int) *world {
	w.t.Helper()
	w.pass(at(sec))
	for _, n := range streams {
		w.step(w.streams[n], in)
	}
	return w
}

func (w *world) silence(s notify.Silence) *world {
	w.t.Helper()
	w.routing.Silences = append(w.routing.Silences, s)
	for _, th := range w.threads {
		th.due = w.now
	}
	w.deliver()
	return w
}

func (w *world) step(s *stream, in incident.Input) {
	w.t.Helper()
	for _, c := range s.tracker.Step(w.now, in) {
		if c.ID == "" {
			c.ID = fmt.Sprintf("of %s at %v", s.id, w.now)
		}
		s.incident = c.Incident
		for _, th := range w.threads {
			if th.incident == c.Incident {
				th.due = w.now
			}
		}
		w.place(s, c.Incident)
	}
	w.deliver()
}

// reroute tells anew where all incidents go, as a change of the routing does.
func (w *world) reroute() {
	w.t.Helper()
	w.changesAt = w.routing.NextChange(w.now)
	for _, th := range w.threads {
		th.due = w.now
	}
	for _, s := range w.streams {
		if s.incident != nil && s.incident.State == incident.Open {
			w.place(s, s.incident)
		}
	}
	w.deliver()
}

// place makes threads where an incident is told.
func (w *world) place(s *stream, i *incident.Incident) {
	for _, due := range w.routing.DueThreads(w.now, []notify.StreamIncident{{Incident: *i, MonitorID: s.id}}) {
		to := w.destinations[slices.IndexFunc(w.destinations, func(d *destined) bool { return d.name == due.DestinationID })]
		if w.threadOf(to, i) == nil {
			w.threads = append(w.threads, &thread{to: to, stream: s, incident: i, due: due.DueAt})
		}
	}
}

// threadOf returns the thread of an incident at a destination; nil: none.
func (w *world) threadOf(to *destined, i *incident.Incident) *thread {
	for _, th := range w.threads {
		if th.to == to && th.incident == i {
			return th
		}
	}
	return nil
}

// pass lets time pass, with what is due on the way.
func (w *world) pass(until time.Time) {
	w.t.Helper()
	for range 10000 {
		next := until
		var ticking *stream
		for _, s := range w.streams {
			if s.incident == nil {
				continue
			}
			if due := s.incident.DueAt(); !due.IsZero() && (due.Before(next) || due.Equal(next) && ticking == nil) {
				next, ticking = due, s
			}
		}
		for _, th := range w.threads {
			if !th.due.IsZero() && th.due.Before(next) {
				next, ticking = th.due, nil
			}
		}
		changes := !w.changesAt.IsZero() && !w.changesAt.After(next)
		if changes {
			next, ticking = w.changesAt, nil
		}
		if next.After(w.now) {
			w.now = next
		}
		if changes {
			w.reroute()
			continue
		}
		if ticking != nil {
			w.step(ticking, incident.Tick{})
			continue
		}
		w.deliver()
		if !w.now.Before(until) {
			return
		}
	}
	w.t.Fatalf("at %v something is always due", w.now)
}

// deliver sends what is due now. Nothing is due for a thread right after its message.
func (w *world) deliver() {
	w.t.Helper()
	for _, to := range w.destinations {
		served := map[*thread]bool{}
		for {
			var due []*thread
			for _, th := range w.threads {
				if th.to == to && !th.due.IsZero() && !th.due.After(w.now) {
					due = append(due, th)
				}
			}
			if len(due) == 0 {
				break
			}
			for _, sent := range w.lease(to, due) {
				if served[sent] {
					w.t.Fatalf("%s: at %v s all was sent, and at once there is more", to.name, w.now.Sub(eight).Seconds())
				}
				served[sent] = true
			}
		}
	}
}

// lease decides what a destination is told of the threads that are due, and sends it.
func (w *world) lease(to *destined, due []*thread) (served []*thread) {
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
		if to.down != nil && to.down(w.now) {
			th.due = w.now.Add(10 * time.Second)
			continue
		}
		sent := message{at: w.now, step: m.NextMessage, incident: th.incident, about: m.Situation}
		if th.due = w.now.Add(notify.StormPause); th.incident != nil {
			sent.stream, th.due = th.stream.id, w.now
		}
		to.sent = append(to.sent, sent)
		th.notified = th.notified.After(m.Situation, m.NextMessage, w.now, "ref")
		served = append(served, th)
	}
	return served
}

// storm makes a storm or changes it, and its thread is due after the pause.
func (w *world) storm(to *destined, g notify.Gathered) {
	n := slices.IndexFunc(w.threads, func(th *thread) bool { return th.incident == nil && th.storm.ID == g.StormID })
	if g.StormID == "" {
		n = len(w.threads)
		w.threads = append(w.threads, &thread{to: to, storm: &notify.Storm{ID: fmt.Sprint("storm ", n), First: g.First, OpenedAt: w.now}})
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

func (w *world) facts(to *destined, due []*thread) notify.Due {
	d := notify.Due{Now: w.now, Destination: w.routing.Destinations[to.name], Routing: w.routing, Watched: len(w.streams), Opinions: w.opinions}
	for _, th := range due {
		one := notify.Thread{Notified: th.notified}
		if th.incident == nil {
			storm := *th.storm
			for _, of := range w.threads {
				if of.incident != nil && of.storm == th.storm {
					storm.Incidents = append(storm.Incidents, of.streamIncident())
				}
			}
			one.Storm = &storm
		} else {
			about := th.streamIncident()
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
		opening, lasts := notify.OpeningOf(w.opinions.Advise(*s.incident, w.now).Told, w.now)
		th := w.threadOf(to, s.incident)
		opening.Elsewhere = th == nil
		if th != nil && th.inOpenStorm() {
			opening.Storm = &notify.Storm{ID: th.storm.ID, First: th.storm.First}
		}
		if lasts && w.now.Sub(opening.At) < 2*notify.StormWindow {
			d.Openings = append(d.Openings, opening)
		}
	}
	return d
}

// expect checks what each destination was sent so far: the second and the kind of each message, with !
// if it made a sound. In a world of several streams it also says what the message is about.
func (w *world) expect(want map[string]string) {
	w.t.Helper()
	for _, d := range w.destinations {
		var got []string
		for _, m := range d.sent {
			text := fmt.Sprintf("%.0f ", m.at.Sub(eight).Seconds())
			switch {
			case m.incident == nil:
				text += fmt.Sprintf("%d streams ", m.about.Streams)
			case len(w.streams) > 1:
				text += string(m.stream) + " "
			}
			if text += string(m.step.Kind); m.step.Push {
				text += "!"
			}
			got = append(got, text)
		}
		if text := strings.Join(got, ", "); text != want[d.name] {
			w.t.Errorf("%s got\n%s, want\n%s", d.name, text, want[d.name])
		}
	}
}

// began is an episode that is detected at its onset.
func began(name incident.Name, sec float64) incident.Began {
	return incident.Began{Condition: name, StartedAt: at(sec), At: at(sec)}
}

func ended(name incident.Name, sec float64) incident.Ended {
	return incident.Ended{Condition: name, EndedAt: at(sec)}
}
