package postgres_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestSuccessesShareATransaction(t *testing.T) {
	s, db := newStore(t)
	for n := range 4 {
		registerWith(t, s, n, blackout(n))
	}
	leased := lease(t, s)
	stored, held := leased[0].ID, leased[1].ID
	recordAttempt(t, s, leased[0], accepting, sent)
	holder := holding(t, db, `SELECT FROM deliveries WHERE id = $1 FOR UPDATE`, held)
	alone := s.RecordTogether(t.Context(), leased, outcomeOf(accepting, sent))
	if len(alone) != 2 || !slices.Contains(alone, stored) || !slices.Contains(alone, held) {
		t.Errorf("to be stored alone are %v, want %s and %s", alone, stored, held)
	}
	check(t, holder.Rollback())
	recordAttempt(t, s, leased[1], accepting, sent)
	recordAttempt(t, s, leased[2], accepting, sent) // once more
	expectRows(t, db, `deliveries WHERE state = 'delivered' AND tried = 1 AND jsonb_array_length(attempts) = 1 AND lease IS NULL`, 4)
	expectRows(t, db, `monitor_events WHERE webhook_status = 'sent' AND webhook_attempts = 1 AND sent_at IS NOT NULL`, 4)
	expectRows(t, db, `(SELECT DISTINCT xmin FROM deliveries) AS transactions`, 3)
	numberFeed(t, s)
	expectRows(t, db, `feed WHERE type = 'delivery.updated' AND CAST(data AS jsonb)->>'webhook_status' = 'sent'`, 4)
}

// While the first transactions wait for the feed, the other successes gather.
func TestSuccessesThatComeAtOnceTakeFewTransactions(t *testing.T) {
	const events = 20
	s, db := newStore(t)
	for n := range events {
		registerWith(t, s, n, blackout(n))
	}
	leased := leaseUpTo(t, s, events)
	holder := holding(t, db, `LOCK TABLE feed_inbox IN SHARE MODE`)
	var recording sync.WaitGroup
	for _, l := range leased {
		recording.Go(func() {
			if _, err := s.Record(t.Context(), l, outcomeOf(accepting, sent)); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "all successes are in the queue", func() bool { return s.QueuedSuccesses() == events })
	check(t, holder.Rollback())
	recording.Wait()
	expectRows(t, db, `monitor_events WHERE webhook_status = 'sent'`, events)
	if n := countRows(t, db, `(SELECT DISTINCT xmin FROM monitor_events) AS transactions`); n > 3 {
		t.Errorf("%d transactions have stored the successes, want at most 3", n)
	}
}

// A dispatcher looks for more after an attempt only if that, or a lease before, says that there may be some.
func TestAnAttemptAndALeaseSayWhetherMoreMayBeDue(t *testing.T) {
	s, db := newStore(t)
	registerWith(t, s, 1, blackout(1), blackout(2))
	record := func(what string, d delivery.Delivery, o delivery.Outcome, due bool) {
		t.Helper()
		if recorded := must(s.Record(t.Context(), d, o))(t); recorded.Due != due {
			t.Errorf("%s: something is due: %t", what, recorded.Due)
		}
	}
	record("a success, with one behind it", leaseOne(t, s), delivered(), true)
	record("a failure that is tried again", leaseOne(t, s), retried(0), true)
	record("the last success", leaseOne(t, s), delivered(), false)

	hook := addDestination(t, s, notify.Webhook, "hook")
	waits := func(what string, deliveries int, waits bool) []delivery.Delivery {
		t.Helper()
		leased := must(s.Lease(t.Context(), 10, time.Minute))(t)
		if len(leased.Deliveries) != deliveries || leased.Waits != waits {
			t.Errorf("%s: %d are leased, more wait: %t", what, len(leased.Deliveries), leased.Waits)
		}
		return leased.Deliveries
	}
	addNotices(t, db, hook, notify.MaxPerDestination-1)
	waits("fewer than a destination gets at once", notify.MaxPerDestination-1, false)
	addNotices(t, db, hook, 2)
	last := waits("the last of what it gets", 1, true)
	waits("no more than that", 0, true)
	record("a success at a destination", last[0], delivered(), false)
	holder := holding(t, db, `SELECT FROM destinations WHERE id = $1 FOR NO KEY UPDATE`, hook.ID)
	waits("an attempt at it is being recorded", 0, true)
	check(t, holder.Rollback())
	waits("that is over", 1, true)
}
