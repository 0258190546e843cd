package postgres_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// These tests do at once what must take its locks in one order. A transaction is tried again after a deadlock, so the
// proxy in between looks for its error.

const lockRounds = 200

// twoGateways returns the stores of two gateways, and fails the test if the server ends a deadlock of theirs.
func twoGateways(t *testing.T, dsn string) []*postgres.Store {
	t.Helper()
	proxied := startProxy(t, dsn)
	t.Cleanup(func() {
		if n := proxied.deadlocks.Load(); n != 0 {
			t.Errorf("%d deadlocks", n)
		}
	})
	return []*postgres.Store{openWithKey(t, proxied.dsn, reversing{first: "one"}), openWithKey(t, proxied.dsn, reversing{first: "one"})}
}

// atOnce runs functions concurrently, and fails the test at an error.
func atOnce(t *testing.T, all ...func() error) {
	t.Helper()
	var wg sync.WaitGroup
	for _, one := range all {
		wg.Go(func() {
			if err := one(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// A change of a destination locks the version of the routing and then the destination, and so does an attempt that
// disables it.
func TestADestinationIsChangedWhileAnAttemptDisablesIt(t *testing.T) {
	dsn := database(t)
	db := raw(t, dsn)
	gateways := twoGateways(t, dsn)
	s, other := gateways[0], gateways[1]
	hook := addDestination(t, s, notify.Webhook, "hook")
	addDestination(t, s, notify.Email, "mail")
	for round := range lockRounds {
		addNotices(t, db, hook, 1)
		d := leaseOneForDestination(t, s)
		outcome := isGone()
		var disabled string
		atOnce(t,
			func() error {
				recorded, err := s.Record(t.Context(), d, outcome)
				disabled = recorded.Disabled
				return err
			},
			func() error {
				_, err := other.ChangeDestination(t.Context(), hook.ID, func(d *notify.Destination) error { d.Config["channel"] = fmt.Sprint(round); return nil })
				return err
			},
			func() error {
				_, err := other.ChangeRoute(t.Context(), defaultRoute, func(r *notify.Route) error { r.DelaySec = int64(round); return nil })
				return err
			})
		got := must(s.Destination(t.Context(), hook.ID))(t)
		if got.Enabled || got.Config["channel"] != fmt.Sprint(round) || disabled == "" {
			t.Fatalf("in round %d it is %+v, disabled: %q", round, got, disabled)
		}
		expectRows(t, db, `deliveries WHERE state = 'pending' AND destination_id <> '`+hook.ID+`'`, 1)
		alter(t, db, `DELETE FROM deliveries`)
		must(s.ChangeDestination(t.Context(), hook.ID, func(d *notify.Destination) error { d.Enabled = true; return nil }))(t)
	}
}

// Reports change incidents while two gateways route them, decide what is told of them, and find out that it is outdated.
func TestIncidentsChangeWhileTheyAreRoutedAndTold(t *testing.T) {
	const streams, destinations = 9, 6 // fewer streams than a storm has
	dsn := database(t)
	db := raw(t, dsn)
	gateways := twoGateways(t, dsn)
	for n := range destinations {
		addDestination(t, gateways[0], notify.PagerDuty, fmt.Sprint("pager ", n))
	}
	ids := openIncidents(t, gateways[0], 0, 60, streams)[:streams]
	onsets := map[monitor.ID]time.Time{}
	for _, id := range ids {
		onsets[id] = justNow()
	}
	send := func(s *postgres.Store) error {
		if _, err := s.RouteIncidents(t.Context()); err != nil {
			return err
		}
		leased, err := s.Lease(t.Context(), 100, time.Minute)
		if err != nil {
			return err
		}
		for _, d := range leased.Deliveries {
			if err := deliverOnce(t, s, d); err != nil {
				return err
			}
		}
		return nil
	}
	for round := range lockRounds {
		alter(t, db, `UPDATE deliveries SET told = NULL, changed = true, state = 'pending', tried = 0, lease = NULL, due_at = now() WHERE incident_id IS NOT NULL`) // all of it is told again
		all := []func() error{
			func() error { return send(gateways[0]) }, func() error { return send(gateways[1]) },
			func() error { _, err := gateways[0].RouteIncidents(t.Context()); return err },
			func() error {
				_, err := gateways[1].ChangeRoute(t.Context(), defaultRoute, func(r *notify.Route) error { r.RepeatSec = int64(10+round%2) * 60; return nil })
				return err
			},
		}
		for n, id := range ids {
			all = append(all, func() error {
				at := time.Now().UTC()
				changes := report(recovery(detector.Silence, at.Add(-time.Second), at), trouble(detector.Blackout, onsets[id]), trouble(detector.Silence, at))
				_, err := gateways[n%2].Accept(t.Context(), id, changes)
				return err
			})
		}
		atOnce(t, all...)
		alter(t, db, `UPDATE destinations SET tokens_at = NULL`)
		alter(t, db, `DELETE FROM deliveries WHERE destination_id IS NULL`)
	}
	alter(t, db, `UPDATE destinations SET tokens_at = NULL`)
	pass(t, db, 10*time.Second)
	tellAll(t, gateways[0])
	expectRows(t, db, `deliveries WHERE incident_id IS NOT NULL AND told ->> 'open' = 'true'`, streams*destinations)
	for _, id := range ids {
		resolveIncident(t, gateways[0], id)
	}
	for range 10 {
		pass(t, db, 20*time.Minute)
		tellAll(t, gateways[0])
	}
	expectRows(t, db, `deliveries WHERE destination_id IS NOT NULL AND (state = 'pending' OR told ->> 'open' = 'true')`, 0)
}

// A silence ends by a person, and by the recovery that it lasts until, at the same time.
func TestASilenceIsEndedWhileIncidentsAreRouted(t *testing.T) {
	dsn := database(t)
	db := raw(t, dsn)
	gateways := twoGateways(t, dsn)
	s, other := gateways[0], gateways[1]
	addDestination(t, s, notify.Email, "mail")
	for round := range lockRounds {
		id := openIncidents(t, s, round, 1, 1)[0]
		silenced := silenceUntilRecovered(t, s, id)
		resolveIncident(t, s, id)
		routed := func(s *postgres.Store) func() error {
			return func() error { _, err := s.RouteIncidents(t.Context()); return err }
		}
		atOnce(t, routed(s), routed(other), func() error { _, err := other.EndSilence(t.Context(), silenced.ID); return err })
		route(t, s)
		if got := must(s.Silence(t.Context(), silenced.ID))(t); got.EndedAt.IsZero() {
			t.Fatalf("in round %d the silence has not ended: %+v", round, got)
		}
		expectRows(t, db, `incidents WHERE unrouted > 0`, 0)
	}
	expectRows(t, db, `deliveries WHERE incident_id IS NOT NULL`, lockRounds)
}

// A transaction that holds an incident may wait for a delivery, never the other way round. The attempt that ends a
// monitor waits for its incident before it locks the delivery.
func TestAMonitorEndsByItsCallbackWhileItsIncidentIsLocked(t *testing.T) {
	dsn := database(t)
	db := raw(t, dsn)
	gateways := twoGateways(t, dsn)
	s := gateways[0]
	m := registerBlack(t, s, 1)
	d := leaseOne(t, s)

	other := holding(t, db, `SELECT FROM incidents WHERE id = $1 FOR UPDATE`, onlyIncident(t, s, m.ID).ID)
	ended := make(chan monitor.ID, 1)
	go func() {
		recorded, err := s.Record(t.Context(), d, outcomeOf(rejecting, failed))
		if err != nil {
			t.Error(err)
		}
		ended <- recorded.EndedMonitor
	}()
	eventually(t, "the attempt waits for the incident", func() bool { return waitingForLock(t, db) })
	if _, err := other.ExecContext(t.Context(), `SELECT FROM deliveries WHERE id = $1 FOR UPDATE`, d.ID); err != nil {
		t.Errorf("who holds the incident does not get the delivery: %v", err)
	}
	check(t, other.Commit())
	if got := <-ended; got != m.ID {
		t.Errorf("%q has ended, want %q", got, m.ID)
	}
}
