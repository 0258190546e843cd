package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestReportsOfSeveralMonitorsShareATransaction(t *testing.T) {
	s, db := newStore(t)
	addDestination(t, s, notify.Webhook, "hook")
	addDestination(t, s, notify.Discord, "chief")
	healthy := []monitor.Monitor{register(t, s, 1), register(t, s, 2)}
	superseded, held := register(t, s, 4), register(t, s, 5)
	reports := map[monitor.ID]monitor.Report{}
	for _, m := range healthy {
		reports[m.ID] = report(trouble(detector.Blackout, justNow()), trouble(detector.Silence, justNow()))
	}
	old := report()
	old.Generation = 7
	unknown := monitor.NewID([16]byte{7: 7})
	reports[superseded.ID], reports[held.ID], reports[unknown] = old, report(), report()
	holding(t, db, `SELECT FROM monitors WHERE id = $1 FOR UPDATE`, held.ID)
	refused, alone := s.AcceptTogether(t.Context(), reports)
	expect(t, "refused reports", refused, map[monitor.ID]error{superseded.ID: monitor.ErrSuperseded})
	if len(alone) != 2 || !slices.Contains(alone, held.ID) || !slices.Contains(alone, unknown) {
		t.Errorf("to be stored alone are %v", alone)
	}
	expectRows(t, db, `(SELECT DISTINCT xmin FROM monitors WHERE reported_at IS NOT NULL) AS transactions`, 1)
	for _, m := range healthy {
		expect(t, "the incident", conditions(onlyIncident(t, s, m.ID)), "black+ silent+")
		expectRows(t, db, `deliveries WHERE monitor_id = '`+string(m.ID)+`' AND sequence IN (1, 2)`, 2)
	}
	alter(t, db, `DELETE FROM deliveries WHERE event_id IS NOT NULL`)
	expectSent(t, s, "chief opened", "chief opened")
}

func TestAPreparedStatementSurvivesAMigration(t *testing.T) {
	s, db := newStore(t)
	alter(t, db, `CREATE TABLE changing (a int)`)
	defer alter(t, db, `DROP TABLE changing`)
	read := func(tx *sqlx.Tx) error {
		rows, err := tx.QueryContext(t.Context(), `SELECT * FROM changing WHERE a = $1`, 1)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		return rows.Err()
	}
	for _, change := range []string{`ADD COLUMN b int`, `ALTER COLUMN a TYPE bigint`} {
		check(t, s.InTx(t.Context(), read))
		alter(t, db, `ALTER TABLE changing `+change)
		check(t, s.InTx(t.Context(), read))
	}
}

// A report with an event is stored at once, and takes along the one that waits.
func TestTheReportOfACalmStreamWaitsForOthers(t *testing.T) {
	s := must(postgres.Open(t.Context(), database(t), postgres.Config{ReportDelay: time.Hour}))(t)
	defer func() { _ = s.Close() }()
	calm, busy := register(t, s, 1), register(t, s, 2)
	stored := make(chan error, 1)
	go func() {
		_, err := s.Accept(t.Context(), calm.ID, report())
		stored <- err
	}()
	for second := 0; ; second++ { // the first may come before the calm one
		acceptReport(t, s, busy.ID, report(blackout(second)), monitor.Run)
		select {
		case err := <-stored:
			if err != nil || second > 1000 {
				t.Errorf("stored after %d reports of another monitor: %v", second+1, err)
			}
			end := report()
			end.Status = monitor.Completed
			acceptReport(t, s, calm.ID, end, monitor.Stop)
			return
		default:
		}
	}
}

func TestAQueryWithArgumentsIsOneExchange(t *testing.T) {
	proxied := startProxy(t, database(t))
	s := open(t, proxied.dsn)
	m := register(t, s, 1)
	before := proxied.exchanges.Load()
	getMonitor(t, s, m.ID)
	expect(t, "exchanges of a query", proxied.exchanges.Load()-before, 1)
}

// takes is how long each transaction takes in these tests.
const takes = 5 * time.Millisecond

func TestWhatMayWaitSharesATransaction(t *testing.T) {
	type item struct {
		at   time.Duration // when it comes
		name string
		wait time.Duration // how long it may wait
	}
	for name, c := range map[string]struct {
		items []item
		want  string // when which groups are stored
	}{
		"until the first may wait no longer": {
			[]item{{0, "a", 500 * time.Millisecond}, {400 * time.Millisecond, "b", 500 * time.Millisecond}, {600 * time.Millisecond, "c", 500 * time.Millisecond}},
			"500ms [a b], 1.1s [c]",
		},
		"what may not wait is stored at once, and takes along what waits": {
			[]item{{0, "patient", time.Second}, {100 * time.Millisecond, "urgent", 0}, {101 * time.Millisecond, "late", time.Second}, {110 * time.Millisecond, "again", 0}, {111 * time.Millisecond, "urgent", 0}},
			"100ms [patient urgent], 110ms [late again], 111ms [urgent]", // two groups at once
		},
		// The second waits for the first without a run that asks over and over.
		"items of one key follow each other": {[]item{{0, "one", 0}, {time.Millisecond, "one", 0}, {2 * time.Millisecond, "one", 0}}, "0s [one], 5ms [one], 10ms [one]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var mu sync.Mutex
				var stored []string
				q := &postgres.GroupQueue{}
				q.Store = func() {
					mu.Lock()
					groups := q.Groups()
					stored = append(stored, fmt.Sprint(time.Since(began), " ", groups[len(groups)-1]))
					mu.Unlock()
					time.Sleep(takes)
				}
				atOnce(t, len(c.items), func(i int) error {
					time.Sleep(c.items[i].at)
					return errorOf(q.Add(t.Context(), c.items[i].name, c.items[i].wait))
				})
				q.Close()
				expect(t, "the groups", strings.Join(stored, ", "), c.want)
			})
		})
	}
}

func TestAFullGroupDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &postgres.GroupQueue{Store: func() { time.Sleep(takes) }}
		began := time.Now()
		atOnce(t, 64, func(n int) error { return errorOf(q.Add(t.Context(), fmt.Sprint(n), time.Minute)) })
		expect(t, "the time", time.Since(began), takes)
		expectLen(t, "the groups", q.Groups(), 1)
	})
}

// The store of a gateway that stops is closed while calls may still come.
func TestNobodyWaitsInAQueueThatIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &postgres.GroupQueue{Store: func() {}}
		add := func(wait time.Duration) error {
			alone, err := q.Add(t.Context(), fmt.Sprint(wait), wait)
			expect(t, "it is to be stored alone", alone, true)
			return err
		}
		wait := inBackground(t, func() error { return add(time.Hour) }) // for others
		synctest.Wait()
		q.Close()
		wait()
		check(t, errors.Join(add(0), add(time.Hour)))
		expectLen(t, "groups after the end", q.Groups(), 0)
	})
}
