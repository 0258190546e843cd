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
	"github.com/stream-monitor/stream-monitor/domain/monitor"
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
		expect(t, what+": something is due", must(s.Record(t.Context(), d, o))(t).Due, due)
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
	return must(s.Deliveries(t.Context(), q))(t)
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
		if n == 0 {
			a = rejecting
		}
		a.At = noon.Add(time.Duration(n) * time.Second)
		recordAttempt(t, s, leaseOne(t, s), a, sent)
		check(t, s.Redeliver(t.Context(), m.ID, *deliveries(t, s, monitors.DeliveryQuery{})[0].EventID))
	}
	attempts := deliveries(t, s, monitors.DeliveryQuery{})[0].Attempts
	if len(attempts) != 20 || !attempts[19].At.Equal(noon.Add(24*time.Second)) || !attempts[0].At.Equal(noon.Add(time.Second)) || !attempts[1].At.Equal(noon.Add(6*time.Second)) {
		t.Errorf("%d attempts are kept, which are not the first success and the newest 19: %s", len(attempts), fmt.Sprint(attempts))
	}
}

func TestAnAttemptIsRecordedWithItsDecision(t *testing.T) {
	due := notify.Decision{RetryAt: time.Now()}

	t.Run("every attempt is stored, and a success makes the event sent", func(t *testing.T) {
		s := open(t, database(t))
		m := registerWith(t, s, 1, blackout(1))
		bad := rejecting
		bad.Error = "a\x00\xff" + string(make([]byte, 5000)) // what PostgreSQL does not store, and too long
		recordAttempt(t, s, leaseOne(t, s), bad, due)
		l := leaseOne(t, s)
		expect(t, "attempts before the second", l.Tried, 1)
		if rec := eventsOf(t, s, m.ID)[0]; rec.LastError == nil || len(*rec.LastError) > 1010 {
			t.Errorf("the record is %+v", rec)
		}
		second := accepting
		second.At = noon.Add(time.Second)
		recordAttempt(t, s, l, second, sent)
		rec := eventsOf(t, s, m.ID)[0]
		if rec.Status != "sent" || rec.SentAt == nil || len(rec.Attempts) != 2 || rec.Attempts[0].Status != 500 || rec.Attempts[1] != (event.Attempt{At: second.At, Status: 200}) {
			t.Errorf("the record is %+v", rec)
		}
	})

	t.Run("the last failure ends the monitor and its other pending events", func(t *testing.T) {
		s := open(t, database(t))
		m := registerWith(t, s, 1, blackout(1), blackout(2))
		l := leaseOne(t, s)
		other := registerWith(t, s, 2, blackout(3))
		expect(t, "the ended monitor", recordAttempt(t, s, l, rejecting, failed), m.ID)
		if m := getMonitor(t, s, m.ID); m.Status != monitor.Failed || m.Reason != event.ReasonCallbackFailed || m.EndedAt.IsZero() {
			t.Errorf("it stands at %s, %q, ended %v", m.Status, m.Reason, m.EndedAt)
		}
		for _, rec := range eventsOf(t, s, m.ID) {
			if rec.Status != "failed" || rec.LastError == nil {
				t.Errorf("the record is %+v", rec)
			}
		}
		expect(t, "the monitor of the leased event", leaseOne(t, s).Event.MonitorID, other.ID)
	})

	t.Run("a failure under an earlier lease changes nothing", func(t *testing.T) {
		for _, v := range []notify.Decision{due, failed} {
			s, db := newStore(t)
			m := registerWith(t, s, 1, blackout(1))
			late := leaseOne(t, s)
			pass(t, db, time.Minute) // the lease is over
			now := leaseOne(t, s)
			for _, isSent := range []bool{false, true} {
				if isSent {
					recordAttempt(t, s, now, accepting, sent)
				}
				expect(t, "the ended monitor", recordAttempt(t, s, late, rejecting, v), "")
				expectNoneLeased(t, s)
			}
			if rec := eventsOf(t, s, m.ID)[0]; rec.Status != "sent" || len(rec.Attempts) != 1 {
				t.Errorf("the record is %+v", rec)
			}
		}
	})

	t.Run("a failed last event of a completed monitor leaves it completed", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		final := report(blackout(1))
		final.Status = monitor.Completed
		acceptReport(t, s, m.ID, final, monitor.Stop)
		expect(t, "the ended monitor", recordAttempt(t, s, leaseOne(t, s), rejecting, failed), "")
		expect(t, "the status", getMonitor(t, s, m.ID).Status, monitor.Completed)
	})
}

// The dispatchers need not poll for what is due later.
func TestALeaseTellsWhenTheNextIsDue(t *testing.T) {
	s, db := newStore(t)
	leaseTells := func(what string, limit, want int, more bool, in time.Duration) {
		t.Helper()
		leased := must(s.Lease(t.Context(), limit, time.Minute))(t)
		var next time.Duration
		if !leased.NextAt.IsZero() {
			next = time.Until(leased.NextAt).Round(10 * time.Second)
		}
		if len(leased.Deliveries) != want || leased.More != more || !more && next != in {
			t.Errorf("%s: %d are leased, more: %t, the next is due in %v; want %d, %t, %v", what, len(leased.Deliveries), leased.More, next, want, more, in)
		}
	}
	leaseTells("without any", 10, 0, false, 0)
	m := registerWith(t, s, 1, blackout(1), blackout(2))
	recordAttempt(t, s, leaseOne(t, s), rejecting, notify.Decision{RetryAt: time.Now().Add(2 * time.Minute)})
	leaseTells("a retry at a callback, with another event behind it", 10, 0, false, 2*time.Minute)
	alter(t, db, `DELETE FROM deliveries WHERE monitor_id = $1`, m.ID)
	hook := addDestination(t, s, notify.Webhook, "hook")
	addNotices(t, db, hook, 3)
	leaseTells("as many as were asked for", 2, 2, true, 0)
	leaseTells("the last", 2, 1, false, time.Minute)
	alter(t, db, `UPDATE deliveries SET lease = NULL, due_at = now() + interval '20 seconds'`)
	leaseTells("a retry at a destination", 10, 0, false, 20*time.Second)
	alter(t, db, `UPDATE destinations SET enabled = false`)
	leaseTells("at a disabled destination", 10, 0, false, 0)
}

// later is the decision about an event on the long schedule (section 19.5).
func later(pause time.Duration) notify.Decision {
	return notify.Decision{RetryAt: time.Now().Add(pause), LeavesQueue: true}
}

// The event behind it is leased at once, and it when it is due. Its last failure ends no monitor.
func TestAnEventOnTheLongScheduleBlocksNothing(t *testing.T) { // section 19.5
	s, db := newStore(t)
	m := registration(1)
	m.Config.OnCallbackFailure = monitor.Continue
	check(t, s.Insert(t.Context(), m, unlimited))
	acceptReport(t, s, m.ID, report(blackout(1), blackout(2)), monitor.Run)
	first := leaseOne(t, s)
	expect(t, "the policy", first.Policy, notify.CallbackPolicy(monitor.Continue))
	recordAttempt(t, s, first, rejecting, later(8*time.Hour))
	expectRecord := func(status string, isLate bool) {
		t.Helper()
		if all := eventsOf(t, s, m.ID); all[0].Status != status || all[0].LongSchedule != isLate || all[1].LongSchedule {
			t.Errorf("the events are %+v", all)
		}
	}
	second := leaseOne(t, s)
	if second.ID == first.ID {
		t.Fatal("it was leased before its time")
	}
	recordAttempt(t, s, second, accepting, sent)
	if wait := time.Until(must(s.Lease(t.Context(), 10, time.Minute))(t).NextAt); wait < 7*time.Hour {
		t.Errorf("the next is due in %v", wait)
	}
	expectRecord("pending", true)
	pass(t, db, 8*time.Hour)
	again := leaseOne(t, s)
	if again.ID != first.ID || again.Tried != 1 {
		t.Errorf("leased %+v", again)
	}
	expect(t, "the ended monitor", recordAttempt(t, s, again, attempt("no"), notify.Decision{Failed: true}), "")
	expect(t, "the status", getMonitor(t, s, m.ID).Status, monitor.Monitoring)
	expectRecord("failed", false)
	check(t, s.Redeliver(t.Context(), m.ID, first.ID))
	expectRecord("pending", false)
}
