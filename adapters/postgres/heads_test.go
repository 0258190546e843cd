package postgres_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The reads of a delivery of one event to each monitor grow with the number of monitors, and not
// with its square.
func TestDrainingManyMonitorsReadsEachHeadAFewTimes(t *testing.T) {
	const monitors = 400
	for _, c := range []struct{ gateways, limit int }{{1, 1}, {1, 32}, {2, 1}} { // one slot is free, or many
		t.Run(fmt.Sprintf("%d gateways, %d events in a lease", c.gateways, c.limit), func(t *testing.T) {
			dsn := create(t, template)
			s, db := open(t, dsn), raw(t, dsn)
			registerMany(t, s, db, monitors)
			addEvents(t, db, "sent", 50) // else the planner reads the whole table
			addEvents(t, db, "pending", 1)
			alter(t, db, `ANALYZE`)
			reportReads(t, db)
			before := eventsRead(t, db)

			var gateways []*postgres.Store
			for range c.gateways {
				gateways = append(gateways, must[*postgres.Store](t)(postgres.Open(t.Context(), dsn, postgres.Config{})))
			}
			delivered := map[monitor.ID]int{}
			began := time.Now()
			for turn := 0; ; turn++ {
				gateway := gateways[turn%c.gateways]
				leased := leaseUpTo(t, gateway, c.limit)
				for _, l := range leased {
					recordAttempt(t, gateway, l, accepting, sent)
					delivered[l.MonitorID]++
				}
				if len(leased) == 0 {
					break
				}
			}
			took := time.Since(began)
			for _, gateway := range gateways {
				if err := gateway.Close(); err != nil {
					t.Fatal(err)
				}
			}
			for id, n := range delivered {
				if n != 1 {
					t.Errorf("%s has its event %d times", id, n)
				}
			}
			if len(delivered) != monitors {
				t.Errorf("%d monitors have their event, of %d", len(delivered), monitors)
			}
			reportReads(t, db)
			// Heads that were found are found again after a second.
			most := (20 + 2*int(took.Seconds())) * monitors * c.gateways
			if read := eventsRead(t, db) - before; read < monitors || read > most {
				t.Errorf("%d events were read for %d monitors in %v, want at most %d", read, monitors, took, most)
			}
		})
	}
}

// After an outage of a receiver many events are pending of which the statistics know nothing.
func TestHeadsAreFoundByTheirIndexWhateverTheStatisticsSay(t *testing.T) {
	const monitors = 1000
	dsn := create(t, template)
	s, db := open(t, dsn), raw(t, dsn)
	registerMany(t, s, db, monitors)
	addEvents(t, db, "sent", 5)
	alter(t, db, `ANALYZE`)
	addEvents(t, db, "pending", 1)
	for name, c := range map[string]struct {
		query string
		args  []any
	}{
		"leaseQuery": {postgres.LeaseQuery, []any{32, 60, uuid.NewString(), "{}"}},
		"findHeads":  {postgres.FindHeads, []any{1000}},
	} {
		if pages, plan := explain(t, db, c.query, c.args...); pages > 20*monitors {
			t.Errorf("%s looked at %d pages for %d heads: %s", name, pages, monitors, plan)
		}
	}
}

// One gateway has found the head of a queue. Another one sends it, a user redelivers it, and the
// next event is leased. The first one is pending again then, but no longer the head.
func TestAFoundHeadThatWasRedeliveredIsNotLeased(t *testing.T) {
	dsn := database(t)
	s, other := open(t, dsn), open(t, dsn)
	for n := range 3 {
		acceptReport(t, s, register(t, s, n).ID, report(blackout(1), blackout(2)), monitor.Run)
	}
	for range 2 { // the second call finds the other two heads, and leases one of them
		if n := len(leaseUpTo(t, s, 1)); n != 1 {
			t.Fatalf("%d events leased", n)
		}
	}
	first := leaseOne(t, other)
	recordAttempt(t, other, first, accepting, sent)
	if err := other.Redeliver(t.Context(), first.MonitorID, first.EventID); err != nil {
		t.Fatal(err)
	}
	second := leaseOne(t, other)
	if leased := leaseUpTo(t, s, 1); len(leased) != 0 {
		t.Errorf("%s is leased beside %s", leased[0].EventID, second.EventID)
	}
}

func TestAFoundHeadWhoseLeaseWasLostIsGrantedByTheNextCall(t *testing.T) {
	dsn := database(t)
	proxied := startProxy(t, dsn)
	s := open(t, proxied.dsn)
	for n := range 3 {
		acceptReport(t, s, register(t, s, n).ID, report(blackout(1)), monitor.Run)
	}
	leaseUpTo(t, s, 1)
	proxied.lose(func(statement string) loss {
		if strings.Contains(statement, "unnest(CAST($5") {
			return lostAnswer
		}
		return noLoss
	})
	if leased, err := s.Outbox.Lease(t.Context(), 1, time.Minute); err == nil {
		t.Fatalf("%d deliveries came through", len(leased))
	}
	if proxied.losses() == 0 {
		t.Error("nothing was lost, so nothing was tested")
	}
	proxied.lose(nil)
	if n := len(lease(t, s)); n != 2 {
		t.Errorf("%d events leased of the two that are left", n)
	}
}

// While heads keep coming, leases look for other events all the same.
func TestFoundHeadsEndAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 100 * time.Millisecond
		var heads postgres.HeadList
		heads.ExpectMore()
		for since := time.Duration(0); heads.Take(1) > 0; since += each {
			if since > 10*time.Second {
				t.Fatalf("there are found heads after %v", since)
			}
			time.Sleep(each)
		}
		if n := heads.Take(1); n != 0 {
			t.Errorf("%d heads after the end", n)
		}
		heads.ExpectMore()
		if n := heads.Take(1); n != 1 {
			t.Errorf("%d heads after more were expected", n)
		}
	})
}

// registerMany stores monitors of different streams.
func registerMany(t *testing.T, s *postgres.Store, db *sql.DB, count int) {
	t.Helper()
	alter(t, db, `INSERT INTO monitors OVERRIDING SYSTEM VALUE
		SELECT (jsonb_populate_record(m, jsonb_build_object('id', 'mon-' || lpad(n::text, 32, '0'), 'seq', m.seq + n, 'stream_url', m.stream_url || n))).*
		FROM monitors m, generate_series(1, $2) n WHERE m.id = $1`, register(t, s, 1).ID, count-1)
}

// addEvents stores so many events of each monitor.
func addEvents(t *testing.T, db *sql.DB, status string, each int) {
	t.Helper()
	alter(t, db, `INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
		SELECT gen_random_uuid(), id, 'alert.blackout', '{}', '{}', $1, now() FROM monitors, generate_series(1, $2)`, status, each)
}

// reportReads ends all other sessions, so that they have reported what they have read, and lets
// its own report. A session that goes on may report it a second later.
func reportReads(t *testing.T, db *sql.DB) {
	t.Helper()
	const others = `pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`
	eventually(t, "the other sessions have ended", func() bool {
		alter(t, db, `SELECT pg_terminate_backend(pid) FROM `+others)
		return countRows(t, db, others) == 0
	})
	alter(t, db, `SELECT pg_stat_force_next_flush()`)
}

// eventsRead returns how many rows of monitor_events were read so far, by scans of the table or
// of its indexes.
func eventsRead(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), `SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'monitor_events'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
