package postgres_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestEventsAreListedNewestFirst(t *testing.T) {
	s := open(t, database(t))
	var stored []event.Event
	for second := range 4 {
		stored = append(stored, blackout(second))
	}
	m := registerWith(t, s, 1, stored...)
	slices.Reverse(stored)
	for offset := range 7 {
		for limit := 1; limit < 6; limit++ {
			page, total, err := s.Events(t.Context(), m.ID, limit, offset)
			if err != nil || total != 4 || len(page) != max(min(limit, 4-offset), 0) {
				t.Errorf("%d from %d: %d events of %d, %v", limit, offset, len(page), total, err)
			}
			for n, rec := range page {
				if e := stored[offset+n]; rec.EventID != e.ID || rec.Status != "pending" || rec.EventType != e.Type || !rec.CreatedAt.Equal(e.At) || rec.SentAt != nil {
					t.Errorf("%d from %d: record %d is %+v", limit, offset, n, rec)
				}
			}
		}
		_, _, err := s.Events(t.Context(), registration(2).ID, 10, offset)
		requireCode(t, err, monitor.NotFound)
	}
}

func TestRedeliverMakesAnEventPendingAgain(t *testing.T) {
	t.Run("with a fresh count and its attempts kept, at the end of the queue", func(t *testing.T) {
		s := open(t, database(t))
		first, second := blackout(1), blackout(2)
		m := registerWith(t, s, 1, first, second)
		recordAttempt(t, s, leaseOne(t, s), accepting, sent)
		out := leaseOne(t, s)
		for _, id := range []string{first.ID, second.ID} { // the second is pending, and stays as it is
			check(t, s.Redeliver(t.Context(), m.ID, id))
		}
		expectNoneLeased(t, s)
		recordAttempt(t, s, out, accepting, sent)
		if l := leaseOne(t, s); l.ID != first.ID || l.Tried != 0 {
			t.Errorf("leased %+v, want %s", l, first.ID)
		}
		if again := eventsOf(t, s, m.ID)[0]; len(again.Attempts) != 1 || again.SentAt != nil {
			t.Errorf("the record is %+v", again)
		}
	})

	t.Run("the monitor stays ended", func(t *testing.T) {
		s := open(t, database(t))
		e := blackout(1)
		m := registerWith(t, s, 1, e)
		recordAttempt(t, s, leaseOne(t, s), rejecting, failed)
		check(t, s.Redeliver(t.Context(), m.ID, e.ID))
		recordAttempt(t, s, leaseOne(t, s), accepting, sent)
		expect(t, "the status", getMonitor(t, s, m.ID).Status, monitor.Failed)
	})

	t.Run("an event of another monitor, of none, or with no such id is not found", func(t *testing.T) {
		s := open(t, database(t))
		e, other := blackout(1), register(t, s, 2)
		m := registerWith(t, s, 1, e)
		requireCode(t, s.Redeliver(t.Context(), other.ID, e.ID), monitor.NotFound)
		requireCode(t, s.Redeliver(t.Context(), registration(3).ID, e.ID), monitor.NotFound)
		requireCode(t, s.Redeliver(t.Context(), m.ID, uuid.NewString()), monitor.NotFound)
		requireCode(t, s.Redeliver(t.Context(), m.ID, "../../etc"), monitor.NotFound)
	})
}

func TestARecoveryFindsItsOwnAlert(t *testing.T) { // section 16.2
	s, db := newStore(t)
	m := register(t, s, 1)
	onset := hourAgo()
	first, second := trouble(detector.Blackout, onset), trouble(detector.Blackout, onset.Add(10*time.Minute))
	firstEnd := recovery(detector.Blackout, onset, onset.Add(time.Minute))
	lost := recovery(detector.Blackout, onset.Add(-time.Hour), onset.Add(-30*time.Minute))
	acceptReport(t, s, m.ID, report(lost, first, firstEnd, trouble(detector.Silence, onset), second), "run")
	for id, want := range map[string]string{firstEnd.ID: first.ID, lost.ID: ""} {
		expect(t, "the alert of a recovery", must(s.AlertOf(t.Context(), id, event.Blackout))(t), want)
	}
	alter(t, db, `UPDATE monitor_events SET created_at = now() - interval '90 seconds'`)
	if age := leaseOne(t, s).Age; age < 90*time.Second || age > 2*time.Minute {
		t.Errorf("an event of 90 s has the age %v", age)
	}
}

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
		check(t, err)
		return fmt.Sprintln(subject.EventType, subject.EventID, subject.IncidentID, subject.Conditions, subject.Severity, subject.MonitorID, subject.Metadata, subject.Labels)
	}
	metadata := map[string]string{"labels.team": "a", "n": "7"}
	expect(t, "the alert", describe(s.EventSubject(t.Context(), black.ID)), fmt.Sprintln("alert.blackout", black.ID, i.ID, "[black]", i.Severity, r.ID, metadata, r.Labels))
	expect(t, "the start", describe(s.EventSubject(t.Context(), started.ID)), fmt.Sprintln("stream.started", started.ID, "", "[]", 0, r.ID, metadata, r.Labels))
	expect(t, "the incident", describe(s.IncidentSubject(t.Context(), i.ID)), fmt.Sprintln(event.Type(""), "", i.ID, "[black]", i.Severity, r.ID, metadata, r.Labels))
	open, err := s.OpenSubjects(t.Context())
	if err != nil || len(open) != 1 || open[0].IncidentID != i.ID || open[0].Metadata["labels.team"] != "a" {
		t.Errorf("open are %+v, %v", open, err)
	}
	requireCode(t, errorOf(s.EventSubject(t.Context(), i.ID)), routing.EventNotFound)
	requireCode(t, errorOf(s.IncidentSubject(t.Context(), black.ID)), incident.NotFound)
}

func TestAStreamWithoutACallbackIsToldByRoutesAlone(t *testing.T) { // section 3.1
	s, db := newStore(t)
	hook := addDestination(t, s, notify.Webhook, "hook")
	m := registration(1)
	m.CallbackURL = ""
	check(t, s.Insert(t.Context(), m, unlimited))
	alert, other := blackout(1), blackout(2)
	acceptReport(t, s, m.ID, report(alert), monitor.Run)
	if got := lease(t, s); len(got) != 1 || got[0].Destination.ID != hook.ID {
		t.Errorf("leased %+v, want the event at its destination alone", got)
	}
	if got := eventsOf(t, s, m.ID); len(got) != 1 || got[0].Status != "none" || len(got[0].Attempts) != 0 {
		t.Errorf("the events are %+v", got)
	}
	requireCode(t, s.Redeliver(t.Context(), m.ID, alert.ID), monitor.InvalidConfig)

	with := registerWith(t, s, 2, other)
	with.CallbackURL = ""
	must(s.UpdateSettings(t.Context(), with, time.Time{}))(t)
	if got := eventsOf(t, s, with.ID); len(got) != 1 || got[0].Status != "none" {
		t.Errorf("after its callback is taken away the events are %+v", got)
	}
	for _, d := range lease(t, s) {
		if d.Callback != "" || d.Destination.ID == "" {
			t.Errorf("leased %+v", d)
		}
	}

	untold := func() bool { return must(s.Get(t.Context(), m.ID))(t).Untold }
	before := feedHead(t, s, db)
	if untold() {
		t.Error("nobody is told, though a route leads to a destination")
	}
	must(s.ChangeRoute(t.Context(), defaultRoute, func(r *notify.Route) error { r.Destinations = nil; return nil }))(t)
	if shown := feedSince(t, s, before); !untold() || len(shown) != 2 {
		t.Errorf("after the routes lead nowhere: untold is %t, the feed has %q, want both monitors", untold(), shown)
	}
}
