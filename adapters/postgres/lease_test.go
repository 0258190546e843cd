package postgres_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestLeasing(t *testing.T) {
	t.Run("a monitor's events come one at a time, in the order they were stored", func(t *testing.T) {
		s := open(t, database(t))
		m := registered(t, s, 1)
		events := []event.Event{blackout(3), blackout(1), blackout(2)} // the order is not that of their times
		accepted(t, s, m.ID, report(events...), monitor.Run)
		for _, e := range events {
			l := leasedOne(t, s)
			if l.EventID != e.ID {
				t.Fatalf("leased %s, want %s", l.EventID, e.ID)
			}
			if n := len(leased(t, s)); n != 0 {
				t.Fatalf("%d more while one is out", n)
			}
			recorded(t, s, l, taken, sent)
		}
	})

	t.Run("a letter that waits for its retry holds up its own monitor only", func(t *testing.T) {
		s := open(t, database(t))
		slow, quick := registered(t, s, 1), registered(t, s, 2)
		accepted(t, s, slow.ID, report(blackout(1), blackout(2)), monitor.Run)
		recorded(t, s, leasedOne(t, s), turned, delivery.Decision{RetryAt: time.Now().Add(time.Minute)})
		accepted(t, s, quick.ID, report(blackout(3)), monitor.Run)
		if l := leasedOne(t, s); l.MonitorID != quick.ID {
			t.Errorf("leased a letter of %s", l.MonitorID)
		}
	})

	t.Run("a lease that is over is given to the next", func(t *testing.T) {
		dsn := database(t)
		s, db := open(t, dsn), raw(t, dsn)
		m := registered(t, s, 1)
		accepted(t, s, m.ID, report(blackout(1)), monitor.Run)
		first := leasedOne(t, s)
		alter(t, db, `UPDATE monitor_events SET leased_until = now() - interval '1 second'`)
		if again := leasedOne(t, open(t, dsn)); again.EventID != first.EventID {
			t.Errorf("leased %s, want %s", again.EventID, first.EventID)
		}
	})

	t.Run("no more than the limit is taken", func(t *testing.T) {
		s := open(t, database(t))
		for n := range 5 {
			accepted(t, s, registered(t, s, n).ID, report(blackout(n)), monitor.Run)
		}
		letters, err := s.Lease(t.Context(), 3, time.Minute)
		if err != nil || len(letters) != 3 {
			t.Errorf("%d letters, %v", len(letters), err)
		}
	})

	t.Run("an ended monitor's events are still delivered", func(t *testing.T) {
		s := open(t, database(t))
		m := registered(t, s, 1)
		accepted(t, s, m.ID, report(blackout(1)), monitor.Run)
		if _, err := s.End(t.Context(), m.ID, monitor.Stopped, "", nil, noon); err != nil {
			t.Fatal(err)
		}
		leasedOne(t, s)
	})
}

// Two gateways drain the outbox, each with several hands. What must hold: no
// event is out twice, no two of one monitor are out at once, and each monitor's
// come in order.
func TestLeasingFromTwoGatewaysAtOnce(t *testing.T) {
	const streams, each, hands = 10, 12, 4
	dsn := database(t)
	gateways := []*postgres.Store{open(t, dsn), open(t, dsn)}
	want := map[monitor.ID][]string{}
	for n := range streams {
		m := registered(t, gateways[0], n)
		var events []event.Event
		for i := range each {
			events = append(events, blackout(i))
			want[m.ID] = append(want[m.ID], events[i].ID)
		}
		accepted(t, gateways[0], m.ID, report(events...), monitor.Run)
	}

	var mu sync.Mutex
	out := map[monitor.ID]string{}
	seen := map[monitor.ID][]string{}
	count := 0
	take := func(l delivery.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		if other, busy := out[l.MonitorID]; busy {
			t.Errorf("%s and %s of one monitor are out at once", other, l.EventID)
		}
		out[l.MonitorID] = l.EventID
		seen[l.MonitorID] = append(seen[l.MonitorID], l.EventID)
		count++
	}
	giveBack := func(l delivery.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		delete(out, l.MonitorID)
	}
	finished := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return count >= streams*each || t.Failed()
	}

	var wg sync.WaitGroup
	for hand := range 2 * hands {
		s := gateways[hand%2]
		wg.Go(func() {
			for !finished() {
				letters, err := s.Lease(t.Context(), 3, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				for _, l := range letters {
					take(l)
				}
				for _, l := range letters {
					giveBack(l) // before it is recorded: afterwards it may be out again
					if _, err := s.RecordAttempt(t.Context(), l, taken, sent); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	for id, events := range want {
		if !slices.Equal(seen[id], events) {
			t.Errorf("%s: delivered\n%v, stored\n%v", id, seen[id], events)
		}
	}
}
