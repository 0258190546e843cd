package postgres_test

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The reads of a list do not grow with the monitors that it leaves out. At an offset it reads what
// it skips once, in monitors alone.
func TestAListReadsNoMonitorsThatItLeavesOut(t *testing.T) {
	const each, page = 500, 20 // the rows of a page of three and what is joined
	dsn := create(t, template)
	s, db := open(t, dsn), raw(t, dsn)
	registerMany(t, s, db, 2*each)
	alter(t, db, `UPDATE monitors SET status = 'completed', ended_at = now() WHERE id IN (SELECT id FROM monitors ORDER BY seq LIMIT $1)`, each)
	alter(t, db, `UPDATE monitors SET stream_status = 'live' WHERE id IN (SELECT id FROM monitors WHERE ended_at IS NULL ORDER BY seq LIMIT 10)`)
	alter(t, db, `UPDATE monitors SET health_video = 'black' WHERE id IN (SELECT id FROM monitors WHERE ended_at IS NULL ORDER BY seq OFFSET 20 LIMIT 10)`)
	alter(t, db, `INSERT INTO monitor_stats (monitor_id) SELECT id FROM monitors ON CONFLICT DO NOTHING`)
	alter(t, db, `VACUUM ANALYZE`)
	total := func(q registry.MonitorQuery) func(*postgres.Store) (int, error) {
		return func(s *postgres.Store) (int, error) {
			q.Limit = 3
			page, total, err := s.List(t.Context(), q)
			if len(page) != q.Limit {
				err = errors.Join(err, fmt.Errorf("the page has %d monitors", len(page)))
			}
			return total, err
		}
	}
	var hundredth int64 // of the completed monitors
	if err := db.QueryRowContext(t.Context(), `SELECT seq FROM monitors WHERE status = 'completed' ORDER BY seq OFFSET 99 LIMIT 1`).Scan(&hundredth); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		most int
		read func(*postgres.Store) (total int, err error)
		want int
	}{
		"the first page of monitors":       {page, total(registry.MonitorQuery{}), 2 * each},
		"a page of monitors at an offset":  {2*each + page, total(registry.MonitorQuery{Offset: 900}), 2 * each},
		"older monitors of a status":       {page, total(registry.MonitorQuery{Status: monitor.Completed}), each},
		"the same at an offset":            {2*each + page, total(registry.MonitorQuery{Status: monitor.Completed, Offset: 400}), each},
		"the same by a cursor":             {page, total(registry.MonitorQuery{Status: monitor.Completed, Before: hundredth}), each},
		"newer monitors of a status":       {page, total(registry.MonitorQuery{Status: monitor.Initializing}), each},
		"live monitors, older than others": {page, total(registry.MonitorQuery{Live: true}), 10},
		"monitors in trouble":              {4*10 + page, total(registry.MonitorQuery{Trouble: true}), 10}, // those in trouble twice, for the total too
		"how many monitors are active": {page, func(s *postgres.Store) (int, error) {
			_, active, err := s.ActiveStreams(t.Context(), []monitor.StreamURL{"https://example.com"})
			return active, err
		}, each},
	} {
		t.Run(name, func(t *testing.T) {
			n := increaseBy(t, dsn, rowsRead, func(s *postgres.Store) {
				if total, err := c.read(s); err != nil || total != c.want {
					t.Errorf("the total is %d, want %d (%v)", total, c.want, err)
				}
			})
			if n < 1 || n > c.most {
				t.Errorf("%d rows were read", n)
			}
		})
	}
}

// The state of the workers is read every 5 s. It reads no statistics and no monitor that has ended.
func TestTheStateOfTheWorkersReadsActiveMonitors(t *testing.T) {
	const ended = 1000
	dsn := create(t, template)
	s, db := open(t, dsn), raw(t, dsn)
	m := register(t, s, 2*ended)
	registerMany(t, s, db, ended)
	alter(t, db, `UPDATE monitors SET status = 'completed', ended_at = now() WHERE id <> $1`, m.ID)
	alter(t, db, `INSERT INTO monitor_stats (monitor_id) SELECT id FROM monitors ON CONFLICT DO NOTHING`)
	alter(t, db, `VACUUM ANALYZE`)
	n := increaseBy(t, dsn, rowsRead, func(s *postgres.Store) {
		if checker := must[feed.Checker](t)(s.ReadChecker(t.Context())); checker.Watched != 1 {
			t.Errorf("%d monitors are watched, want 1", checker.Watched)
		}
	})
	if n < 1 || n > 3 {
		t.Errorf("%d rows were read", n)
	}
}

// An offset in the history of a monitor skips entries of the index, not events.
func TestAPageOfEventsReadsNoEventThatItSkips(t *testing.T) {
	dsn := create(t, template)
	s, db := open(t, dsn), raw(t, dsn)
	m := register(t, s, 100)
	registerMany(t, s, db, 20)
	addEvents(t, db, "sent", 200)
	eventually(t, "the index alone tells which events are visible", func() bool {
		alter(t, db, `VACUUM ANALYZE monitor_events`)
		return countRows(t, db, `pg_class WHERE relname = 'monitor_events' AND relallvisible = relpages`) == 1
	})
	const pages = `SELECT heap_blks_hit + heap_blks_read FROM pg_statio_user_tables WHERE relname = 'monitor_events'`
	n := increaseBy(t, dsn, pages, func(s *postgres.Store) {
		page, total, err := s.Events(t.Context(), m.ID, 3, 150)
		if err != nil || len(page) != 3 || total != 200 {
			t.Errorf("%d events of %d, %v", len(page), total, err)
		}
	})
	if n < 1 || n > 20 {
		t.Errorf("%d pages were read", n)
	}
}

// rowsRead asks how many rows of tables and entries of indexes were read so far.
const rowsRead = `SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables) + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)`

// increaseBy returns by how much a store that does something increases a count of the statistics.
func increaseBy(t *testing.T, dsn, count string, do func(*postgres.Store)) int {
	t.Helper()
	db := raw(t, dsn)
	read := func() (n int) {
		t.Helper()
		reportReads(t, db)
		if err := db.QueryRowContext(t.Context(), count).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := read()
	s := must[*postgres.Store](t)(postgres.Open(t.Context(), dsn, postgres.Config{}))
	do(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return read() - before
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
	alter(t, db, `UPDATE monitors SET stream_status = 'live'`) // also of those that have ended
	alter(t, db, `UPDATE monitors SET status = 'waiting', stream_status = 'upcoming' WHERE id = (SELECT min(id) FROM monitors WHERE status = 'initializing')`)
	totals[monitor.Initializing], totals[monitor.Waiting] = 2, 1
	live := 2
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
		page, total, err := s.List(t.Context(), registry.MonitorQuery{Live: true, Limit: 1})
		if err != nil || total != live || len(page) != min(live, 1) {
			t.Errorf("live: %d monitors of %d, %v; want a total of %d", len(page), total, err, live)
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
		alter(t, db, `DELETE FROM monitors WHERE id = (SELECT min(id) FROM monitors WHERE status = 'initializing')`)
		alter(t, db, `UPDATE monitors SET status = 'monitoring' WHERE status = 'waiting'`)
		alter(t, db, `UPDATE monitors SET stream_status = 'live' WHERE status = 'monitoring'`)
		totals[""], totals[monitor.Initializing], totals[monitor.Waiting], totals[monitor.Monitoring] = 6, 1, 0, 1
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
