package postgres_test

import (
	"database/sql"
	"sync"
	"testing"
	"time"

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
			must(c.s.Record(t.Context(), c.first, delivered()))(t)
			return behind
		},
		"another is being added": func(t *testing.T, c scene) string {
			behind := add(t, c)
			exec(t, c, `SELECT FROM deliveries WHERE id = $1 FOR KEY SHARE`, c.first.ID)
			must(c.s.Record(t.Context(), c.first, delivered()))(t)
			if leased := lease(t, c.s); len(leased) != 0 {
				t.Errorf("leased %+v", leased)
			}
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
			if d := leaseOne(t, s); d.ID != behind {
				t.Errorf("leased %s, want %s", d.ID, behind)
			}
		})
	}
}

// registerMany stores monitors of different streams.
func registerMany(t *testing.T, s *postgres.Store, db *sql.DB, count int) {
	t.Helper()
	alter(t, db, `INSERT INTO monitors OVERRIDING SYSTEM VALUE
		SELECT (jsonb_populate_record(m, jsonb_build_object('id', 'mon-' || lpad(n::text, 32, '0'), 'seq', m.seq + n, 'stream_url', m.stream_url || n))).*
		FROM monitors m, generate_series(1, $2) n WHERE m.id = $1`, register(t, s, 1).ID, count-1)
}
