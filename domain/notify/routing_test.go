package notify_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// routing has a webhook, Slack and PagerDuty, and the routes.
func routing(routes ...notify.Route) notify.Routing {
	r := notify.Routing{Destinations: map[string]notify.Destination{}, Routes: routes}
	for id, kind := range map[string]notify.Kind{"webhook": notify.Webhook, "slack": notify.Slack, "pager": notify.PagerDuty} {
		r.Destinations[id] = destination(id, kind)
	}
	return r
}

func route(match notify.Match, delay time.Duration, destinations ...string) notify.Route {
	return notify.Route{Name: "route", Match: match, DelaySec: int64(delay / time.Second), Destinations: destinations}
}

func continued(r notify.Route) notify.Route {
	r.Continue = true
	return r
}

// ids names targets, with the delays of their routes.
func ids(targets []notify.Target) (all []string) {
	for _, t := range targets {
		id := t.Destination.ID
		if t.Route.DelaySec > 0 {
			id += " after " + (time.Duration(t.Route.DelaySec) * time.Second).String()
		}
		all = append(all, id)
	}
	return all
}

var (
	blackIncident = notify.Subject{Conditions: []incident.Name{black}, Severity: 1, MonitorID: someMonitor, Metadata: map[string]string{"labels.team": "video"}, Labels: monitor.Labels{"team": "video", "show": "朝"}}
	blackEvent    = notify.Subject{EventType: event.Blackout, Conditions: []incident.Name{black}, Severity: 1, MonitorID: someMonitor}
)

var quieterHint = notify.Subject{Hint: monitor.Quieter, MonitorID: someMonitor}

func TestAHintIsToldWhereARouteAsksForIt(t *testing.T) { // section 16.7
	r := routing(route(notify.Match{Hints: []monitor.HintKind{monitor.Quieter}}, 0, "webhook", "slack", "pager"), route(notify.Match{}, 0, "pager"))
	if got := ids(r.HintTargets(quieterHint, eight)); !slices.Equal(got, []string{"slack"}) {
		t.Errorf("the hint is told to %v", got)
	}
	r.Silences = []notify.Silence{{Match: notify.Match{Monitors: []monitor.ID{someMonitor}}, StartsAt: eight, EndsAt: eight.Add(time.Hour)}}
	if got := ids(r.HintTargets(quieterHint, eight)); got != nil {
		t.Errorf("while the stream is silenced, the hint is told to %v", got)
	}
}

func TestTheFirstRouteThatMatchesEndsTheSearchUnlessItContinues(t *testing.T) {
	critical := notify.Match{MinSeverity: 3}
	for _, c := range []struct {
		name   string
		routes []notify.Route
		want   []string
	}{
		{"no route", nil, nil},
		{"the first that matches", []notify.Route{route(critical, 0, "pager"), route(notify.Match{}, 0, "slack"), route(notify.Match{}, 0, "pager")}, []string{"slack"}},
		{"it continues", []notify.Route{continued(route(notify.Match{}, 0, "slack")), route(notify.Match{}, time.Minute, "pager")}, []string{"slack", "pager after 1m0s"}},
		{"each once, the earliest", []notify.Route{continued(route(notify.Match{}, time.Hour, "slack")), route(notify.Match{}, time.Minute, "slack")}, []string{"slack after 1m0s"}},
		{"not a webhook", []notify.Route{route(notify.Match{}, 0, "webhook", "slack")}, []string{"slack"}},
		{"unknown and disabled ones", []notify.Route{route(notify.Match{}, 0, "gone", "off", "broken", "pager")}, []string{"pager"}},
	} {
		r := routing(c.routes...)
		off, broken := destination("off", notify.Slack), destination("broken", notify.Slack)
		off.Enabled, broken.DisabledReason = false, "410"
		r.Destinations["off"], r.Destinations["broken"] = off, broken
		if got := ids(r.Targets(blackIncident, eight)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestEventsGoToWebhooksWithoutDelay(t *testing.T) {
	r := routing(route(notify.Match{}, time.Minute, "webhook", "slack"))
	if got := ids(r.Targets(blackEvent, eight)); !slices.Equal(got, []string{"webhook"}) {
		t.Errorf("the event goes to %v", got)
	}
	if got := ids(r.Explain(blackEvent, eight).Targets); !slices.Equal(got, []string{"webhook", "slack after 1m0s"}) {
		t.Errorf("the event and its incident go to %v", got)
	}
}

func TestEveryCriterionHasToHold(t *testing.T) {
	for _, c := range []struct {
		name    string
		match   notify.Match
		subject notify.Subject
		want    bool
	}{
		{"nothing", notify.Match{}, blackIncident, true},
		{"the event", notify.Match{Events: []event.Type{event.Silence, event.Blackout}}, blackEvent, true},
		{"another event", notify.Match{Events: []event.Type{event.BlackoutRecovered}}, blackEvent, false},
		{"the event that began what has recovered", notify.Match{Events: []event.Type{event.Blackout}}, notify.Subject{EventType: event.BlackoutRecovered, Conditions: []incident.Name{black}}, false},
		{"the event of the incident's condition", notify.Match{Events: []event.Type{event.Blackout}}, blackIncident, true},
		{"another event than the incident's", notify.Match{Events: []event.Type{event.Silence, event.MonitorError}}, blackIncident, false},
		{"one of the conditions", notify.Match{Conditions: []incident.Name{silent, black}}, blackIncident, true},
		{"another condition", notify.Match{Conditions: []incident.Name{silent}}, blackIncident, false},
		{"its severity", notify.Match{MinSeverity: 1}, blackIncident, true},
		{"a higher severity", notify.Match{MinSeverity: 2}, blackIncident, false},
		{"the metadata", notify.Match{Metadata: map[string]string{"labels.team": "video"}}, blackIncident, true},
		{"other metadata", notify.Match{Metadata: map[string]string{"labels.team": "audio"}}, blackIncident, false},
		{"metadata that it has not", notify.Match{Metadata: map[string]string{"labels.city": ""}}, blackIncident, false},
		{"the labels", notify.Match{Labels: monitor.Labels{"team": "video", "show": "朝"}}, blackIncident, true},
		{"one label of two", notify.Match{Labels: monitor.Labels{"team": "video", "show": "夜"}}, blackIncident, false},
		{"a label that it has not", notify.Match{Labels: monitor.Labels{"city": "a"}}, blackIncident, false},
		{"labels, of what has none", notify.Match{Labels: monitor.Labels{"team": "video"}}, blackEvent, false},
		{"one of two", notify.Match{MinSeverity: 1, Conditions: []incident.Name{silent}}, blackIncident, false},
		{"the kind of a hint", notify.Match{Hints: []monitor.HintKind{monitor.LateStarts, monitor.Quieter}, Monitors: []monitor.ID{someMonitor}}, quieterHint, true},
		{"another kind of hint", notify.Match{Hints: []monitor.HintKind{monitor.LateStarts}}, quieterHint, false},
		{"all, of a hint that was not asked for", notify.Match{}, quieterHint, false},
		{"its stream, of a hint that was not asked for", notify.Match{Monitors: []monitor.ID{someMonitor}}, quieterHint, false},
		{"hints, of an incident", notify.Match{Hints: monitor.HintKinds()}, blackIncident, false},
	} {
		if got := c.match.Matches(c.subject); got != c.want {
			t.Errorf("%s: %v, want %v: %+v", c.name, got, c.want, c.match.Explain(c.subject))
		}
	}
}

func TestMetadataIsFlattened(t *testing.T) {
	got := notify.FlattenMetadata([]byte(`{"channel_name":"A","labels":{"team":"video","deep":{"n":12345678901234567890,"x":1.50}},"live":true,"none":null,"list":["a"]}`))
	want := map[string]string{"channel_name": "A", "labels.team": "video", "labels.deep.n": "12345678901234567890", "labels.deep.x": "1.50", "live": "true"}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	for path, value := range want {
		if got[path] != value {
			t.Errorf("%s is %q, want %q", path, got[path], value)
		}
	}
	for _, raw := range []string{"", "null", "[1]", "{", `"a"`} {
		if got := notify.FlattenMetadata([]byte(raw)); len(got) != 0 {
			t.Errorf("%q gave %v", raw, got)
		}
	}
}

func TestARouteThatCannotBeIsRefused(t *testing.T) {
	valid := notify.Route{Name: "night", Destinations: []string{"a", "b"}, DelaySec: 24 * 60 * 60, RepeatSec: 60}
	for _, c := range []struct {
		name   string
		change func(*notify.Route)
		fields []string
	}{
		{"valid", func(*notify.Route) {}, nil},
		{"a default route that matches not everything", func(r *notify.Route) { r.Default, r.Match.MinSeverity = true, 1 }, []string{"match"}},
		{"times", func(r *notify.Route) { r.DelaySec, r.RepeatSec = 24*60*60+1, 59 }, []string{"delay_sec", "repeat_sec"}},
		{"negative times", func(r *notify.Route) { r.DelaySec, r.RepeatSec = -1, -1 }, []string{"delay_sec", "repeat_sec"}},
		{"long times", func(r *notify.Route) { r.DelaySec, r.RepeatSec = 0, 24*60*60+1 }, []string{"repeat_sec"}},
		{"a destination twice", func(r *notify.Route) { r.Name, r.Destinations = " ", []string{"a", "b", "a"} }, []string{"name", "destinations"}},
		{"a match of what does not exist", func(r *notify.Route) {
			r.Match = notify.Match{Events: []event.Type{"alert.flood"}, Conditions: []incident.Name{"wet"}, MinSeverity: -1,
				Monitors: []monitor.ID{"mon-1"}, Metadata: map[string]string{"": "a"}, Labels: monitor.Labels{"Team": "a", "show": ""}}
		}, []string{"match.events", "match.conditions", "match.monitors", "match.min_severity", "a path of match.metadata", "match.labels", "match.labels.show"}},
		{"a hint that does not exist", func(r *notify.Route) { r.Match.Hints = []monitor.HintKind{"rain"} }, []string{"match.hints"}},
		{"a hint with a severity", func(r *notify.Route) {
			r.Match.Hints, r.Match.MinSeverity = []monitor.HintKind{monitor.Quieter}, 1
		}, []string{"match.hints"}},
		{"a default route of hints", func(r *notify.Route) { r.Default, r.Match.Hints = true, []monitor.HintKind{monitor.Quieter} }, []string{"match"}},
	} {
		r := valid
		c.change(&r)
		problems := r.Check()
		if expectWrong(t, problems, c.fields...); t.Failed() {
			t.Fatalf("%s: %v", c.name, problems)
		}
	}
}

func TestAnExplanationNamesEveryRouteWithItsReasons(t *testing.T) {
	r := routing(
		route(notify.Match{MinSeverity: 3, Metadata: map[string]string{"labels.team": "video"}}, 0, "pager"),
		continued(route(notify.Match{Conditions: []incident.Name{black, silent}}, 0, "webhook", "slack")),
		route(notify.Match{}, time.Minute, "pager"),
		route(notify.Match{Conditions: []incident.Name{silent}}, 0, "slack"),
	)
	r.Silences = []notify.Silence{
		{ID: "now", StartsAt: at(0), EndsAt: at(60), Match: notify.Match{MinSeverity: 1}},
		{ID: "later", StartsAt: at(60), EndsAt: at(90)},
		{ID: "other", StartsAt: at(0), EndsAt: at(90), Match: notify.Match{MinSeverity: 2}},
	}
	e := r.Explain(blackIncident, at(10))
	var results []notify.RouteResult
	for _, x := range e.Routes {
		results = append(results, x.Result)
	}
	if !slices.Equal(results, []notify.RouteResult{notify.NotMatched, notify.Matched, notify.Matched, notify.NotReached}) {
		t.Errorf("results %v", results)
	}
	if want := []notify.Reason{{"min_severity", "3", "1", false}, {"metadata.labels.team", "video", "video", true}}; !slices.Equal(e.Routes[0].Reasons, want) {
		t.Errorf("reasons %+v, want %+v", e.Routes[0].Reasons, want)
	}
	if want := []notify.Reason{{"conditions", "black, silent", "black", true}}; !slices.Equal(e.Routes[1].Reasons, want) {
		t.Errorf("reasons %+v, want %+v", e.Routes[1].Reasons, want)
	}
	if len(e.Silences) != 1 || e.Silences[0].Silence.ID != "now" || !e.Silences[0].Until.Equal(at(60)) || len(e.Silences[0].Reasons) != 1 {
		t.Errorf("silences %+v", e.Silences)
	}
	if got := ids(e.Targets); !slices.Equal(got, []string{"slack", "pager after 1m0s", "webhook"}) || !e.Silenced(e.Targets[0]) {
		t.Errorf("targets %v", got)
	}
	r.Silences[0].Match = notify.Match{Events: []event.Type{event.Blackout}}
	recovery := blackEvent
	recovery.EventType = event.BlackoutRecovered
	if e := r.Explain(recovery, at(10)); len(e.Silences) != 1 {
		t.Errorf("the message that a recovery leads to is held back by %+v", e.Silences)
	}
	ofEvent := r.Explain(blackEvent, at(10))
	if got := ids(ofEvent.Targets); !slices.Equal(got, []string{"webhook", "slack", "pager after 1m0s"}) || ofEvent.Silenced(ofEvent.Targets[0]) {
		t.Errorf("targets of the event %v", got)
	}
}

func TestTheRoutesOfAnEventAreExplainedWithThoseOfItsIncident(t *testing.T) {
	r := routing(
		route(notify.Match{Events: []event.Type{event.BlackoutRecovered}}, 0, "webhook"),
		route(notify.Match{Events: []event.Type{event.Blackout}}, 0, "slack"),
		route(notify.Match{}, 0, "pager"),
	)
	r.Silences = []notify.Silence{{StartsAt: at(0), EndsAt: at(60), Match: notify.Match{Events: []event.Type{event.Blackout}}}}
	recovery := blackEvent
	recovery.EventType = event.BlackoutRecovered
	e := r.Explain(recovery, at(10))
	if got := ids(e.Targets); !slices.Equal(got, []string{"webhook", "slack"}) {
		t.Errorf("targets %v", got)
	}
	for n, want := range []notify.RouteResult{notify.Matched, notify.Matched, notify.NotReached} {
		if x := e.Routes[n]; x.Result != want || want == notify.Matched && !x.Reasons[0].OK {
			t.Errorf("route %d: %+v, want %s", n, x, want)
		}
	}
	if len(e.Silences) != 1 || !e.Silences[0].Reasons[0].OK {
		t.Errorf("silences %+v", e.Silences)
	}
}

func TestAWebhookIsExplainedByTheSeverityAtTheBeginning(t *testing.T) { // section 19.2
	severe := route(notify.Match{MinSeverity: 2}, 0, "webhook", "slack")
	for _, tt := range []struct {
		name    string
		subject notify.Subject
		want    []string
	}{
		{"black that has become severe", notify.Subject{Conditions: []incident.Name{black}, Severity: 3}, []string{"slack", "pager"}},
		{"black that was severe from the start, such as with a long threshold", notify.Subject{Conditions: []incident.Name{black}, Severity: 3, Began: []int{2}}, []string{"slack", "webhook"}},
		{"silence while it is black", notify.Subject{Conditions: []incident.Name{black, silent}, Severity: 2}, []string{"slack", "pager", "webhook"}},
		{"a stored event of black", notify.Subject{EventType: event.Blackout, Conditions: []incident.Name{incident.Blind, black}, Severity: 3, Began: []int{0, 1}}, []string{"pager", "slack"}},
		{"an event that somebody describes", notify.Subject{EventType: event.Blackout, Conditions: []incident.Name{black}, Severity: 2}, []string{"webhook", "slack"}},
	} {
		r := routing(severe, route(notify.Match{}, 0, "pager"))
		pager := r.Destinations["pager"]
		pager.Kind = notify.Webhook
		r.Destinations["pager"] = pager
		e := r.Explain(tt.subject, at(10))
		if got := ids(e.Targets); !slices.Equal(got, tt.want) {
			t.Errorf("%s goes to %v, want %v", tt.name, got, tt.want)
		}
		told := slices.Contains(tt.want, "webhook")
		if of := e.For(0, r.Destinations["webhook"]); (of.Result == notify.Matched) != told || of.Reasons[0].OK != told {
			t.Errorf("%s: for the webhook the route is %s, by %v", tt.name, of.Result, of.Reasons)
		}
		if of := e.For(0, r.Destinations["slack"]); of.Result != notify.Matched {
			t.Errorf("%s: for people the route is %s, by %v", tt.name, of.Result, of.Reasons)
		}
	}
}

func TestAnEventOfAChannelIsExplained(t *testing.T) { // section 20.4
	r := routing(
		route(notify.Match{Events: []event.Type{event.ChannelReadable}}, 0, "webhook"),
		route(notify.Match{Events: []event.Type{event.StreamFound}, MinSeverity: 1}, 0, "slack"),
		continued(route(notify.Match{MinSeverity: 2}, time.Minute, "webhook", "pager")),
		route(notify.Match{}, 0, "slack"),
	)
	r.Silences = []notify.Silence{{ID: "now", StartsAt: at(0), EndsAt: at(60)}}
	for _, tt := range []struct {
		of       event.Type
		severity int
		want     []string
	}{
		{event.StreamFound, 0, nil}, // people get what was found by a route that names it
		{event.ChannelUnreadable, 2, []string{"webhook", "slack"}},
		{event.ChannelReadable, 2, []string{"webhook", "slack"}}, // as the trouble that it ends
	} {
		e := r.Explain(notify.Subject{EventType: tt.of, Severity: tt.severity}, at(10))
		if got := ids(e.Targets); !slices.Equal(got, tt.want) || len(e.Silences) != 1 {
			t.Errorf("%s goes to %v, want %v; silences %v", tt.of, got, tt.want, e.Silences)
		}
	}
}

func TestAnIncidentMatchesByEveryConditionThatItHasHad(t *testing.T) {
	i := incident.Incident{Severity: 2, Conditions: []incident.Condition{{Name: black, EndedAt: at(1)}, {Name: incident.Blind}}}
	s := notify.StreamIncident{Incident: i, MonitorID: someMonitor, Metadata: map[string]string{"labels.team": "video"}, Labels: monitor.Labels{"team": "a"}}.Subject()
	for name, m := range map[string]notify.Match{
		"a condition that has ended": {Conditions: []incident.Name{black}},
		"its event":                  {Events: []event.Type{event.Blackout}},
		"the event of blindness":     {Events: []event.Type{event.MonitorError}},
		"the rest":                   {MinSeverity: 2, Monitors: []monitor.ID{someMonitor}, Metadata: map[string]string{"labels.team": "video"}, Labels: monitor.Labels{"team": "a"}},
	} {
		if !m.Matches(s) {
			t.Errorf("%s: %+v", name, m.Explain(s))
		}
	}
	for _, name := range incident.Names() {
		of := notify.Subject{Conditions: []incident.Name{name}}
		if !(notify.Match{Events: event.Types()}).Matches(of) {
			t.Errorf("no event begins %s", name)
		}
	}
}

func TestALongOwnerIsRefused(t *testing.T) {
	d, r := destination("a", notify.Ntfy), notify.Route{Name: "a"}
	s := notify.Silence{StartsAt: at(0), EndsAt: at(60), CreatedBy: "ann"}
	for owner, fields := range map[string][]string{strings.Repeat("é", monitor.MaxOwner): nil, strings.Repeat("é", monitor.MaxOwner+1): {"owner"}, "a\nb": {"owner"}} {
		d.Owner, r.Owner, s.Owner = owner, owner, owner
		expectWrong(t, d.Check(), fields...)
		expectWrong(t, r.Check(), fields...)
		expectWrong(t, s.Check(at(0)), fields...)
	}
}

func TestRoutesTellOfAStream(t *testing.T) { // section 3.1
	disabled := routing(route(notify.Match{}, 0, "slack"))
	off := disabled.Destinations["slack"]
	off.Enabled = false
	disabled.Destinations = map[string]notify.Destination{"slack": off}
	onDuty := routing(notify.Route{OnDuty: true}, route(notify.Match{}, 0))
	onDuty.Duty.People = []notify.Person{{Name: "ann", DestinationID: "slack"}}
	video := notify.Match{Metadata: map[string]string{"team": "video"}}
	for name, c := range map[string]struct {
		routing notify.Routing
		want    bool
	}{
		"people at night":                     {routing(notify.Route{Windows: []notify.Window{{Start: "22:00", End: "06:00", Timezone: "UTC", Zone: time.UTC}}, Destinations: []string{"slack"}}, route(notify.Match{}, 0)), true},
		"whoever is on duty":                  {onDuty, true},
		"no destination":                      {routing(route(notify.Match{}, 0)), false},
		"a webhook of what gets severe":       {routing(route(notify.Match{MinSeverity: incident.MaxSeverity}, 0, "webhook"), route(notify.Match{}, 0)), false},
		"people":                              {routing(route(notify.Match{}, 0, "slack")), true},
		"people after an hour":                {routing(route(notify.Match{}, time.Hour, "slack")), true},
		"a webhook":                           {routing(route(notify.Match{}, 0, "webhook")), true},
		"a destination that is switched off":  {disabled, false},
		"its team alone":                      {routing(route(video, 0, "slack"), route(notify.Match{}, 0)), true},
		"another team alone":                  {routing(route(notify.Match{Metadata: map[string]string{"team": "sound"}}, 0, "slack"), route(notify.Match{}, 0)), false},
		"a route before it that tells nobody": {routing(route(video, 0), route(notify.Match{}, 0, "slack")), false},
		"only the worst":                      {routing(route(notify.Match{MinSeverity: incident.MaxSeverity}, 0, "slack"), route(notify.Match{}, 0)), true},
		"only starts, to a webhook":           {routing(route(notify.Match{Events: []event.Type{event.StreamStarted}}, 0, "webhook"), route(notify.Match{}, 0)), false},
		"only another monitor":                {routing(route(notify.Match{Monitors: []monitor.ID{someMonitor + "1"}}, 0, "slack"), route(notify.Match{}, 0)), false},
		"only this monitor":                   {routing(route(notify.Match{Monitors: []monitor.ID{someMonitor}}, 0, "slack"), route(notify.Match{}, 0)), true},
	} {
		if got := c.routing.TellsOf(someMonitor, nil, []byte(`{"team":"video"}`)); got != c.want {
			t.Errorf("%s: somebody is told: %t, want %t", name, got, c.want)
		}
	}
}
