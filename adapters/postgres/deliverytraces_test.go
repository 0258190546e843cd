package postgres_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Everything happens at once: incidents begin and end, people act, routes change, and two
// gateways send. In the end nobody is left with an incident that is over, and no event is
// missing.
func TestNothingIsLostWhenEverythingHappensAtOnce(t *testing.T) {
	const streams, rounds = 8, 6
	dsn := database(t)
	gateways, db := []*postgres.Store{open(t, dsn), open(t, dsn)}, raw(t, dsn)
	hook := addDestination(t, gateways[0], notify.Webhook, "hook")
	addDestination(t, gateways[0], notify.Ntfy, "phone")
	ids := openIncidents(t, gateways[0], 0, streams, 0)

	var working, sending sync.WaitGroup
	done := make(chan struct{})
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	for n, id := range ids {
		s := gateways[n%2]
		working.Go(func() {
			for round := range rounds {
				onset := time.Now().UTC().Add(-time.Duration(rounds-round) * time.Hour)
				_, err := s.Accept(t.Context(), id, report(trouble(detector.Blackout, onset)))
				check(err)
				all, err := s.ListIncidents(t.Context(), incidents.Filter{MonitorID: id, Limit: 1})
				check(err)
				for _, kind := range []incident.EntryKind{incident.Acknowledged, incident.WasResolved} {
					_, err := s.ActOnIncident(t.Context(), all[0].ID, incidents.Action{OpID: newID(), Kind: kind, By: "ann"})
					check(err)
				}
			}
		})
	}
	for n := range 4 {
		s := gateways[n%2]
		sending.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				_, err := s.RouteIncidents(t.Context())
				check(err)
				leased, err := s.Lease(t.Context(), 5, time.Minute)
				check(err)
				for _, d := range leased.Deliveries {
					check(deliverOnce(t, s, d))
				}
			}
		})
	}
	working.Wait()
	close(done)
	sending.Wait()

	for range 1000 {
		pass(t, db, 10*time.Minute)
		route(t, gateways[0])
		leased := lease(t, gateways[0])
		for _, d := range leased {
			check(deliverOnce(t, gateways[0], d))
		}
		if len(leased) == 0 && countRows(t, db, `deliveries WHERE state = 'pending'`) == 0 {
			break
		}
	}
	if n := countRows(t, db, `deliveries WHERE told->>'open' = 'true'`); n != 0 {
		t.Errorf("%d threads of incidents that are over are open", n)
	}
	if n := countRows(t, db, `deliveries WHERE storm IS NOT NULL AND NOT storm ? 'resolved_at'`); n != 0 {
		t.Errorf("%d storms are open", n)
	}
	if n := countRows(t, db, `deliveries WHERE state = 'pending'`); n != 0 {
		t.Errorf("%d deliveries are pending", n)
	}
	events := countRows(t, db, `monitor_events`)
	if delivered := countRows(t, db, `deliveries WHERE state = 'delivered' AND event_id IS NOT NULL AND destination_id = '`+hook.ID+`'`); delivered != events || events != streams*rounds {
		t.Errorf("%d of %d events were delivered", delivered, events)
	}
	for _, id := range ids {
		if last := countRows(t, db, `deliveries WHERE monitor_id = '`+string(id)+`' AND sequence BETWEEN 1 AND 6`); last != rounds {
			t.Errorf("%s has %d events from 1 to %d", id, last, rounds)
		}
	}
}

// deliverOnce does what a dispatcher does whose receivers accept everything. It may be
// called concurrently.
func deliverOnce(t testing.TB, s *postgres.Store, d delivery.Delivery) error {
	outcome := outcomeOf(event.Attempt{At: time.Now().UTC(), Status: 200}, sent)
	if d.Incident != nil || d.Storm != nil {
		told := d.Notified.After(d.Message.Situation, d.Message.NextMessage, d.Now, "ref")
		outcome.Notified = &told
	}
	_, err := s.Record(t.Context(), d, outcome)
	return err
}
