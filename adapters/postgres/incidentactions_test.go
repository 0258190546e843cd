package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestAnActionHappensOnceForItsOpID(t *testing.T) {
	dsn := database(t)
	stores := []*postgres.Store{open(t, dsn), open(t, dsn)}
	m := register(t, stores[0], 1)
	acceptReport(t, stores[0], m.ID, report(trouble(detector.Blackout, hourAgo())), monitor.Run)
	i := onlyIncident(t, stores[0], m.ID)

	var wait sync.WaitGroup
	answers := make([]incident.Entry, 20)
	for n := range answers {
		wait.Go(func() {
			e, err := stores[n%2].ActOnIncident(t.Context(), i.ID, incidents.Action{OpID: "a", Kind: incident.Noted, By: "ann", Text: "the encoder hangs"})
			if err != nil {
				t.Error(err)
			}
			answers[n] = e
		})
	}
	wait.Wait()
	_, log, err := stores[0].GetIncident(t.Context(), i.ID)
	if err != nil || len(log) != 2 || log[1].Text != "the encoder hangs" {
		t.Errorf("the log is %+v, %v", log, err)
	}
	for _, e := range answers {
		if e != answers[0] {
			t.Errorf("the answers are %+v and %+v", answers[0], e)
		}
	}
	no := false
	for name, other := range map[string]incidents.Action{
		"another text":   {OpID: "a", Kind: incident.Noted, By: "ann", Text: "no"},
		"another person": {OpID: "a", Kind: incident.Noted, By: "bob", Text: "the encoder hangs"},
		"another action": {OpID: "a", Kind: incident.Labelled, By: "ann", FalsePositive: &no},
	} {
		if _, err := stores[1].ActOnIncident(t.Context(), i.ID, other); !errors.Is(err, incidents.ErrOpReused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(stores[1].ActOnIncident(t.Context(), i.ID, incidents.Action{OpID: "b", Kind: incident.Labelled, By: "ann", FalsePositive: &no}))(t)
	if i := onlyIncident(t, stores[0], m.ID); i.FalsePositive == nil || *i.FalsePositive {
		t.Errorf("the label is %v", i.FalsePositive)
	}
	requireCode(t, errorOf(stores[0].ActOnIncident(t.Context(), uuid.Must(uuid.NewV7()).String(), incidents.Action{OpID: "a", Kind: incident.Acknowledged, By: "ann"})), incident.NotFound)
}

func TestSweepsOfTwoGatewaysResolveEachIncidentOnce(t *testing.T) {
	const streams = 30
	dsn := database(t)
	stores := []*postgres.Store{open(t, dsn), open(t, dsn)}
	onset := hourAgo()
	for n := range streams {
		m := register(t, stores[0], n)
		acceptReport(t, stores[0], m.ID, report(trouble(detector.Blackout, onset), recovery(detector.Blackout, onset, onset.Add(40*time.Second))), monitor.Run)
	}
	var wait sync.WaitGroup
	for n := range 8 {
		wait.Go(func() {
			for range 10 {
				if _, err := stores[n%2].SweepIncidents(t.Context(), 5); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	var resolved, lines int
	err := raw(t, dsn).QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM incidents WHERE state = 'resolved' AND due_at IS NULL),
		(SELECT count(*) FROM incident_log WHERE kind = 'resolved')`).Scan(&resolved, &lines)
	if err != nil || resolved != streams || lines != streams {
		t.Errorf("%d resolved, %d lines, %v", resolved, lines, err)
	}
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
		if resolved := countRows(t, db, `incidents WHERE state = 'resolved'`) - before; resolved != incidents {
			t.Fatalf("%d incidents were resolved, want %d", resolved, incidents)
		}
		return statements.Load()
	}
	sweep(2)                                                       // reads the routing, which is kept from then on
	if one, many := sweep(1), sweep(25); many != one || many > 8 { // BEGIN, the search, the changes, three for destinations, the feed and COMMIT
		t.Errorf("a sweep of 25 incidents sent %d statements, of one %d; want 8", many, one)
	}
}

func TestARowThatCannotBeReadDoesNotStopTheSweep(t *testing.T) {
	dsn := database(t)
	s := open(t, dsn)
	onset := hourAgo()
	for n := range 2 {
		registerWith(t, s, n, trouble(detector.Blackout, onset), recovery(detector.Blackout, onset, onset.Add(40*time.Second)))
		if n == 0 {
			alter(t, raw(t, dsn), `UPDATE incidents SET conditions = '{}', due_at = 'epoch'`)
		}
	}
	for range 2 {
		must(s.SweepIncidents(t.Context(), 1))(t)
	}
	var resolved int
	if err := raw(t, dsn).QueryRowContext(t.Context(), `SELECT count(*) FROM incidents WHERE state = 'resolved'`).Scan(&resolved); err != nil || resolved != 1 {
		t.Errorf("%d resolved, %v", resolved, err)
	}
}

func TestIncidentsAreListedNewestFirstByFilter(t *testing.T) {
	s := open(t, database(t))
	onset := hourAgo()
	var ids []monitor.ID
	for n := range 5 { // opened at 0, 10, 20, 30, 40 min; the even ones black and over, the odd ones silent
		m := register(t, s, n)
		ids = append(ids, m.ID)
		at := onset.Add(time.Duration(10*n) * time.Minute)
		if n%2 == 0 {
			acceptReport(t, s, m.ID, report(trouble(detector.Blackout, at), recovery(detector.Blackout, at, at.Add(40*time.Second))), monitor.Run)
		} else {
			acceptReport(t, s, m.ID, report(trouble(detector.Silence, at)), monitor.Run)
		}
	}
	sweepIncidents(t, s)
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
		"since 25 min":  {incidents.Filter{From: onset.Add(25 * time.Minute)}, []int{4, 3, 1}},
		"until 25 min":  {incidents.Filter{To: onset.Add(25 * time.Minute)}, []int{2, 1, 0}},
		"the next page": {incidents.Filter{Before: everyone[1].Seq}, []int{2, 1, 0}},
		"everything at once": {incidents.Filter{State: incident.Open, Condition: "silent", MinSeverity: 1, MonitorID: ids[1],
			From: onset, To: onset.Add(time.Hour), Before: everyone[0].Seq}, []int{1}},
	} {
		c.filter.Limit = 10
		page, err := s.ListIncidents(t.Context(), c.filter)
		var got []int
		for _, i := range page {
			for n, id := range ids {
				if id == i.MonitorID {
					got = append(got, n)
				}
			}
		}
		if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
	if i := everyone[0]; i.StreamURL != registration(4).StreamURL || i.UpdatedAt.IsZero() {
		t.Errorf("the newest is %+v", i)
	}
}
