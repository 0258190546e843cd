package postgres_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// deliveries reads a page and fails the test unless it can.
func deliveries(t testing.TB, s *postgres.Store, q monitors.DeliveryQuery) []monitors.DeliveryRecord {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 50
	}
	page, err := s.Deliveries(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func TestADeliveryKeepsWhatWasSentAndAnswered(t *testing.T) {
	s := open(t, database(t))
	m := register(t, s, 1)
	acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
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

func TestDeliveriesAreFilteredAndPaged(t *testing.T) {
	s := open(t, database(t))
	first, second := register(t, s, 1), register(t, s, 2)
	twin := blackout(3) // in the same moment as another
	acceptReport(t, s, first.ID, report(blackout(1), blackout(3)), monitor.Run)
	acceptReport(t, s, second.ID, report(blackout(2), twin), monitor.Run)
	for _, l := range lease(t, s) {
		if l.Event.MonitorID == first.ID {
			recordAttempt(t, s, l, accepting, sent)
		}
	}
	recordAttempt(t, s, leaseOne(t, s), rejecting, failed) // the second of the first monitor
	all := deliveries(t, s, monitors.DeliveryQuery{})
	for _, c := range []struct {
		name string
		q    monitors.DeliveryQuery
		want int
	}{
		{"all", monitors.DeliveryQuery{}, 4},
		{"of a monitor", monitors.DeliveryQuery{MonitorID: second.ID}, 2},
		{"of an event", monitors.DeliveryQuery{EventID: twin.ID}, 1},
		{"of an incident", monitors.DeliveryQuery{IncidentID: *all[3].IncidentID}, 2},
		{"of another incident", monitors.DeliveryQuery{IncidentID: uuid.NewString()}, 0},
		{"pending", monitors.DeliveryQuery{State: monitors.DeliveryPending}, 2},
		{"delivered", monitors.DeliveryQuery{State: monitors.DeliveryDelivered}, 1},
		{"failed", monitors.DeliveryQuery{State: monitors.DeliveryFailed}, 1},
		{"of a monitor, failed", monitors.DeliveryQuery{MonitorID: second.ID, State: monitors.DeliveryFailed}, 0},
	} {
		got := deliveries(t, s, c.q)
		if len(got) != c.want {
			t.Errorf("%s: %d deliveries, want %d", c.name, len(got), c.want)
		}
		for n := range got[:max(len(got)-1, 0)] {
			if got[n].CreatedAt.Before(got[n+1].CreatedAt) {
				t.Errorf("%s: not the newest first", c.name)
			}
		}
	}
	var paged []monitors.DeliveryRecord
	q := monitors.DeliveryQuery{Limit: 1}
	for page := deliveries(t, s, q); len(page) > 0 && len(paged) < 9; page = deliveries(t, s, q) {
		paged = append(paged, page...)
		q.Before = monitors.DeliveryPlace{CreatedAt: page[0].CreatedAt, ID: page[0].ID()}
	}
	if eventIDsOf(paged) != eventIDsOf(all) {
		t.Errorf("the pages have %s, want %s", eventIDsOf(paged), eventIDsOf(all))
	}
}

func eventIDsOf(page []monitors.DeliveryRecord) (text string) {
	for _, d := range page {
		text += *d.EventID + " "
	}
	return text
}

func TestAnEventThatIsDeliveredAgainAndAgainDoesNotGrow(t *testing.T) {
	s := open(t, database(t))
	m := register(t, s, 1)
	acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
	for n := range 25 {
		a := accepting
		a.At = noon.Add(time.Duration(n) * time.Second)
		recordAttempt(t, s, leaseOne(t, s), a, sent)
		if err := s.Redeliver(t.Context(), m.ID, *deliveries(t, s, monitors.DeliveryQuery{})[0].EventID); err != nil {
			t.Fatal(err)
		}
	}
	attempts := deliveries(t, s, monitors.DeliveryQuery{})[0].Attempts
	if len(attempts) != 20 || !attempts[19].At.Equal(noon.Add(24*time.Second)) || !attempts[0].At.Equal(noon.Add(5*time.Second)) {
		t.Errorf("%d attempts are kept: %s", len(attempts), fmt.Sprint(attempts))
	}
}
