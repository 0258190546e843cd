package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestAChangeWakesOnlyThreadsThatHaveSomethingToTell(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	chat := addDestination(t, s, notify.Discord, "chat")
	m := register(t, s, 1)
	acceptReport(t, s, m.ID, report(trouble(detector.Blackout, justNow())), monitor.Run)
	expectSent(t, s, "chat opened")
	replan := func() {
		t.Helper()
		if err := s.ReplanOpenIncidents(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	replan()
	planned := func() (version int64) {
		t.Helper()
		if err := db.QueryRow(`SELECT version - planned_version FROM routing_version`).Scan(&version); err != nil {
			t.Fatal(err)
		}
		return version
	}

	must[routing.DestinationRecord](t)(s.ChangeDestination(t.Context(), chat.ID, func(d *notify.Destination) error { d.Name, d.Owner = "renamed", "a.yaml"; return nil }))
	must[routing.RouteRecord](t)(s.ChangeRoute(t.Context(), defaultRoute, func(r *notify.Route) error { r.Owner = "a.yaml"; return nil }))
	if planned() != 0 {
		t.Error("another name makes a plan necessary")
	}
	must[routing.RouteRecord](t)(s.ChangeRoute(t.Context(), defaultRoute, func(r *notify.Route) error { r.Delay = time.Second; return nil }))
	if planned() == 0 {
		t.Error("another delay makes no plan necessary")
	}
	replan()
	if leased := leaseForDestinations(t, s); len(leased) != 0 {
		t.Errorf("leased %+v, which has nothing to tell", leased)
	}
	must[routing.RouteRecord](t)(s.ChangeRoute(t.Context(), defaultRoute, func(r *notify.Route) error { r.Repeat = 10 * time.Minute; return nil }))
	replan()
	requireLines(t, db, `SELECT count(*) FROM deliveries WHERE state = 'pending' AND due_at BETWEEN now() + interval '8 minutes' AND now() + interval '10 minutes'`, 1)
}

func TestIncidentsThatLastLongWaitBehindNewOnes(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	m := make([]monitor.Monitor, 5)
	for n := range m {
		m[n] = register(t, s, n)
	}
	for n := range 4 {
		acceptReport(t, s, m[n].ID, report(trouble(detector.Blackout, justNow())), monitor.Run)
	}
	alter(t, db, `UPDATE incidents SET opened_at = opened_at - interval '2 hours', updated_at = updated_at - interval '2 hours', storm_id = NULL`)
	addDestination(t, s, notify.Discord, "chat")
	for range 2 {
		if err := s.ReplanOpenIncidents(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	acceptReport(t, s, m[4].ID, report(trouble(detector.Blackout, justNow())), monitor.Run)
	leased := leaseForDestinations(t, s)
	var now []monitor.ID
	for _, d := range leased {
		now = append(now, d.Incident.MonitorID)
		recordOutcome(t, s, d, accepted())
	}
	if len(now) != 2 || !slices.Contains(now, m[4].ID) {
		t.Errorf("told of %v at first, want the new incident and one that lasts", now)
	}
	pass(t, db, 10*time.Second)
	if later := leaseForDestinations(t, s); len(later) != 3 {
		t.Errorf("%d told of later, want the other 3", len(later))
	}
}
