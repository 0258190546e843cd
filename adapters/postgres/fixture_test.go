package postgres_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

var (
	tokyo = time.FixedZone("JST", 9*60*60)
	noon  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

const unlimited = 1000 // a maximum that no test reaches

// registration returns a new monitor of the stream with number n.
func registration(n int) monitor.Monitor {
	return monitor.Monitor{
		ID:           monitor.NewID(uuid.Must(uuid.NewV7())),
		StreamURL:    monitor.StreamURL(fmt.Sprintf("https://www.youtube.com/watch?v=%011d", n)),
		CallbackURL:  "https://example.com/hook",
		Config:       monitor.DefaultConfig(),
		Metadata:     json.RawMessage(`{"b":1, "a":"<配信>"}`),
		Labels:       monitor.Labels{"team": "x", "show": "<朝>"},
		Status:       monitor.Initializing,
		StreamStatus: monitor.StreamUnknown,
		Health:       monitor.Health{Video: monitor.Unknown, Audio: monitor.Unknown},
		Generation:   1,
		CreatedAt:    noon,
		UpdatedAt:    noon,
	}
}

func register(t testing.TB, s *postgres.Store, n int) monitor.Monitor {
	t.Helper()
	m := registration(n)
	check(t, s.Insert(t.Context(), m, unlimited))
	return m
}

// registering returns a function that registers a monitor of another stream each time.
func registering(t *testing.T, s *postgres.Store) func() monitor.Monitor {
	registered := 0
	return func() monitor.Monitor {
		registered++
		return register(t, s, registered)
	}
}

// blackout returns an alert at the given second after noon.
func blackout(second int) event.Event {
	at := noon.Add(time.Duration(second) * time.Second)
	return event.Event{
		ID: uuid.Must(uuid.NewV7()).String(), Type: event.Blackout, At: at,
		Data: event.Alert{DurationSec: 30, StartedAt: at.Add(-30 * time.Second), ThresholdSec: 30},
	}
}

// monitorError returns a monitor.error event that ends its monitor.
func monitorError(reason string) event.Event {
	return event.Event{
		ID: uuid.Must(uuid.NewV7()).String(), Type: event.MonitorError, At: noon,
		Data: event.MonitorFailure{Reason: reason, ErrorDetails: "the details", Terminal: true},
	}
}

// report returns the report of a worker of generation 1 that watches.
func report(events ...event.Event) monitor.Report {
	return monitor.Report{
		Generation: 1, At: noon, Status: monitor.Monitoring, StreamStatus: monitor.StreamLive,
		Health:     monitor.Health{Video: monitor.OK, Audio: monitor.OK, LastCheckAt: noon},
		Statistics: monitor.Statistics{TotalSegmentsAnalyzed: 5}.With(detector.Blackout, 1),
		Events:     events, Snapshot: json.RawMessage(`{"mode": "monitoring"}`),
	}
}

func acceptReport(t testing.TB, s *postgres.Store, id monitor.ID, r monitor.Report, want monitor.Order) {
	t.Helper()
	require(t, "the order", must(s.Accept(t.Context(), id, r))(t).Order, want)
}

func registerWith(t testing.TB, s *postgres.Store, n int, events ...event.Event) monitor.Monitor {
	t.Helper()
	m := register(t, s, n)
	acceptReport(t, s, m.ID, report(events...), monitor.Run)
	return m
}

func lease(t testing.TB, s *postgres.Store) []delivery.Delivery {
	t.Helper()
	return must(s.Lease(t.Context(), 10, time.Minute))(t).Deliveries
}

func expectNoneLeased(t testing.TB, s *postgres.Store) {
	t.Helper()
	if leased := lease(t, s); len(leased) != 0 {
		t.Fatalf("leased %+v", leased)
	}
}

func leaseOne(t testing.TB, s *postgres.Store) delivery.Delivery {
	t.Helper()
	deliveries := lease(t, s)
	if len(deliveries) != 1 {
		t.Fatalf("%d deliveries leased, want 1", len(deliveries))
	}
	return deliveries[0]
}

var (
	accepting = event.Attempt{At: noon, Status: 200}
	rejecting = event.Attempt{At: noon, Status: 500, Error: "HTTP 500"}
	sent      = notify.Decision{Delivered: true}
	failed    = notify.Decision{Failed: true, EndMonitor: true} // the last attempt at a callback
)

// recordAttempt stores an attempt and returns the monitor that it ended.
func recordAttempt(t testing.TB, s *postgres.Store, d delivery.Delivery, a event.Attempt, decision notify.Decision) monitor.ID {
	t.Helper()
	return must(s.Record(t.Context(), d, outcomeOf(a, decision)))(t).EndedMonitor
}

func outcomeOf(a event.Attempt, decision notify.Decision) delivery.Outcome {
	class := notify.Retry
	if decision.Delivered {
		class = notify.NoFailure
	}
	return delivery.Outcome{Decision: decision, Result: message.Result{Attempt: a, Class: class}}
}

func getMonitor(t testing.TB, s *postgres.Store, id monitor.ID) monitor.Monitor {
	t.Helper()
	return must(s.Get(t.Context(), id))(t)
}

// expectEnd fails the test unless a monitor has ended at noon with this status and reason.
func expectEnd(t testing.TB, s *postgres.Store, id monitor.ID, status monitor.Status, reason string) {
	t.Helper()
	if m := getMonitor(t, s, id); m.Status != status || m.Reason != reason || !m.EndedAt.Equal(noon) {
		t.Errorf("it stands at %s, %q, ended %v; want %s, %q", m.Status, m.Reason, m.EndedAt, status, reason)
	}
}

func stopMonitor(t testing.TB, s *postgres.Store, id monitor.ID) {
	t.Helper()
	must(s.End(t.Context(), id, monitor.Stopped, "", nil, noon))(t)
}

func requireCode(t testing.TB, err error, code monitor.Code) *monitor.Error {
	t.Helper()
	var e *monitor.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("the error is %v, want %s", err, code)
	}
	return e
}
