package postgres_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/migrations"
)

// The reads of a list do not grow with the monitors that have ended. At an offset it reads what it
// skips once, in monitors alone.
func TestAListReadsNoMonitorsToCountThem(t *testing.T) {
	const ended, firstPage, skipping = 1000, 30, 120 // in pages
	dsn := create(t, template)
	s, db := open(t, dsn), raw(t, dsn)
	m := register(t, s, 2*ended)
	registerMany(t, s, db, ended)
	alter(t, db, `UPDATE monitors SET status = 'completed', ended_at = now() WHERE id <> $1`, m.ID)
	alter(t, db, `INSERT INTO monitor_stats (monitor_id) SELECT id FROM monitors ON CONFLICT DO NOTHING`)
	alter(t, db, `VACUUM ANALYZE`)
	for name, c := range map[string]struct {
		most int
		read func(*postgres.Store) (total int, err error)
		want int
	}{
		"the first page of monitors": {firstPage, func(s *postgres.Store) (int, error) {
			_, total, err := s.List(t.Context(), registry.MonitorQuery{Limit: 3})
			return total, err
		}, ended + 1},
		"a page of monitors at an offset": {skipping, func(s *postgres.Store) (int, error) {
			_, total, err := s.List(t.Context(), registry.MonitorQuery{Limit: 3, Offset: 900})
			return total, err
		}, ended + 1},
		"a page of monitors that have ended, at an offset": {skipping, func(s *postgres.Store) (int, error) {
			_, total, err := s.List(t.Context(), registry.MonitorQuery{Status: monitor.Completed, Limit: 3, Offset: 900})
			return total, err
		}, ended},
		"the state of the workers": {firstPage, func(s *postgres.Store) (int, error) {
			checker, err := s.ReadChecker(t.Context())
			return checker.Watched, err
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			reportReads(t, db)
			before := pagesRead(t, db)
			reader := must[*postgres.Store](t)(postgres.Open(t.Context(), dsn, postgres.Config{}))
			total, err := c.read(reader)
			if err != nil || total != c.want {
				t.Errorf("the total is %d, want %d (%v)", total, c.want, err)
			}
			if err := reader.Close(); err != nil {
				t.Fatal(err)
			}
			reportReads(t, db)
			if n := pagesRead(t, db) - before; n < 1 || n > c.most {
				t.Errorf("%d pages were read", n)
			}
		})
	}
}

// pagesRead returns how often a page of monitors or their statistics was read so far.
func pagesRead(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	err := db.QueryRowContext(t.Context(), `SELECT sum(heap_blks_hit + heap_blks_read) FROM pg_statio_user_tables WHERE relname IN ('monitors', 'monitor_stats')`).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTheTotalOfAListIsThatOfItsFilter(t *testing.T) { // sections 3.4 and 16.6
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	totals := map[monitor.Status]int{"": 9, monitor.Initializing: 3, monitor.Completed: 1, monitor.Stopped: 2, monitor.Failed: 3}
	for n := range totals[""] {
		m := register(t, s, n)
		for to, count := range map[monitor.Status][2]int{monitor.Completed: {0, 1}, monitor.Stopped: {1, 3}, monitor.Failed: {3, 6}} {
			if count[0] <= n && n < count[1] {
				must[monitor.Monitor](t)(s.End(t.Context(), m.ID, to, "", nil, noon))
			}
		}
	}
	check := func(t *testing.T) {
		t.Helper()
		for status, want := range totals {
			for offset := range want + 3 {
				for limit := 1; limit < 4; limit++ {
					page, total, err := s.List(t.Context(), registry.MonitorQuery{Status: status, Limit: limit, Offset: offset})
					if err != nil || total != want || len(page) != max(min(limit, want-offset), 0) {
						t.Errorf("%q from %d: %d monitors of %d, %v; want a total of %d", status, offset, len(page), total, err, want)
					}
				}
			}
		}
	}
	check(t)

	t.Run("whoever changes a monitor", func(t *testing.T) {
		undone := must[*sql.Tx](t)(db.BeginTx(t.Context(), nil))
		if _, err := undone.ExecContext(t.Context(), `UPDATE monitors SET status = 'stopped'`); err != nil {
			t.Fatal(err)
		}
		if err := undone.Rollback(); err != nil {
			t.Fatal(err)
		}
		alter(t, db, `UPDATE monitors SET status = 'error', updated_at = now() WHERE status = 'completed'`)
		alter(t, db, `DELETE FROM monitor_stats; DELETE FROM monitors WHERE status = 'stopped'`)
		totals[""], totals[monitor.Completed], totals[monitor.Failed], totals[monitor.Stopped] = 7, 0, 4, 0
		alter(t, db, `INSERT INTO monitor_stats (monitor_id) SELECT id FROM monitors`)
		check(t)
	})

	t.Run("an end that is not committed delays no other", func(t *testing.T) {
		first, second := register(t, s, 20), register(t, s, 21)
		holder := must[*sql.Tx](t)(db.BeginTx(t.Context(), nil))
		defer func() { _ = holder.Rollback() }()
		if _, err := holder.ExecContext(t.Context(), `UPDATE monitors SET status = 'stopped' WHERE id = $1`, first.ID); err != nil {
			t.Fatal(err)
		}
		must[monitor.Monitor](t)(s.End(t.Context(), second.ID, monitor.Stopped, "", nil, noon)) // it would be cancelled after 5 s
	})
}

func TestMonitorsThatHadEndedBeforeTheyWereCountedAreCounted(t *testing.T) {
	m := newMigration(t)
	add := func(status string) {
		alter(t, m.db, `INSERT INTO monitors (id, stream_url, callback_url, config, status, created_at, updated_at)
			SELECT 'mon-' || n, 'https://example.com/' || n, '', '{}', $1, now(), now() FROM (SELECT count(*) AS n FROM monitors) AS known`, status)
	}
	counts := func() (text string) {
		if err := m.db.QueryRowContext(t.Context(), `SELECT concat_ws(' ', completed, stopped, error) FROM ended_monitors`).Scan(&text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	m.migrateBefore("00036")
	for _, status := range []string{"completed", "completed", "stopped", "monitoring"} {
		add(status)
	}
	m.migrateBefore("00037")
	add("completed") // a gateway of the version before ends it
	if have := counts(); have != "1 0 0" {
		t.Errorf("counted are %s before the second migration", have)
	}
	if err := m.store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if have := counts(); have != "3 1 0" {
		t.Errorf("counted are %s, want 3 1 0", have)
	}

	t.Run("while one ends", func(t *testing.T) {
		alter(t, m.db, `UPDATE ended_monitors SET completed = 0, stopped = 0`)
		ending := must[*sql.Tx](t)(m.db.BeginTx(t.Context(), nil))
		defer func() { _ = ending.Rollback() }()
		if _, err := ending.ExecContext(t.Context(), `SET CONSTRAINTS ALL IMMEDIATE; UPDATE monitors SET status = 'stopped' WHERE status = 'monitoring'`); err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(must[[]byte](t)(migrations.FS.ReadFile("00037_ended_before.sql"))), "-- +goose Up")
		done := make(chan error, 1)
		go func() {
			_, err := m.db.ExecContext(t.Context(), text)
			done <- err
		}()
		eventually(t, "the migration waits for the end", func() bool {
			return countRows(t, m.db, `pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%missing%'`) == 1
		})
		if err := ending.Commit(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(patience):
			t.Fatal("the migration does not end")
		}
		if have, want := counts(), fmt.Sprint(3, 2, 0); have != want {
			t.Errorf("counted are %s, want %s", have, want)
		}
	})
}
