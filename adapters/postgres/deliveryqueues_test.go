package postgres_test

import (
	"database/sql"
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

// stuckQueues counts the queues of which not exactly the first delivery has a time.
const stuckQueues = `(
	SELECT queue FROM deliveries q WHERE queue IS NOT NULL AND NOT EXISTS (SELECT FROM deliveries made WHERE made.queue = q.queue AND made.state <> 'pending') GROUP BY queue
	HAVING min(seq) IS DISTINCT FROM min(seq) FILTER (WHERE due_at IS NOT NULL)) AS stuck`

// Whatever comes of the first of a queue while an event is added behind it, the queue goes on.
func TestAQueueIsNeverLeftWithoutAFirst(t *testing.T) {
	const rounds = 200
	dsn := database(t)
	s, other, db := open(t, dsn), open(t, dsn), raw(t, dsn)
	addDestination(t, s, notify.Webhook, "hook")
	m := register(t, s, 1)
	late := func() delivery.Outcome { return outcomeOf(attempt("no"), later(24*time.Hour)) }
	outcomes := []func() delivery.Outcome{delivered, late, delivered, rejected}
	acceptReport(t, s, m.ID, report(blackout(0)), monitor.Run)
	for round := range rounds {
		leased := lease(t, s)
		require(t, "leased deliveries, one of each queue", len(leased), 2)
		one, two := outcomes[round%len(outcomes)](), outcomes[round%len(outcomes)]()
		allAtOnce(t, func() error { return errorOf(other.Accept(t.Context(), m.ID, report(blackout(round+1)))) },
			func() error { return errorOf(s.Record(t.Context(), leased[0], one)) },
			func() error { return errorOf(s.Record(t.Context(), leased[1], two)) })
		require(t, fmt.Sprint("stuck queues in round ", round), countRows(t, db, stuckQueues), 0)
	}
	expectRows(t, db, `deliveries WHERE queue IS NOT NULL`, 2)
}

// Three of the moments at which one event leaves its queue while another one comes or is looked at. In the end
// the other one is sent.
func TestWhatLeavesAQueueWhileItIsChangedLeavesNoneBehind(t *testing.T) {
	type scene struct {
		s       *postgres.Store
		id      monitor.ID
		first   delivery.Delivery
		session *sql.Tx // of another gateway
	}
	exec := func(t *testing.T, c scene, statement string, args ...any) int64 {
		t.Helper()
		return must(must(c.session.ExecContext(t.Context(), statement, args...))(t).RowsAffected())(t)
	}
	add := func(t *testing.T, c scene) string {
		t.Helper()
		e := blackout(2)
		acceptReport(t, c.s, c.id, report(e), monitor.Run)
		return e.ID
	}
	for name, play := range map[string]func(t *testing.T, c scene) (behind string){
		"it is being recorded, and another is added and leased": func(t *testing.T, c scene) string {
			exec(t, c, `SELECT FROM deliveries WHERE id = $1 FOR UPDATE`, c.first.ID)
			exec(t, c, `UPDATE deliveries SET state = 'delivered', queue = NULL, due_at = NULL, lease = NULL WHERE id = $1`, c.first.ID)
			behind := add(t, c)
			expectLen(t, "leased, although the one before it may still be sent again", lease(t, c.s), 0)
			return behind
		},
		"a lease finds the place of another": func(t *testing.T, c scene) string {
			behind := add(t, c)
			exec(t, c, `UPDATE deliveries SET due_at = now() WHERE id = $1`, behind)
			expect(t, "deliveries behind another", exec(t, c, postgres.PlaceDue, "{"+behind+"}"), 1)
			must(c.s.Record(t.Context(), c.first, delivered()))(t)
			return behind
		},
		"another is being added": func(t *testing.T, c scene) string {
			behind := add(t, c)
			exec(t, c, `SELECT FROM deliveries WHERE id = $1 FOR KEY SHARE`, c.first.ID)
			must(c.s.Record(t.Context(), c.first, delivered()))(t)
			expectLen(t, "the leased deliveries", lease(t, c.s), 0)
			return behind
		},
	} {
		t.Run(name, func(t *testing.T) {
			dsn := create(t, template)
			s, db := open(t, dsn), raw(t, dsn)
			m := registerWith(t, s, 1, blackout(1))
			c := scene{s, m.ID, leaseOne(t, s), must(db.BeginTx(t.Context(), nil))(t)}
			defer func() { _ = c.session.Rollback() }()
			behind := play(t, c)
			check(t, c.session.Commit())
			expect(t, "the leased delivery", leaseOne(t, s).ID, behind)
		})
	}
}

func registerMany(t *testing.T, s *postgres.Store, db *sql.DB, count int) {
	t.Helper()
	alter(t, db, `INSERT INTO monitors OVERRIDING SYSTEM VALUE
		SELECT (jsonb_populate_record(m, jsonb_build_object('id', 'mon-' || lpad(n::text, 32, '0'), 'seq', m.seq + n, 'stream_url', m.stream_url || n))).*
		FROM monitors m, generate_series(1, $2) n WHERE m.id = $1`, register(t, s, 1).ID, count-1)
}

// Two gateways empty the outbox, each with several goroutines, while events are added. Each queue gets its events in
// order and one at a time, although some fail first, and no destination has more than four at once.
func TestTwoGatewaysShareTheQueues(t *testing.T) {
	const streams, each, hooks, hands = 6, 8, 2, 3
	gateways, db := newGateways(t)
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
		expectRows(t, db, stuckQueues, 0)
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
	holder := holding(t, db, `SELECT pg_advisory_xact_lock($1)`, gate)
	wait := inBackground(t, func() error {
		leased, err := late.Lease(t.Context(), 100, time.Minute)
		expectLen(t, "deliveries of the lease that began before", leased.Deliveries, 0)
		return err
	})
	eventually(t, "the lease waits with its snapshot", func() bool { return waitingForLock(t, db) })
	expectLen(t, "leased deliveries", leaseForDestinations(t, s), notify.MaxPerDestination)
	check(t, holder.Commit())
	wait()
}
