package postgres_test

import (
	"fmt"
	"testing"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestEventsAndIncidentsAreSubjectsOfRoutes(t *testing.T) { // section 19.2
	s := open(t, database(t))
	r := registration(1)
	r.Metadata = []byte(`{"labels": {"team": "a"}, "n": 7}`)
	check(t, s.Insert(t.Context(), r, 10))
	black := trouble(detector.Blackout, hourAgo())
	started := event.Event{ID: newID(), Type: event.StreamStarted, At: hourAgo(), Data: event.Started{StartedAt: hourAgo(), DetectedAt: hourAgo()}}
	acceptReport(t, s, r.ID, report(started, black), monitor.Run)
	i := onlyIncident(t, s, r.ID)

	describe := func(subject notify.Subject, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintln(subject.EventType, subject.EventID, subject.IncidentID, subject.Conditions, subject.Severity, subject.MonitorID, subject.Metadata)
	}
	metadata := map[string]string{"labels.team": "a", "n": "7"}
	if got, want := describe(s.EventSubject(t.Context(), black.ID)), fmt.Sprintln("alert.blackout", black.ID, i.ID, "[black]", i.Severity, r.ID, metadata); got != want {
		t.Errorf("the alert is %s, want %s", got, want)
	}
	if got, want := describe(s.EventSubject(t.Context(), started.ID)), fmt.Sprintln("stream.started", started.ID, "", "[]", 0, r.ID, metadata); got != want {
		t.Errorf("the start is %s, want %s", got, want)
	}
	if got, want := describe(s.IncidentSubject(t.Context(), i.ID)), fmt.Sprintln(event.Type(""), "", i.ID, "[black]", i.Severity, r.ID, metadata); got != want {
		t.Errorf("the incident is %s, want %s", got, want)
	}
	open, err := s.OpenSubjects(t.Context())
	if err != nil || len(open) != 1 || open[0].IncidentID != i.ID || open[0].Metadata["labels.team"] != "a" {
		t.Errorf("open are %+v, %v", open, err)
	}
	requireCode(t, errorOf(s.EventSubject(t.Context(), i.ID)), routing.EventNotFound)
	requireCode(t, errorOf(s.IncidentSubject(t.Context(), black.ID)), incident.NotFound)
}
