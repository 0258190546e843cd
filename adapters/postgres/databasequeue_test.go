package postgres_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
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
		if n := countRows(t, db, `deliveries WHERE monitor_id = '`+string(m.ID)+`' AND sequence IN (1, 2)`); n != 2 {
			t.Errorf("%d deliveries of events have the next numbers", n)
		}
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

func TestReportsThatArriveAtOnceAreAllAnswered(t *testing.T) {
	s, db := newStore(t)
	const monitors, each = 20, 10
	var all sync.WaitGroup
	for n := range monitors {
		m := register(t, s, n+1)
		all.Go(func() {
			for second := range each {
				if answer, err := s.Accept(t.Context(), m.ID, report(blackout(second))); err != nil || answer.Order != monitor.Run {
					t.Errorf("the answer is %+v, %v", answer, err)
				}
			}
		})
	}
	all.Wait()
	expectRows(t, db, `monitor_events`, monitors*each)
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
