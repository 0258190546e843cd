package postgres_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Two gateways empty the outbox, each with several goroutines, while events are added. Each queue gets its events in
// order and one at a time, although some fail first, and no destination has more than four at once.
func TestTwoGatewaysShareTheQueues(t *testing.T) {
	const streams, each, hooks, hands = 6, 8, 2, 3
	dsn := database(t)
	gateways, db := []*postgres.Store{open(t, dsn), open(t, dsn)}, raw(t, dsn)
	for n := range hooks {
		addDestination(t, gateways[0], notify.Webhook, fmt.Sprint("hook ", n))
	}
	var all sync.WaitGroup
	events := map[monitor.ID][]event.Event{}
	for n := range streams {
		m := register(t, gateways[0], n)
		for second := range each {
			events[m.ID] = append(events[m.ID], blackout(second))
		}
		stored := events[m.ID]
		all.Go(func() {
			for _, e := range stored {
				if _, err := gateways[n%2].Accept(t.Context(), m.ID, report(e)); err != nil {
					t.Error(err)
				}
			}
		})
	}

	type queue struct {
		destination string // empty: the callback
		id          monitor.ID
	}
	var mu sync.Mutex
	inFlight, busy, made := map[string]int{}, map[queue]bool{}, map[queue]int{}
	total := 0
	of := func(d delivery.Delivery) queue { return queue{d.Destination.ID, d.Event.MonitorID} }
	begin := func(d delivery.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		if inFlight[d.Destination.ID]++; d.Callback == "" && inFlight[d.Destination.ID] > notify.MaxPerDestination {
			t.Errorf("%d in flight at %s", inFlight[d.Destination.ID], d.Destination.Name)
		}
		if busy[of(d)] || d.Event.EventID != events[d.Event.MonitorID][made[of(d)]].ID {
			t.Errorf("%s is leased to %q after %d, busy: %t", d.Event.EventID, d.Destination.Name, made[of(d)], busy[of(d)])
		}
		busy[of(d)] = true
	}
	end := func(d delivery.Delivery, o delivery.Outcome) {
		mu.Lock()
		defer mu.Unlock()
		inFlight[d.Destination.ID]--
		busy[of(d)] = false
		if o.Delivered {
			made[of(d)]++
			total++
		}
	}
	isOver := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return total == streams*each*(hooks+1) || t.Failed()
	}
	for hand := range 2 * hands {
		s := gateways[hand%2]
		all.Go(func() {
			for !isOver() {
				leased, err := s.Lease(t.Context(), 3, time.Minute)
				if err != nil {
					t.Error(err)
				}
				for _, d := range leased.Deliveries {
					begin(d)
				}
				for _, d := range leased.Deliveries {
					o := outcomeOf(event.Attempt{At: time.Now(), Status: 200}, sent)
					if d.Tried == 0 && d.ID[len(d.ID)-1] < '4' { // a quarter of them
						o = outcomeOf(event.Attempt{At: time.Now(), Error: "no"}, notify.Decision{RetryAt: time.Now()})
					}
					end(d, o) // before it is recorded: afterwards the next may be in flight
					if _, err := s.Record(t.Context(), d, o); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for !isOver() {
		if n := countRows(t, db, stuckQueues); n != 0 {
			t.Errorf("%d queues have no first delivery", n)
		}
	}
	all.Wait()
	expectRows(t, db, `deliveries WHERE queue IS NOT NULL OR due_at IS NOT NULL`, 0)
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
	eventually(t, "the lease waits with its snapshot", func() bool { return waitingAtGates(t, db) == 1 })
	if before := leaseForDestinations(t, s); len(before) != notify.MaxPerDestination {
		t.Errorf("%d leased", len(before))
	}
	unlock()
	if n := <-leased; n != 0 {
		t.Errorf("the lease that began before has leased %d more", n)
	}
}
