package postgres_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestAnActionHappensOnceForItsOpID(t *testing.T) {
	stores, _ := newGateways(t)
	m := register(t, stores[0], 1)
	acceptReport(t, stores[0], m.ID, report(trouble(detector.Blackout, hourAgo())), monitor.Run)
	i := onlyIncident(t, stores[0], m.ID)

	answers := make([]incident.Entry, 20)
	atOnce(t, len(answers), func(n int) (err error) {
		answers[n], err = stores[n%2].ActOnIncident(t.Context(), i.ID, incidents.Action{OpID: "a", Kind: incident.Noted, By: "ann", Text: "the encoder hangs"})
		return err
	})
	_, log, err := stores[0].GetIncident(t.Context(), i.ID)
	if err != nil || len(log) != 2 || log[1].Text != "the encoder hangs" {
		t.Errorf("the log is %+v, %v", log, err)
	}
	for _, e := range answers {
		expect(t, "an answer", e, answers[0])
	}
	no := false
	for name, other := range map[string]incidents.Action{
		"another text":   {OpID: "a", Kind: incident.Noted, By: "ann", Text: "no"},
		"another person": {OpID: "a", Kind: incident.Noted, By: "bob", Text: "the encoder hangs"},
		"another action": {OpID: "a", Kind: incident.Labelled, By: "ann", FalsePositive: &no},
	} {
		expectError(t, name, errorOf(stores[1].ActOnIncident(t.Context(), i.ID, other)), incidents.ErrOpReused)
	}
	must(stores[1].ActOnIncident(t.Context(), i.ID, incidents.Action{OpID: "b", Kind: incident.Labelled, By: "ann", FalsePositive: &no}))(t)
	if i := onlyIncident(t, stores[0], m.ID); i.FalsePositive == nil || *i.FalsePositive {
		t.Errorf("the label is %v", i.FalsePositive)
	}
	requireCode(t, errorOf(stores[0].ActOnIncident(t.Context(), uuid.Must(uuid.NewV7()).String(), incidents.Action{OpID: "a", Kind: incident.Acknowledged, By: "ann"})), incident.NotFound)
}

// A sweep locks its incidents, and the reports of their monitors wait, for as many round
// trips to the server as it has statements.
func TestASweepSendsNoMoreStatementsForManyIncidentsThanForOne(t *testing.T) {
	dsn := database(t)
	s, db, proxied := open(t, dsn), raw(t, dsn), startProxy(t, dsn)
	var statements atomic.Int64
	proxied.lose(func(string) loss { statements.Add(1); return noLoss })
	counted := open(t, proxied.dsn)
	sweep := func(incidents int) int64 {
		t.Helper()
		onset := hourAgo()
		for n := range incidents {
			m := register(t, s, 100*incidents+n)
			acceptReport(t, s, m.ID, report(trouble(detector.Blackout, onset), recovery(detector.Blackout, onset, onset.Add(40*time.Second))), monitor.Run)
		}
		before := countRows(t, db, `incidents WHERE state = 'resolved'`)
		statements.Store(0)
		must(counted.SweepIncidents(t.Context(), incidents))(t)
		require(t, "resolved incidents", countRows(t, db, `incidents WHERE state = 'resolved'`)-before, incidents)
		return statements.Load()
	}
	sweep(2)                                                       // reads the routing, which is kept from then on
	if one, many := sweep(1), sweep(25); many != one || many > 8 { // BEGIN, the search, the changes, three for destinations, the feed and COMMIT
		t.Errorf("a sweep of 25 incidents sent %d statements, of one %d; want 8", many, one)
	}
}

func TestIncidentsAreListedNewestFirstByFilter(t *testing.T) {
	s := open(t, database(t))
	onset := hourAgo()
	var ids []monitor.ID
	for n := range 5 { // opened at 0, 10, 20, 30, 40 min; the even ones black and over, the odd ones silent
		at := onset.Add(time.Duration(10*n) * time.Minute)
		events := []event.Event{trouble(detector.Silence, at)}
		if n%2 == 0 {
			events = []event.Event{trouble(detector.Blackout, at), recovery(detector.Blackout, at, at.Add(40*time.Second))}
		}
		ids = append(ids, registerWith(t, s, n, events...).ID)
	}
	sweepIncidents(t, s)
	for _, n := range []int{1, 4} {
		m := getMonitor(t, s, ids[n])
		m.Labels = monitor.Labels{"team": "a", "show": fmt.Sprint(n)}
		must(s.UpdateSettings(t.Context(), m, time.Time{}))(t)
	}
	everyone := must(s.ListIncidents(t.Context(), incidents.Filter{Limit: 10}))(t)
	for name, c := range map[string]struct {
		filter incidents.Filter
		want   []int
	}{
		"all":           {incidents.Filter{}, []int{4, 3, 2, 1, 0}},
		"open":          {incidents.Filter{State: incident.Open}, []int{3, 1}},
		"resolved":      {incidents.Filter{State: incident.Resolved}, []int{4, 2, 0}},
		"black":         {incidents.Filter{Condition: "black"}, []int{4, 2, 0}},
		"late":          {incidents.Filter{Condition: incident.Late}, nil},
		"severe":        {incidents.Filter{MinSeverity: 3}, []int{3, 1}},
		"of a monitor":  {incidents.Filter{MonitorID: ids[2]}, []int{2}},
		"with a label":  {incidents.Filter{Labels: monitor.Labels{"team": "a"}}, []int{4, 1}},
		"with labels":   {incidents.Filter{Labels: monitor.Labels{"team": "a", "show": "1"}}, []int{1}},
		"since 25 min":  {incidents.Filter{From: onset.Add(25 * time.Minute)}, []int{4, 3, 1}},
		"until 25 min":  {incidents.Filter{To: onset.Add(25 * time.Minute)}, []int{2, 1, 0}},
		"the next page": {incidents.Filter{Before: everyone[1].Seq}, []int{2, 1, 0}},
		"everything at once": {incidents.Filter{State: incident.Open, Condition: "silent", MinSeverity: 1, MonitorID: ids[1],
			From: onset, To: onset.Add(time.Hour), Before: everyone[0].Seq}, []int{1}},
	} {
		c.filter.Limit = 10
		page, err := s.ListIncidents(t.Context(), c.filter)
		check(t, err)
		var got []int
		for _, i := range page {
			got = append(got, slices.Index(ids, i.MonitorID))
		}
		expect(t, name, got, c.want)
	}
	if i := everyone[0]; i.StreamURL != registration(4).StreamURL || i.Labels["show"] != "4" || i.UpdatedAt.IsZero() {
		t.Errorf("the newest is %+v", i)
	}
}

// seen reports a state of picture and sound at a time.
func seen(t *testing.T, s *postgres.Store, id monitor.ID, at time.Time, video monitor.TrackHealth) {
	t.Helper()
	r := report()
	r.At, r.Status, r.StreamStatus = at, monitor.Monitoring, monitor.StreamLive
	r.Health = monitor.Health{Video: video, Audio: monitor.OK, LastCheckAt: at}
	acceptReport(t, s, id, r, monitor.Run)
}

func TestAnIncidentWhoseRecoveryWasLostIsResolved(t *testing.T) { // section 16.1
	s := open(t, database(t))
	m, byPerson, black := register(t, s, 1), register(t, s, 2), register(t, s, 3)
	began := time.Now().UTC().Add(-20 * time.Minute)
	for _, id := range []monitor.ID{m.ID, byPerson.ID, black.ID} {
		alert := report(trouble(detector.Blackout, began))
		alert.At, alert.Status, alert.Health.Video = began.Add(30*time.Second), monitor.Monitoring, monitor.Black
		acceptReport(t, s, id, alert, monitor.Run)
	}
	resolveIncident(t, s, byPerson.ID)
	for sec := 40; sec <= 1190; sec += 10 { // the next worker does not know that it is black, and sees a good picture
		at := began.Add(time.Duration(sec) * time.Second)
		seen(t, s, m.ID, at, monitor.OK)
		seen(t, s, byPerson.ID, at, monitor.OK)
		seen(t, s, black.ID, at, monitor.Black)
	}
	sweepIncidents(t, s)
	expectIncident(t, s, m.ID, incident.Open, "black+") // before it is reconciled
	for range 2 {
		check(t, incidents.NewReconcile(s, nil, nil).Run(t.Context()))
	}
	i := onlyIncident(t, s, m.ID)
	if want := began.Add(40 * time.Second).Round(time.Microsecond); i.State != incident.Resolved || !i.Conditions[0].EndedAt.Equal(want) {
		t.Errorf("the incident is %s, %s, ended at %v, want resolved and %v", i.State, conditions(i), i.Conditions[0].EndedAt, want)
	}
	expectIncident(t, s, byPerson.ID, incident.Resolved, "black-") // by a person
	expectIncident(t, s, black.ID, incident.Open, "black+")
}

// isBlack reports a black picture as of now.
func isBlack(events ...event.Event) monitor.Report {
	r := report(events...)
	r.At, r.Status, r.StreamStatus = time.Now().UTC(), monitor.Monitoring, monitor.StreamLive
	r.Health = monitor.Health{Video: monitor.Black, Audio: monitor.OK, LastCheckAt: r.At}
	return r
}

// expectShown fails the test unless a number of monitors are in the list of trouble, and the incidents in the state that
// begins the feed have these states.
func expectShown(t *testing.T, s *postgres.Store, monitorsInTrouble int, inFeed ...incident.State) {
	t.Helper()
	page, total, err := s.List(t.Context(), monitors.MonitorQuery{Trouble: true, Limit: 10})
	check(t, err)
	expectLen(t, "the list of trouble", page, monitorsInTrouble)
	expect(t, "its total", total, monitorsInTrouble)
	var states []incident.State
	for _, i := range readState(t, s).Incidents {
		states = append(states, i.State)
	}
	expect(t, "the incidents of the feed", states, inFeed)
}

func TestWhatAPersonHasResolvedIsShownWhileItLasts(t *testing.T) { // section 16.1
	stores, db := newGateways(t)
	s, other := stores[0], stores[1]
	m, ended := register(t, s, 1), register(t, s, 2)
	acceptReport(t, s, ended.ID, isBlack(), monitor.Run)
	must(s.End(t.Context(), ended.ID, monitor.Stopped, "", nil, time.Now()))(t)
	onset := time.Now().UTC().Add(-time.Minute)
	acceptReport(t, s, m.ID, isBlack(trouble(detector.Blackout, onset)), monitor.Run)
	id := onlyIncident(t, s, m.ID).ID
	atOnce(t, 2, func(n int) error { return act(t, stores[n], id, incident.WasResolved) }) // two people press
	sweepIncidents(t, s)
	if i := onlyIncident(t, s, m.ID); i.State != incident.Resolved || i.ResolvedBy != "ann" || conditions(i) != "black+" {
		t.Fatalf("the incident is %s by %q, %s", i.State, i.ResolvedBy, conditions(i))
	}
	expectShown(t, s, 1, incident.Resolved)

	alter(t, db, `UPDATE incidents SET due_at = now(), conditions = jsonb_set(conditions, '{0,opens_at}', to_jsonb(now() - interval '1 second'))`)
	for range 2 {
		sweepIncidents(t, s)
		sweepIncidents(t, other)
	}
	all := listIncidents(t, s, m.ID)
	if len(all) != 2 || all[0].State != incident.Open || conditions(all[0]) != "black+" || !all[0].StartedAt.Equal(onset.Round(time.Microsecond)) || conditions(all[1]) != "black-" {
		t.Fatalf("after half an hour the incidents are %+v", all)
	}

	must(s.ActOnIncident(t.Context(), all[0].ID, incidents.Action{OpID: "c", Kind: incident.WasResolved, By: "bob"}))(t)
	acceptReport(t, s, m.ID, report(recovery(detector.Blackout, onset, time.Now().UTC())), monitor.Run)
	seen(t, s, m.ID, time.Now().UTC(), monitor.OK)
	if all = listIncidents(t, s, m.ID); len(all) != 2 || all[0].ResolvedBy != "bob" || conditions(all[0]) != "black-" {
		t.Errorf("after the recovery the incidents are %+v", all)
	}
	expectShown(t, s, 0)
}
