package notify

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Routing holds everything that decides which destinations get what. It is shared: nobody
// changes it.
type Routing struct {
	Version      int64 // changes with every change of the routing
	Destinations map[string]Destination
	Routes       []Route   // in their order; the default route is last
	Silences     []Silence // that have not ended
	Duty         Duty      // the zones of all windows are loaded
}

// Target is a destination that gets something, and the route that leads to it. DelaySec and
// RepeatSec of that route are 0 for a destination that gets events.
type Target struct {
	Destination Destination
	Route       Route
}

// Targets returns the destinations that get an event now, or those that get messages about an
// incident or a hint now. Each is there once, by the route with the shortest delay; disabled ones are
// left out.
func (r Routing) Targets(s Subject, now time.Time) (all []Target) {
	for _, route := range r.matching(s, now) {
		for _, id := range r.DestinationsOf(route, now) {
			d, ok := r.Destinations[id]
			if !ok || !route.leads(s, d) {
				continue
			}
			to := Target{d, route}
			if d.GetsEvents() {
				to.Route.DelaySec, to.Route.RepeatSec = 0, 0
			}
			n := slices.IndexFunc(all, func(t Target) bool { return t.Destination.ID == d.ID })
			switch {
			case n < 0:
				all = append(all, to)
			case route.DelaySec < all[n].Route.DelaySec:
				all[n] = to
			}
		}
	}
	return all
}

// DestinationsOf returns the IDs of the destinations that a route leads to now.
func (r Routing) DestinationsOf(route Route, now time.Time) []string {
	if !route.OnDuty {
		return route.Destinations
	}
	var onDuty []string
	for _, p := range r.Duty.At(now) {
		if r.Destinations[p.DestinationID].Active() {
			onDuty = append(onDuty, p.DestinationID)
		}
	}
	for _, other := range r.Routes {
		if len(onDuty) == 0 && other.Default {
			onDuty = other.Destinations
		}
	}
	return slices.Concat(route.Destinations, onDuty)
}

// NextChange returns when the routes lead elsewhere although nobody changes them: windows of routes open and end, and people hand
// over. Zero: never.
func (r Routing) NextChange(now time.Time) (at time.Time) {
	for _, route := range r.Routes {
		if at = instant.Earliest(at, nextChange(route.Windows, now)); route.OnDuty {
			at = instant.Earliest(at, r.Duty.nextChange(now))
		}
	}
	return at
}

// leads reports whether a route that matches may lead the subject to a destination. People get what channels have found only
// by a route that names it. A delayed route leads other events of channels only if it names them: nobody acknowledges them.
func (r Route) leads(s Subject, d Destination) bool {
	switch {
	case !s.EventType.OfChannel():
		return d.Active() && d.GetsEvents() == (s.EventType != "") && (s.Hint == "" || d.GetsHints())
	case d.GetsEvents() || slices.Contains(r.Match.Events, s.EventType):
		return d.GetsChannelEvents()
	}
	return d.GetsChannelEvents() && s.EventType != event.StreamFound && r.DelaySec == 0
}

// ChannelTargets returns the destinations that get an event of a channel which has happened now. A silence that would hold
// back the messages about incidents with its metadata holds back messages about it.
func (r Routing) ChannelTargets(s Subject, now time.Time) []Target {
	silenced := len(r.silencing(s, now)) > 0
	return slices.DeleteFunc(r.Targets(s, now), func(t Target) bool { return silenced && !t.Destination.GetsEvents() })
}

// ChannelPauses returns how long a message about events of channels waits for others to join it, and how long after such a
// message the next one comes.
func ChannelPauses(t event.Type) (pause, apart time.Duration) {
	if t == event.StreamFound {
		return 10 * time.Second, time.Minute
	}
	return time.Minute, 10 * time.Minute
}

// HintTargets returns the destinations that get a message about a hint which has begun now. A silence that holds back
// the messages about incidents of its stream holds back this one, too.
func (r Routing) HintTargets(s Subject, now time.Time) []Target {
	if len(r.silencing(s, now)) > 0 {
		return nil
	}
	return r.Targets(s, now)
}

// TellsOf reports whether the routes lead any trouble of a monitor to somebody at some time. That is a message about an incident
// to people, or the event that begins it to a webhook. id is empty for a monitor that is not registered yet.
func (r Routing) TellsOf(id monitor.ID, labels monitor.Labels, metadata []byte) bool {
	r.Routes = slices.Clone(r.Routes)
	for n, route := range r.Routes {
		if len(route.Windows) > 0 { // while it is closed, those behind it tell
			r.Routes[n].Windows, r.Routes[n].Continue = nil, true
		}
		if route.OnDuty && len(r.Duty.People) > 0 {
			r.Routes[n].OnDuty, r.Routes[n].Destinations = false, slices.Clone(route.Destinations)
			for _, p := range r.Duty.People {
				r.Routes[n].Destinations = append(r.Routes[n].Destinations, p.DestinationID)
			}
		}
	}
	s := Subject{MonitorID: id, Severity: incident.MaxSeverity, Labels: labels, Metadata: FlattenMetadata(metadata)}
	return slices.ContainsFunc(incident.Names(), func(c incident.Name) bool {
		s.Conditions = []incident.Name{c}
		return len(r.Explain(s, time.Time{}).Targets) > 0
	})
}

// LeadsTo reports whether the routes send messages about an incident to a destination now.
func (r Routing) LeadsTo(destinationID string, s Subject, now time.Time) bool {
	return slices.ContainsFunc(r.Targets(s, now), func(t Target) bool { return t.Destination.ID == destinationID })
}

// Policy returns the policy for the messages to a destination about an incident, or about
// the incidents of a storm. These are sent as early as for the first of them, and held back while
// all of them are. A destination to which no route leads, any more or now, only gets the end.
func (r Routing) Policy(d Destination, now time.Time, about ...Subject) ThreadPolicy {
	p := ThreadPolicy{Edits: d.Edits(), PictureWait: d.PictureWait(), SilencedUntil: Forever}
	found := false
	for _, s := range about {
		for _, t := range r.Targets(s, now) {
			if t.Destination.ID != d.ID {
				continue
			}
			if until := r.SilencedUntil(s, now); until.Before(p.SilencedUntil) {
				p.SilencedUntil = until
			}
			delay, repeat := time.Duration(t.Route.DelaySec)*time.Second, time.Duration(t.Route.RepeatSec)*time.Second
			if !found || delay < p.Delay {
				p.Delay = delay
			}
			if !found || repeat > 0 && (p.Repeat == 0 || repeat < p.Repeat) {
				p.Repeat = repeat
			}
			found = true
		}
	}
	return p
}

// matches reports whether a route matches a subject now. One without windows always may.
func (r Route) matches(s Subject, now time.Time) bool {
	return r.Match.Matches(s) && (len(r.Windows) == 0 || anyOpen(r.Windows, now))
}

// matching returns the routes that match now, until the search ends.
func (r Routing) matching(s Subject, now time.Time) (all []Route) {
	for _, route := range r.Routes {
		if !route.matches(s, now) {
			continue
		}
		all = append(all, route)
		if !route.Continue {
			break
		}
	}
	return all
}

// RouteResult says what a search has made of a route.
type RouteResult string

// The results.
const (
	Matched    RouteResult = "matched"
	NotMatched RouteResult = "not_matched"
	NotReached RouteResult = "not_reached" // a route before it has ended the search
)

// Explanation says where an event or an incident goes, and why.
type Explanation struct {
	Routes   []RouteExplanation   // all, in order
	Silences []SilenceExplanation // that hold messages back now
	Targets  []Target             // of the event, and of an incident with these conditions

	ofEvents, ofIncidents []RouteExplanation // as Routes, for what webhooks get and for what people get
}

// RouteExplanation says what became of one route.
type RouteExplanation struct {
	Route        Route
	Result       RouteResult
	Reasons      []Reason
	Destinations []string // IDs of those that the route leads to, also if it does not match
}

// SilenceExplanation is a silence that holds messages back.
type SilenceExplanation struct {
	Silence Silence
	Until   time.Time // Forever: no end is known
	Reasons []Reason
}

// Silenced reports whether the messages to a target are held back.
func (e Explanation) Silenced(t Target) bool {
	return len(e.Silences) > 0 && !t.Destination.GetsEvents()
}

// For returns what the search made of the nth route for what a destination gets: for a webhook the events, for others the incident.
func (e Explanation) For(n int, d Destination) RouteExplanation {
	of := e.ofIncidents
	if d.GetsEvents() {
		of = e.ofEvents
	}
	if of == nil { // it gets nothing of the kind
		return RouteExplanation{Route: e.Routes[n].Route, Result: NotMatched}
	}
	return of[n]
}

// Explain says where an event or an incident goes now. An event with conditions is
// followed as its incident, too. An incident is followed as the events that begin its
// conditions, too, each with the severity of its beginning. A route then counts as matched if it gets any of them. Its reasons are those
// of the one that came furthest. That a channel can be read again goes where routes lead what it ends.
func (r Routing) Explain(s Subject, now time.Time) (e Explanation) {
	if s.EventType == event.ChannelReadable {
		s.EventType = event.ChannelUnreadable
	}
	ofIncident := s
	ofIncident.EventType = "" // silences concern incidents
	followed := s.beginnings()
	switch {
	case s.EventType == "":
		followed = slices.Insert(followed, 0, s)
	case len(s.Conditions) > 0:
		followed = append(followed, ofIncident)
	}
	for _, of := range followed {
		r.follow(&e, of, now)
	}
	for _, silence := range r.silencing(s, now) {
		e.Silences = append(e.Silences, SilenceExplanation{silence, silence.ActiveUntil(now), silence.Match.Explain(ofIncident)})
	}
	return e
}

// follow adds where a subject goes.
func (r Routing) follow(e *Explanation, s Subject, now time.Time) {
	for _, to := range r.Targets(s, now) {
		if !slices.ContainsFunc(e.Targets, func(t Target) bool { return t.Destination.ID == to.Destination.ID }) {
			e.Targets = append(e.Targets, to)
		}
	}
	found := r.explainRoutes(s, now)
	e.Routes = furthest(e.Routes, found)
	if s.EventType != "" {
		e.ofEvents = furthest(e.ofEvents, found)
	}
	if s.EventType == "" || s.EventType.OfChannel() {
		e.ofIncidents = furthest(e.ofIncidents, found)
	}
}

// furthest returns of each route the explanation that came further. was may be nil.
func furthest(was, found []RouteExplanation) []RouteExplanation {
	all := slices.Clone(found)
	for n, x := range was {
		if y := found[n]; x.Result == Matched || y.Result != Matched && (x.Result != NotReached || y.Result == NotReached) {
			all[n] = x
		}
	}
	return all
}

// explainRoutes says what the search for a subject makes of each route now.
func (r Routing) explainRoutes(s Subject, now time.Time) (all []RouteExplanation) {
	ended := false
	for _, route := range r.Routes {
		x := RouteExplanation{route, NotMatched, route.Match.Explain(s), r.DestinationsOf(route, now)}
		if len(route.Windows) > 0 {
			x.Reasons = append(x.Reasons, explainWindows(route.Windows, now))
		}
		switch {
		case ended:
			x.Result = NotReached
		case route.matches(s, now):
			x.Result = Matched
			ended = !route.Continue
		}
		all = append(all, x)
	}
	return all
}

// SilencedUntil returns when the silences end that hold messages about an incident back
// now. Zero: no silence does. Forever: no end is known.
func (r Routing) SilencedUntil(s Subject, now time.Time) (until time.Time) {
	for _, silence := range r.silencing(s, now) {
		if end := silence.ActiveUntil(now); end.After(until) {
			until = end
		}
	}
	return until
}

func (r Routing) silencing(s Subject, now time.Time) (all []Silence) {
	s.EventType, s.Hint = "", "" // silences concern incidents
	for _, silence := range r.Silences {
		if silence.Active(now) && silence.Match.Matches(s) {
			all = append(all, silence)
		}
	}
	return all
}
