package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	if len(refused) != 1 || !errors.Is(refused[superseded.ID], monitor.ErrSuperseded) {
		t.Errorf("refused are %v", refused)
	}
	if len(alone) != 2 || !slices.Contains(alone, held.ID) || !slices.Contains(alone, unknown) {
		t.Errorf("to be stored alone are %v", alone)
	}
	expectRows(t, db, `(SELECT DISTINCT xmin FROM monitors WHERE reported_at IS NOT NULL) AS transactions`, 1)
	for _, m := range healthy {
		if i := onlyIncident(t, s, m.ID); conditions(i) != "black+ silent+" {
			t.Errorf("the incident has %q", conditions(i))
		}
		expectRows(t, db, `deliveries WHERE monitor_id = '`+string(m.ID)+`' AND sequence IN (1, 2)`, 2)
	}
	alter(t, db, `DELETE FROM deliveries WHERE event_id IS NOT NULL`)
	expectSent(t, s, "chief opened", "chief opened")
}

// The server refuses one of two reports. The other must be stored all the same.
func TestAReportThatIsRefusedFailsAlone(t *testing.T) {
	s := open(t, database(t))
	good, bad := register(t, s, 1), register(t, s, 2)
	refusedReport := report()
	refusedReport.Snapshot = []byte(`{"a": 1e999999}`)
	if _, alone := s.AcceptTogether(t.Context(), map[monitor.ID]monitor.Report{good.ID: report(blackout(1)), bad.ID: refusedReport}); len(alone) != 2 {
		t.Errorf("to be stored alone are %v", alone)
	}
	requireCode(t, errorOf(s.Accept(t.Context(), bad.ID, refusedReport)), monitor.InvalidConfig)
	acceptReport(t, s, good.ID, report(blackout(1)), monitor.Run)
}

func TestAPreparedStatementSurvivesAMigration(t *testing.T) {
	s, db := newStore(t)
	alter(t, db, `CREATE TABLE changing (a int)`)
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
	if n := proxied.exchanges.Load() - before; n != 1 {
		t.Errorf("a query takes %d exchanges, want 1", n)
	}
}

// takes is how long each transaction takes in these tests.
const takes = 5 * time.Millisecond

func TestWhatMayWaitSharesATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &postgres.GroupQueue{Store: func() { time.Sleep(takes) }}
		var all sync.WaitGroup
		slowest := make([]time.Duration, 1000)
		for n := range slowest { // 100 a second
			all.Go(func() {
				began := time.Now()
				if _, err := q.Add(t.Context(), fmt.Sprint(n), 500*time.Millisecond); err != nil {
					t.Error(err)
				}
				slowest[n] = time.Since(began)
			})
			time.Sleep(10 * time.Millisecond)
		}
		all.Wait()
		q.Close()
		if n := len(q.Groups()); n < 15 || n > 25 { // 10 s, two groups a second
			t.Errorf("%d groups, want about 20", n)
		}
		for n, took := range slowest {
			if took > 500*time.Millisecond+2*takes {
				t.Errorf("number %d waited %s", n, took)
			}
		}
	})
}

func TestWhatMayNotWaitIsStoredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &postgres.GroupQueue{Store: func() { time.Sleep(takes) }}
		var all sync.WaitGroup
		add := func(name string, wait, limit time.Duration) {
			all.Go(func() {
				began := time.Now()
				if _, err := q.Add(t.Context(), name, wait); err != nil || time.Since(began) > limit {
					t.Errorf("%s: %v after %s", name, err, time.Since(began))
				}
			})
			synctest.Wait()
		}
		add("patient", time.Second, 110*time.Millisecond)
		time.Sleep(100 * time.Millisecond)
		add("urgent", 0, takes) // it takes the patient one along
		add("late", time.Second, time.Second+takes)
		time.Sleep(10 * time.Millisecond)
		add("urgent again", 0, 2*takes)
		add("urgent", 0, 2*takes)
		all.Wait()
		q.Close()
		if got := fmt.Sprint(q.Groups()); got != "[[patient urgent] [late urgent again] [urgent]]" {
			t.Errorf("groups %s", got)
		}
	})
}

func TestAFullGroupDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &postgres.GroupQueue{Store: func() { time.Sleep(takes) }}
		began := time.Now()
		var all sync.WaitGroup
		for n := range 64 {
			all.Go(func() { _, _ = q.Add(t.Context(), fmt.Sprint(n), time.Minute) })
		}
		all.Wait()
		if took := time.Since(began); took != takes || len(q.Groups()) != 1 {
			t.Errorf("%d groups after %s", len(q.Groups()), took)
		}
	})
}

// Two items of one key are never stored at the same time. The second waits for the first
// without a run that asks over and over.
func TestItemsOfOneKeyFollowEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &postgres.GroupQueue{Store: func() { time.Sleep(time.Second) }}
		began := time.Now()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { _, _ = q.Add(t.Context(), "one", 0) })
			synctest.Wait()
		}
		all.Wait()
		if took := time.Since(began); took != 3*time.Second || len(q.Groups()) != 3 {
			t.Errorf("%d groups after %s", len(q.Groups()), took)
		}
	})
}

// The store of a gateway that stops is closed while calls may still come.
func TestNobodyWaitsInAQueueThatIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &postgres.GroupQueue{Store: func() { time.Sleep(takes) }}
		var all sync.WaitGroup
		add := func(name string, wait time.Duration) {
			all.Go(func() {
				if alone, err := q.Add(context.Background(), name, wait); err != nil || !alone {
					t.Errorf("%s: alone %t, %v", name, alone, err)
				}
			})
			synctest.Wait()
		}
		add("it waits for others", time.Hour)
		q.Close()
		add("it is due", 0)
		add("it may wait", time.Hour)
		all.Wait()
		if got := q.Groups(); len(got) != 0 {
			t.Errorf("groups %v after the end", got)
		}
	})
}
