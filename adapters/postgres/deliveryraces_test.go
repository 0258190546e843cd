package postgres_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Two gateways empty the outbox, each with several goroutines. Nothing is leased twice, no
// two events of one monitor at the same time, and no destination has more than four.
func TestTwoGatewaysShareTheDestinations(t *testing.T) {
	const streams, each, hooks, hands = 6, 6, 2, 3
	dsn := database(t)
	gateways := []*postgres.Store{open(t, dsn), open(t, dsn)}
	for n := range hooks {
		addDestination(t, gateways[0], notify.Webhook, fmt.Sprint("hook ", n))
	}
	for n := range streams {
		m := register(t, gateways[0], n)
		for i := range each {
			acceptReport(t, gateways[0], m.ID, report(blackout(i)), monitor.Run)
		}
	}
	var mu sync.Mutex
	inFlight, queue := map[string]int{}, map[string]int64{}
	busy := map[string]bool{}
	made := 0
	of := func(d delivery.Delivery) string { return d.Destination.ID + string(d.Event.MonitorID) }
	begin := func(d delivery.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		if inFlight[d.Destination.ID]++; inFlight[d.Destination.ID] > notify.MaxPerDestination {
			t.Errorf("%d in flight at %s", inFlight[d.Destination.ID], d.Destination.Name)
		}
		if busy[of(d)] {
			t.Errorf("two events of %s are in flight at %s", d.Event.MonitorID, d.Destination.Name)
		}
		if busy[of(d)] = true; d.Event.Sequence != queue[of(d)]+1 {
			t.Errorf("sequence %d follows %d", d.Event.Sequence, queue[of(d)])
		}
		queue[of(d)] = d.Event.Sequence
	}
	end := func(d delivery.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		inFlight[d.Destination.ID]--
		busy[of(d)] = false
		made++
	}
	finished := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return made >= streams*each*hooks || t.Failed()
	}
	var wg sync.WaitGroup
	for hand := range 2 * hands {
		s := gateways[hand%2]
		wg.Go(func() {
			for !finished() {
				leased, err := s.Lease(t.Context(), 3, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				var forHooks []delivery.Delivery
				for _, d := range leased.Deliveries {
					if d.Callback == "" {
						begin(d)
						forHooks = append(forHooks, d)
					}
				}
				for _, d := range forHooks {
					end(d) // before it is recorded: afterwards the next may be in flight
					if err := deliverOnce(t, s, d); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// Gateways lease for the same destinations at the same moment. Nothing is recorded between.
func TestGatewaysThatLeaseAtOnceExceedNoLimit(t *testing.T) {
	const destinations, rounds, hands = 100, 20, 6
	dsn := database(t)
	gateways, db := []*postgres.Store{open(t, dsn), open(t, dsn)}, raw(t, dsn)
	alter(t, db, `INSERT INTO destinations (id, name, kind, language, config)
		SELECT gen_random_uuid(), n, CASE WHEN n % 2 = 0 THEN 'webhook' ELSE 'slack' END, 'en', '{}' FROM generate_series(1, $1) n`, destinations)
	alter(t, db, `UPDATE routing_version SET version = version + 1`)
	alter(t, db, `INSERT INTO deliveries (id, destination_id, notice, state, due_at, created_at)
		SELECT gen_random_uuid(), id, '{}', 'pending', now(), now() FROM destinations, generate_series(1, 20)`)
	limits := map[string]int{"webhook": notify.MaxPerDestination, "slack": 1}
	for round := range rounds {
		var mu sync.Mutex
		times, leased := map[string]int{}, map[string]int{}
		var wg sync.WaitGroup
		for hand := range hands {
			wg.Go(func() {
				all, err := gateways[hand%2].Lease(t.Context(), 2000, time.Minute)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				for _, d := range all.Deliveries {
					if times[d.ID]++; times[d.ID] > 1 {
						t.Errorf("in round %d a delivery is leased %d times", round, times[d.ID])
					}
					if leased[d.Destination.ID]++; leased[d.Destination.ID] > limits[string(d.Destination.Kind)] {
						t.Errorf("in round %d a %s has got %d at once", round, d.Destination.Kind, leased[d.Destination.ID])
					}
				}
			})
		}
		wg.Wait()
		if len(leased) == 0 {
			t.Errorf("in round %d nothing is leased", round)
		}
		alter(t, db, `UPDATE deliveries SET lease = NULL, due_at = now() WHERE lease IS NOT NULL`)
		alter(t, db, `UPDATE destinations SET tokens_at = tokens_at - interval '1 minute'`)
	}
}

// A lease sees the deliveries as of the beginning of a statement. Another gateway may lease for the
// same destination before it has locked it.
func TestALeaseThatBeganBeforeAnotherExceedsNoLimit(t *testing.T) {
	const gate = 16
	dsn := create(t, template)
	s, late, db := open(t, dsn), open(t, dsn+" application_name=late"), raw(t, dsn)
	addNotices(t, db, addDestination(t, s, notify.Webhook, "hook"), 20)
	// The gateway that is late waits with its snapshot when it reads destinations in a transaction.
	alter(t, db, `CREATE FUNCTION opened() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
		IF current_setting('application_name') = 'late' AND now() <> statement_timestamp() THEN PERFORM pg_advisory_xact_lock_shared(16); END IF;
		RETURN true; END $$`)
	alter(t, db, `ALTER TABLE destinations RENAME TO all_destinations`)
	alter(t, db, `CREATE VIEW destinations AS SELECT * FROM all_destinations WHERE opened()`)
	unlock := locked(t, db, gate)
	leased := make(chan int, 1)
	go func() {
		all, err := late.Lease(t.Context(), 100, time.Minute)
		if err != nil {
			t.Error(err)
		}
		leased <- len(all.Deliveries)
	}()
	eventually(t, "the lease waits with its snapshot", func() bool {
		return countRows(t, db, `pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) == 1
	})
	if before := leaseForDestinations(t, s); len(before) != notify.MaxPerDestination {
		t.Errorf("%d leased", len(before))
	}
	unlock()
	if n := <-leased; n != 0 {
		t.Errorf("the lease that began before has leased %d more", n)
	}
}
