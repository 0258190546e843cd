package postgres_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/control"
	"github.com/stream-monitor/stream-monitor/application/deliver"
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
		recorded(t, s, leasedOne(t, s), turned, deliver.Verdict{RetryAt: time.Now().Add(time.Hour)})
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
	take := func(l deliver.Letter) {
		mu.Lock()
		defer mu.Unlock()
		if other, busy := out[l.MonitorID]; busy {
			t.Errorf("%s and %s of one monitor are out at once", other, l.EventID)
		}
		out[l.MonitorID] = l.EventID
		seen[l.MonitorID] = append(seen[l.MonitorID], l.EventID)
		count++
	}
	giveBack := func(l deliver.Letter) {
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
					if _, err := s.Record(t.Context(), l, taken, sent); err != nil {
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

func TestRecording(t *testing.T) {
	history := func(t *testing.T, s *postgres.Store, id monitor.ID) []control.Record {
		t.Helper()
		page, _, err := s.Events(t.Context(), id, 50, 0)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(page) // oldest first
		return page
	}
	due := deliver.Verdict{RetryAt: time.Now()}

	t.Run("every attempt is kept, the last makes it sent", func(t *testing.T) {
		s := open(t, database(t))
		m := registered(t, s, 1)
		accepted(t, s, m.ID, report(blackout(1)), monitor.Run)
		recorded(t, s, leasedOne(t, s), turned, due)
		l := leasedOne(t, s)
		if l.Attempts != 1 {
			t.Errorf("%d attempts before the second", l.Attempts)
		}
		recorded(t, s, l, taken, sent)
		rec := history(t, s, m.ID)[0]
		want := []control.Attempt{{At: noon, Status: 500, Error: "HTTP 500"}, {At: noon, Status: 200}}
		if rec.Status != "sent" || rec.SentAt.IsZero() || !slices.Equal(rec.Attempts, want) {
			t.Errorf("the record is %+v", rec)
		}
	})

	t.Run("the last failure ends the monitor and its other pending events", func(t *testing.T) {
		s := open(t, database(t))
		m, other := registered(t, s, 1), registered(t, s, 2)
		accepted(t, s, m.ID, report(blackout(1), blackout(2)), monitor.Run)
		l := leasedOne(t, s)
		accepted(t, s, other.ID, report(blackout(3)), monitor.Run)
		if ended := recorded(t, s, l, turned, hopeless); ended != m.ID {
			t.Errorf("ended is %q, want %s", ended, m.ID)
		}
		if m := got(t, s, m.ID); m.Status != monitor.Failed || m.Reason != event.ReasonCallbackFailed || m.EndedAt.IsZero() {
			t.Errorf("it stands at %s, %q, ended %v", m.Status, m.Reason, m.EndedAt)
		}
		for _, rec := range history(t, s, m.ID) {
			if rec.Status != "failed" || rec.LastError == "" {
				t.Errorf("the record is %+v", rec)
			}
		}
		if l := leasedOne(t, s); l.MonitorID != other.ID {
			t.Errorf("leased a letter of %s", l.MonitorID)
		}
	})

	t.Run("recording the same again changes nothing and tells the same", func(t *testing.T) {
		for name, v := range map[string]deliver.Verdict{"sent": sent, "failed": hopeless, "retry": due} {
			s := open(t, database(t))
			m := registered(t, s, 1)
			accepted(t, s, m.ID, report(blackout(1)), monitor.Run)
			l := leasedOne(t, s)
			first := recorded(t, s, l, turned, v)
			before := history(t, s, m.ID)
			if again := recorded(t, s, l, turned, v); again != first {
				t.Errorf("%s: ended is %q, then %q", name, first, again)
			}
			if after := history(t, s, m.ID); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("%s: before %+v, after %+v", name, before, after)
			}
		}
	})

	t.Run("a failure that comes after the lease was lost does not overwrite what another recorded", func(t *testing.T) {
		dsn := database(t)
		s, db := open(t, dsn), raw(t, dsn)
		m := registered(t, s, 1)
		accepted(t, s, m.ID, report(blackout(1)), monitor.Run)
		late := leasedOne(t, s)
		alter(t, db, `UPDATE monitor_events SET leased_until = now() - interval '1 second'`)
		recorded(t, s, leasedOne(t, s), taken, sent)
		if ended := recorded(t, s, late, turned, hopeless); ended != "" {
			t.Errorf("it ended %s", ended)
		}
		if rec := history(t, s, m.ID)[0]; rec.Status != "sent" {
			t.Errorf("the record is %+v", rec)
		}
	})

	t.Run("a failed last event of a completed monitor leaves it completed", func(t *testing.T) {
		s := open(t, database(t))
		m := registered(t, s, 1)
		final := report(blackout(1))
		final.Status = monitor.Completed
		accepted(t, s, m.ID, final, monitor.Stop)
		if ended := recorded(t, s, leasedOne(t, s), turned, hopeless); ended != "" {
			t.Errorf("it ended %s", ended)
		}
		if m := got(t, s, m.ID); m.Status != monitor.Completed {
			t.Errorf("the status is %s", m.Status)
		}
	})

	t.Run("an error text with a NUL, not UTF-8 and too long is stored", func(t *testing.T) {
		s := open(t, database(t))
		m := registered(t, s, 1)
		accepted(t, s, m.ID, report(blackout(1)), monitor.Run)
		bad := turned
		bad.Err = "a\x00\xff" + string(make([]byte, 5000))
		recorded(t, s, leasedOne(t, s), bad, due)
		if rec := history(t, s, m.ID)[0]; len(rec.LastError) == 0 || len(rec.LastError) > 1010 {
			t.Errorf("%d bytes of error", len(rec.LastError))
		}
	})
}

func TestNextDue(t *testing.T) {
	next := func(t *testing.T, s *postgres.Store) time.Time {
		t.Helper()
		at, err := s.NextDue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	within := func(t *testing.T, at, want time.Time) {
		t.Helper()
		if d := at.Sub(want).Abs(); d > 5*time.Second {
			t.Errorf("due at %v, want about %v", at, want)
		}
	}

	t.Run("nothing pending is never", func(t *testing.T) {
		if at := next(t, open(t, database(t))); !at.IsZero() {
			t.Errorf("due at %v", at)
		}
	})

	t.Run("a new event is due now", func(t *testing.T) {
		s := open(t, database(t))
		accepted(t, s, registered(t, s, 1).ID, report(blackout(1)), monitor.Run)
		within(t, next(t, s), time.Now())
	})

	t.Run("of a monitor that waits for a retry it is the retry, though more is pending", func(t *testing.T) {
		s := open(t, database(t))
		accepted(t, s, registered(t, s, 1).ID, report(blackout(1), blackout(2)), monitor.Run)
		at := time.Now().Add(time.Hour)
		recorded(t, s, leasedOne(t, s), turned, deliver.Verdict{RetryAt: at})
		within(t, next(t, s), at)
	})

	t.Run("what is leased is due when the lease ends", func(t *testing.T) {
		s := open(t, database(t))
		accepted(t, s, registered(t, s, 1).ID, report(blackout(1)), monitor.Run)
		leasedOne(t, s)
		within(t, next(t, s), time.Now().Add(time.Minute))
	})
}

// The plan is checked instead of the time: what is read must not grow with one
// monitor's backlog, whatever the database knows of its own statistics.
func TestABacklogOfOneMonitorDoesNotSlowTheOthers(t *testing.T) {
	for _, analysed := range []bool{false, true} {
		t.Run(fmt.Sprintf("10,000 pending events of one, statistics gathered: %v", analysed), func(t *testing.T) {
			dsn := create(t, template) // fresh: the statistics of a used one would be those of its user
			s, db := open(t, dsn), raw(t, dsn)
			m, other := registered(t, s, 1), registered(t, s, 2)
			alter(t, db, `INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
				SELECT gen_random_uuid(), $1, 'alert.blackout', '{}', '{}', 'pending', now() FROM generate_series(1, 10000)`, m.ID)
			alter(t, db, `INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
				SELECT gen_random_uuid(), $1, 'alert.blackout', '{}', '{}', 'sent', now() FROM generate_series(1, 10000)`, other.ID)
			if analysed {
				alter(t, db, `ANALYZE`)
			}
			accepted(t, s, other.ID, report(blackout(1)), monitor.Run)

			var text []byte
			if err := db.QueryRowContext(t.Context(), `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) `+postgres.LeaseQuery, 10, 60).Scan(&text); err != nil {
				t.Fatal(err)
			}
			var plan []struct {
				Plan struct {
					Hit  int `json:"Shared Hit Blocks"`
					Read int `json:"Shared Read Blocks"`
				}
			}
			if err := json.Unmarshal(text, &plan); err != nil {
				t.Fatal(err)
			}
			if pages := plan[0].Plan.Hit + plan[0].Plan.Read; pages > 80 {
				t.Errorf("leasing two heads looked at %d pages: %s", pages, text)
			}
		})
	}
}
