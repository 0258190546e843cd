package notify_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func openSince(id monitor.ID, sec float64) notify.StreamIncident {
	return notify.StreamIncident{MonitorID: id, Incident: incident.Incident{
		ID: "of " + string(id), State: incident.Open, Severity: 1, SeverityNow: 1, OpenedAt: at(sec),
		Conditions: []incident.Condition{{Name: black, StartedAt: at(sec), LastStartedAt: at(sec)}},
	}}
}

func TestWhatLastsLongIsToldOneAfterTheOtherAndLeavesRoomForWhatIsNew(t *testing.T) { // section 19.4
	old, fresh := openSince("mon-1", -4000), openSince("mon-2", -10)
	again, worse, over := openSince("mon-3", -4000), openSince("mon-4", -4000), openSince("mon-5", -4000)
	again.Reopened, again.ReopenedAt = 1, at(-5)
	worse.Conditions = append(worse.Conditions, incident.Condition{Name: silent, StartedAt: at(-5), LastStartedAt: at(-5)})
	over.State, over.ResolvedAt = incident.Resolved, at(-1)
	r := notify.Routing{
		Destinations: map[string]notify.Destination{"slack": destination("slack", notify.Slack), "mail": destination("mail", notify.Email), "hook": destination("hook", notify.Webhook)},
		Routes:       []notify.Route{{ID: "r", Destinations: []string{"slack", "hook"}, Continue: true}, {ID: "s", Match: notify.Match{Monitors: []monitor.ID{"mon-1", "mon-7"}}, Destinations: []string{"mail"}}},
	}
	var got []string
	for _, p := range r.DueThreads(eight, []notify.StreamIncident{old, openSince("mon-6", -3600), fresh, again, worse, over, openSince("mon-7", -5000), openSince("mon-8", -3599)}) {
		got = append(got, fmt.Sprintf("%s at %s by %s in %v", p.IncidentID, p.DestinationID, p.RouteID, p.DueAt.Sub(eight)))
	}
	want := []string{
		"of mon-1 at slack by r in 0s", "of mon-1 at mail by s in 0s", "of mon-6 at slack by r in 2s", "of mon-2 at slack by r in 0s", "of mon-3 at slack by r in 0s",
		"of mon-4 at slack by r in 0s", "of mon-5 at slack by r in 0s", "of mon-7 at slack by r in 4s", "of mon-7 at mail by s in 2s", "of mon-8 at slack by r in 0s",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

func TestASilenceUntilRecoveryEndsWithTheIncidentOrWithTheMonitor(t *testing.T) { // section 19.6
	of := func(ids ...monitor.ID) notify.Match { return notify.Match{Monitors: ids} }
	r := notify.Routing{Silences: []notify.Silence{
		{ID: "recovered", Match: of("mon-1"), UntilRecovered: true},
		{ID: "other condition", Match: notify.Match{Monitors: []monitor.ID{"mon-1"}, Conditions: []incident.Name{silent}}, UntilRecovered: true},
		{ID: "ended", Match: of("mon-2"), UntilRecovered: true},
		{ID: "neither", Match: of("mon-3"), UntilRecovered: true},
		{ID: "not begun", Match: of("mon-1"), UntilRecovered: true, StartsAt: at(1)},
		{ID: "over", Match: of("mon-1"), UntilRecovered: true, EndsAt: at(0)},
		{ID: "not until recovered", Match: of("mon-1"), EndsAt: at(100)},
	}}
	got := r.Recovered(eight, []notify.Subject{openSince("mon-1", -100).Subject()}, []monitor.ID{"mon-2"})
	if !slices.Equal(got, []string{"recovered", "ended"}) {
		t.Errorf("%q end", got)
	}
}

// chat returns what decides at a destination to which all is routed.
func chat(threads ...notify.Thread) notify.Due {
	d := destination("chat", notify.Discord)
	return notify.Due{
		Now: eight, Destination: d, Watched: 1000, Threads: threads,
		Routing: notify.Routing{Destinations: map[string]notify.Destination{"chat": d}, Routes: []notify.Route{{Destinations: []string{"chat"}}}},
	}
}

func TestAPlanHasAMessageForEachThreadInItsOrder(t *testing.T) {
	first, over := openSince("mon-1", -10), openSince("mon-2", -100)
	over.State, over.ResolvedAt = incident.Resolved, at(-1)
	p := chat(
		notify.Thread{Incident: &first},
		notify.Thread{Incident: &over},
		notify.Thread{Incident: &over, Notified: notify.Notified{Opened: true, Open: true}},
	).Plan()
	want := []notify.MessageKind{notify.Opened, "", notify.Recovered}
	for n, m := range p.Messages {
		if m.Kind != want[n] || m.Situation.Open != (n == 0) || !m.Policy.Edits {
			t.Errorf("message %d is %+v", n, m)
		}
	}
	if len(p.Messages) != 3 || len(p.Storms) != 0 {
		t.Errorf("the plan is %+v", p)
	}
}

func TestAChangeOfAnIncidentMakesItsStormDue(t *testing.T) {
	storm := &notify.Storm{ID: "s", First: notify.Opening{At: at(-3000), Condition: black, Severity: 1}}
	a, b := openSince("mon-1", -2990), openSince("mon-2", -2980)
	p := chat(notify.Thread{Incident: &a, Storm: storm}, notify.Thread{Incident: &b, Storm: storm}).Plan()
	if len(p.Storms) != 1 || p.Storms[0].StormID != "s" || len(p.Storms[0].IncidentIDs) != 0 {
		t.Errorf("storms are %+v", p.Storms)
	}
	for _, m := range p.Messages {
		if m.Kind != "" || !m.At.IsZero() {
			t.Errorf("of an incident in the storm is sent %+v", m)
		}
	}
}

func TestAStormThatGrowsAndHasAnIncidentThatChangesIsDueOnce(t *testing.T) {
	first := notify.Opening{At: at(-30), Condition: black, Severity: 1}
	before, joins := openSince("mon-1", -30), openSince("mon-2", -10)
	due := chat(notify.Thread{Incident: &before, Storm: &notify.Storm{ID: "s", First: first}}, notify.Thread{Incident: &joins})
	opening, _ := notify.OpeningOf(joins.Incident, eight)
	inStorm, _ := notify.OpeningOf(before.Incident, eight)
	inStorm.Storm = &notify.Storm{ID: "s", First: first}
	due.Openings = []notify.Opening{opening, inStorm}
	p := due.Plan()
	if len(p.Storms) != 1 || !slices.Equal(p.Storms[0].IncidentIDs, []string{"of mon-2"}) || p.Messages[1].Kind != "" {
		t.Errorf("the plan is %+v", p)
	}
}
