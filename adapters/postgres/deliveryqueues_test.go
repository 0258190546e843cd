package postgres_test

import (
	"database/sql"
	"sync"
	"testing"
	"time"

	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
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
	outcomes := []func() delivery.Outcome{delivered, func() delivery.Outcome { return outcomeOf(attempt("no"), later(24*time.Hour)) }, delivered, func() delivery.Outcome { return outcomeOf(attempt("no"), notify.Decision{Failed: true}) }}
	acceptReport(t, s, m.ID, report(blackout(0)), monitor.Run)
	for round := range rounds {
		leased := lease(t, s)
		if len(leased) != 2 {
			t.Fatalf("round %d: %d deliveries leased, want one of each queue", round, len(leased))
		}
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := other.Accept(t.Context(), m.ID, report(blackout(round+1))); err != nil {
				t.Error(err)
			}
		})
		for _, d := range leased {
			o := outcomes[round%len(outcomes)]()
			both.Go(func() {
				if _, err := s.Record(t.Context(), d, o); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if n := countRows(t, db, stuckQueues); n != 0 || t.Failed() {
			t.Fatalf("round %d: %d of two queues are stuck", round, n)
		}
	}
	if n := countRows(t, db, `deliveries WHERE queue IS NOT NULL`); n != 2 {
		t.Errorf("%d deliveries are left in the queues, want the last event in both", n)
	}
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
		return must[int64](t)(must[sql.Result](t)(c.session.ExecContext(t.Context(), statement, args...)).RowsAffected())
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
			if leased := lease(t, c.s); len(leased) != 0 {
				t.Errorf("leased %+v, although the one before it may still be sent again", leased)
			}
			return behind
		},
		"a lease finds the place of another": func(t *testing.T, c scene) string {
			behind := add(t, c)
			exec(t, c, `UPDATE deliveries SET due_at = now() WHERE id = $1`, behind)
			if n := exec(t, c, postgres.PlaceDue, "{"+behind+"}"); n != 1 {
				t.Errorf("%d deliveries are behind another", n)
			}
			must[delivery.Recorded](t)(c.s.Record(t.Context(), c.first, delivered()))
			return behind
		},
		"another is being added": func(t *testing.T, c scene) string {
			behind := add(t, c)
			exec(t, c, `SELECT FROM deliveries WHERE id = $1 FOR KEY SHARE`, c.first.ID)
			must[delivery.Recorded](t)(c.s.Record(t.Context(), c.first, delivered()))
			if leased := lease(t, c.s); len(leased) != 0 {
				t.Errorf("leased %+v", leased)
			}
			return behind
		},
	} {
		t.Run(name, func(t *testing.T) {
			dsn := create(t, template)
			s, db := open(t, dsn), raw(t, dsn)
			m := register(t, s, 1)
			acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
			c := scene{s, m.ID, leaseOne(t, s), must[*sql.Tx](t)(db.BeginTx(t.Context(), nil))}
			defer func() { _ = c.session.Rollback() }()
			behind := play(t, c)
			if err := c.session.Commit(); err != nil {
				t.Fatal(err)
			}
			if d := leaseOne(t, s); d.ID != behind {
				t.Errorf("leased %s, want %s", d.ID, behind)
			}
		})
	}
}

// At any time the first of each queue has a time, and no other is leased.
func TestOnlyTheFirstOfAQueueIsDue(t *testing.T) {
	const streams, each = 4, 10
	dsn := database(t)
	gateways, db := []*postgres.Store{open(t, dsn), open(t, dsn)}, raw(t, dsn)
	addDestination(t, gateways[0], notify.Webhook, "hook")
	var ids []monitor.ID
	for n := range streams {
		ids = append(ids, register(t, gateways[0], n).ID)
	}
	var all sync.WaitGroup
	for n, id := range ids {
		all.Go(func() {
			for second := range each {
				if _, err := gateways[n%2].Accept(t.Context(), id, report(blackout(second))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	count := func(condition string) int { return countRows(t, db, `deliveries WHERE `+condition) }
	var turn int
	for ; count(`state = 'delivered'`) < 2*streams*each && !t.Failed(); turn++ {
		s := gateways[turn%2]
		for _, d := range leaseUpTo(t, s, 5) {
			o := delivered()
			if d.Tried == 0 && turn%3 == 0 {
				o = retried(0)
			}
			all.Go(func() {
				if _, err := s.Record(t.Context(), d, o); err != nil {
					t.Error(err)
				}
			})
		}
		if n := countRows(t, db, stuckQueues); n != 0 {
			t.Errorf("%d queues have no first delivery", n)
		}
		if n := count(`lease IS NOT NULL AND queue IS NOT NULL AND EXISTS (SELECT FROM deliveries before WHERE before.queue = deliveries.queue AND before.seq < deliveries.seq)`); n != 0 {
			t.Errorf("%d deliveries are leased before others of their queues", n)
		}
	}
	all.Wait()
	if n := count(`queue IS NOT NULL OR due_at IS NOT NULL`); n != 0 {
		t.Errorf("%d deliveries are left", n)
	}
}

// registerMany stores monitors of different streams.
func registerMany(t *testing.T, s *postgres.Store, db *sql.DB, count int) {
	t.Helper()
	alter(t, db, `INSERT INTO monitors OVERRIDING SYSTEM VALUE
		SELECT (jsonb_populate_record(m, jsonb_build_object('id', 'mon-' || lpad(n::text, 32, '0'), 'seq', m.seq + n, 'stream_url', m.stream_url || n))).*
		FROM monitors m, generate_series(1, $2) n WHERE m.id = $1`, register(t, s, 1).ID, count-1)
}

// addEvents stores so many events of each of these monitors, none: of each that has no events in its queue.
func addEvents(t *testing.T, db *sql.DB, status string, each int, ids ...monitor.ID) {
	t.Helper()
	alter(t, db, `
		WITH added AS (
			INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
			SELECT gen_random_uuid(), id, 'alert.blackout', '{}', '{}', $1, now() FROM monitors m, generate_series(1, $2)
			WHERE CASE WHEN cardinality(CAST($3 AS text[])) > 0 THEN id = ANY ($3) ELSE NOT EXISTS (SELECT FROM deliveries WHERE queue = m.id) END
			RETURNING id, monitor_id, created_at)
		INSERT INTO deliveries (id, monitor_id, event_id, queue, state, due_at, created_at)
		SELECT id, monitor_id, id, CASE WHEN $1 = 'pending' THEN monitor_id END, CASE $1 WHEN 'sent' THEN 'delivered' ELSE $1 END,
		       CASE WHEN $1 = 'pending' AND place = 1 THEN now() END, created_at
		FROM (SELECT *, row_number() OVER (PARTITION BY monitor_id ORDER BY id) AS place FROM added) AS n ORDER BY monitor_id, place`,
		status, each, pq.Array(append([]monitor.ID{}, ids...)))
}
