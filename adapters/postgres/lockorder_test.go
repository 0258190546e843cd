package postgres_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// These tests do at once what must take its locks in one order. A transaction is tried again after a deadlock, so the
// proxy in between looks for its error.

const lockRounds = 60

// withoutDeadlocks returns the stores of two gateways, and fails the test if the server ends a deadlock of theirs.
func withoutDeadlocks(t *testing.T) (s, other *postgres.Store, db *sql.DB) {
	t.Helper()
	dsn := database(t)
	proxied := startProxy(t, dsn)
	t.Cleanup(func() { expect(t, "deadlocks", proxied.deadlocks.Load(), 0) })
	return open(t, proxied.dsn), open(t, proxied.dsn), raw(t, dsn)
}

// A change of a destination locks the version of the routing and then the destination, and so does an attempt that
// disables it.
func TestADestinationIsChangedWhileAnAttemptDisablesIt(t *testing.T) {
	s, other, db := withoutDeadlocks(t)
	hook := addDestination(t, s, notify.Webhook, "hook")
	addDestination(t, s, notify.Email, "mail")
	for round := range lockRounds {
		addNotices(t, db, hook, 1)
		d := leaseOneForDestination(t, s)
		outcome := isGone()
		var disabled string
		allAtOnce(t,
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
	s, other, db := withoutDeadlocks(t)
	gateways := []*postgres.Store{s, other}
	for n := range destinations {
		addDestination(t, gateways[0], notify.PagerDuty, fmt.Sprint("pager ", n))
	}
	ids := openIncidents(t, gateways[0], 0, 60, streams)[:streams]
	onsets := map[monitor.ID]time.Time{}
	for _, id := range ids {
		onsets[id] = justNow()
	}
	for round := range lockRounds {
		alter(t, db, `UPDATE deliveries SET told = NULL, changed = true, state = 'pending', tried = 0, lease = NULL, due_at = now() WHERE incident_id IS NOT NULL`) // all of it is told again
		all := []func() error{
			func() error { return deliverAll(t, gateways[0]) }, func() error { return deliverAll(t, gateways[1]) },
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
		allAtOnce(t, all...)
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
	s, other, db := withoutDeadlocks(t)
	addDestination(t, s, notify.Email, "mail")
	for round := range lockRounds {
		id := openIncidents(t, s, round, 1, 1)[0]
		silenced := silenceUntilRecovered(t, s, id)
		resolveIncident(t, s, id)
		routed := func(s *postgres.Store) func() error {
			return func() error { _, err := s.RouteIncidents(t.Context()); return err }
		}
		allAtOnce(t, routed(s), routed(other), func() error { _, err := other.EndSilence(t.Context(), silenced.ID); return err })
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
	s, _, db := withoutDeadlocks(t)
	m := registerBlack(t, s, 1)
	d := leaseOne(t, s)

	other := holding(t, db, `SELECT FROM incidents WHERE id = $1 FOR UPDATE`, onlyIncident(t, s, m.ID).ID)
	wait := inBackground(t, func() error {
		recorded, err := s.Record(t.Context(), d, outcomeOf(rejecting, failed))
		expect(t, "the ended monitor", recorded.EndedMonitor, m.ID)
		return err
	})
	eventually(t, "the attempt waits for the incident", func() bool { return waitingForLock(t, db) })
	must(other.ExecContext(t.Context(), `SELECT FROM deliveries WHERE id = $1 FOR UPDATE`, d.ID))(t)
	check(t, other.Commit())
	wait()
}

// A reference of a channel is stored before a monitor is adopted, or after it. Before, the worker gets it with the adoption; after, by a
// new revision of the monitor.
func TestAReferenceOfAChannelWaitsForAnAdoption(t *testing.T) {
	s, _, db := withoutDeadlocks(t)
	c, m := createChannel(t, s, 1), register(t, s, 1)
	adoption := holding(t, db, `SELECT FROM monitors WHERE id = $1 FOR UPDATE`, m.ID)
	must(adoption.ExecContext(t.Context(), `SELECT FROM channels WHERE id = $1 FOR SHARE`, c.ID))(t)
	wait := inBackground(t, func() error { return s.AddReference(t.Context(), references.Owner{Channel: c.ID}, reference(1)) })
	eventually(t, "the reference waits for the channel", func() bool { return waitingForLock(t, db) })
	must(adoption.ExecContext(t.Context(), `UPDATE monitors SET channel_id = $2 WHERE id = $1`, m.ID, c.ID))(t)
	check(t, adoption.Commit())
	wait()
	expect(t, "the revision", getMonitor(t, s, m.ID).Revision, 1)
}
