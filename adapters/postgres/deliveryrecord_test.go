package postgres_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/event"
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

// deliveries reads a page and fails the test unless it can.
func deliveries(t testing.TB, s *postgres.Store, q monitors.DeliveryQuery) []monitors.DeliveryRecord {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 50
	}
	page := must(s.Deliveries(t.Context(), q))(t)
	return page
}

func TestADeliveryKeepsWhatWasSentAndAnswered(t *testing.T) {
	s := open(t, database(t))
	m := registerWith(t, s, 1, blackout(1))
	refusal := rejecting
	refusal.Exchange = &event.Exchange{
		URL: "https://example.com/…", Header: map[string]string{"X-Signature-256": "sha256=ab"}, DurationMS: 7,
		Answer: &event.Answer{ContentType: "text/html", Body: "<b>\u2028 no</b>", Truncated: true},
	}
	l := leaseOne(t, s)
	recordAttempt(t, s, l, refusal, notify.Decision{RetryAt: time.Now().Add(30 * time.Second)})
	recordAttempt(t, s, l, refusal, notify.Decision{RetryAt: time.Now().Add(30 * time.Second)}) // its answer was lost
	page := deliveries(t, s, monitors.DeliveryQuery{})
	if len(page) != 1 || len(page[0].Attempts) != 1 || page[0].Attempts[0].Exchange == nil {
		t.Fatalf("the deliveries are %+v", page)
	}
	d := page[0]
	got := *d.Attempts[0].Exchange
	if !maps.Equal(got.Header, refusal.Exchange.Header) || *got.Answer != *refusal.Exchange.Answer || got.URL != refusal.Exchange.URL || got.DurationMS != 7 {
		t.Errorf("the exchange is %+v with %+v", got, got.Answer)
	}
	if d.State != monitors.DeliveryPending || d.Tried != 1 || time.Until(*d.NextAttemptAt) < 20*time.Second || d.Body != string(l.Event.Body) ||
		*d.MonitorID != m.ID || *d.StreamURL != m.StreamURL || d.IncidentID == nil || *d.LastError != "HTTP 500" {
		t.Errorf("the delivery is %+v", d)
	}
}

func TestAnEventThatIsDeliveredAgainAndAgainDoesNotGrow(t *testing.T) {
	s := open(t, database(t))
	m := registerWith(t, s, 1, blackout(1))
	for n := range 25 {
		a := accepting
		a.At = noon.Add(time.Duration(n) * time.Second)
		recordAttempt(t, s, leaseOne(t, s), a, sent)
		check(t, s.Redeliver(t.Context(), m.ID, *deliveries(t, s, monitors.DeliveryQuery{})[0].EventID))
	}
	attempts := deliveries(t, s, monitors.DeliveryQuery{})[0].Attempts
	if len(attempts) != 20 || !attempts[19].At.Equal(noon.Add(24*time.Second)) || !attempts[0].At.Equal(noon.Add(5*time.Second)) {
		t.Errorf("%d attempts are kept: %s", len(attempts), fmt.Sprint(attempts))
	}
}
