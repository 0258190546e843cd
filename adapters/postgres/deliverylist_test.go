package postgres_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

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
