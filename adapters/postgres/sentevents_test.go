package postgres_test

import (
	"database/sql"
	"slices"
	"sync"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestSuccessesShareATransaction(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	for n := range 4 {
		acceptReport(t, s, register(t, s, n).ID, report(blackout(n)), monitor.Run)
	}
	leased := lease(t, s)
	stored, held := leased[0].EventID, leased[1].EventID
	recordAttempt(t, s, leased[0], accepting, sent)
	holder := must[*sql.Tx](t)(db.BeginTx(t.Context(), nil))
	defer func() { _ = holder.Rollback() }()
	if _, err := holder.ExecContext(t.Context(), `SELECT FROM monitor_events WHERE id = $1 FOR UPDATE`, held); err != nil {
		t.Fatal(err)
	}
	alone, err := s.RecordSentTogether(t.Context(), leased, accepting)
	if err != nil {
		t.Fatal(err)
	}
	if len(alone) != 2 || !slices.Contains(alone, stored) || !slices.Contains(alone, held) {
		t.Errorf("to be stored alone are %v, want %s and %s", alone, stored, held)
	}
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	recordAttempt(t, s, leased[1], accepting, sent)
	recordAttempt(t, s, leased[2], accepting, sent) // once more
	if n := countRows(t, db, `monitor_events WHERE webhook_status = 'sent' AND webhook_attempts = 1 AND jsonb_array_length(attempts) = 1 AND lease IS NULL`); n != 4 {
		t.Errorf("%d of 4 events were sent with one attempt", n)
	}
	if n := countRows(t, db, `(SELECT DISTINCT xmin FROM monitor_events) AS transactions`); n != 3 {
		t.Errorf("%d transactions have stored the successes, want 3", n)
	}
	if n := countRows(t, db, `feed WHERE type = 'delivery.updated' AND CAST(data AS jsonb)->>'webhook_status' = 'sent'`); n != 4 {
		t.Errorf("the feed has %d successes, want 4", n)
	}
}

// While the first transactions wait for the feed, the other successes gather.
func TestSuccessesThatComeAtOnceTakeFewTransactions(t *testing.T) {
	const events = 20
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	for n := range events {
		acceptReport(t, s, register(t, s, n).ID, report(blackout(n)), monitor.Run)
	}
	leased := leaseUpTo(t, s, events)
	holder := must[*sql.Tx](t)(db.BeginTx(t.Context(), nil))
	defer func() { _ = holder.Rollback() }()
	if _, err := holder.ExecContext(t.Context(), `SELECT FROM feed_head FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	var recording sync.WaitGroup
	for _, l := range leased {
		recording.Go(func() {
			if _, err := s.Outbox.RecordAttempt(t.Context(), l, accepting, sent); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "all successes are in the queue", func() bool { return s.QueuedSuccesses() == events })
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	recording.Wait()
	if n := countRows(t, db, `monitor_events WHERE webhook_status = 'sent'`); n != events {
		t.Errorf("%d events were sent, of %d", n, events)
	}
	if n := countRows(t, db, `(SELECT DISTINCT xmin FROM monitor_events) AS transactions`); n > 3 {
		t.Errorf("%d transactions have stored the successes, want at most 3", n)
	}
}
