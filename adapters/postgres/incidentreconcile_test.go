package postgres_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/record"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// seen reports a state of picture and sound at a time.
func seen(t *testing.T, s *postgres.Store, id monitor.ID, at time.Time, video monitor.TrackHealth) {
	t.Helper()
	r := report()
	r.At, r.Status, r.StreamStatus = at, monitor.Monitoring, monitor.StreamLive
	r.Health = monitor.Health{Video: video, Audio: monitor.OK, LastCheckAt: at}
	acceptReport(t, s, id, r, monitor.Run)
}

func TestAnIncidentWhoseRecoveryWasLostIsResolved(t *testing.T) { // section 16.1
	s := open(t, database(t))
	m, other := register(t, s, 1), register(t, s, 2)
	began := time.Now().UTC().Add(-20 * time.Minute)
	for _, id := range []monitor.ID{m.ID, other.ID} {
		alert := report(trouble(detector.Blackout, began))
		alert.At, alert.Status, alert.Health.Video = began.Add(30*time.Second), monitor.Monitoring, monitor.Black
		acceptReport(t, s, id, alert, monitor.Run)
	}
	reconcile := record.NewIncidentReconcile(s, nil, nil)
	for sec := 40; sec <= 1190; sec += 10 { // the next worker does not know that it is black, and sees a good picture
		at := began.Add(time.Duration(sec) * time.Second)
		seen(t, s, m.ID, at, monitor.OK)
		seen(t, s, other.ID, at, monitor.Black)
	}
	sweepIncidents(t, s)
	if i := onlyIncident(t, s, m.ID); i.State != incident.Open {
		t.Fatalf("before it is reconciled the incident is %s", conditions(i))
	}
	for range 2 {
		if err := reconcile.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	i := onlyIncident(t, s, m.ID)
	if want := began.Add(40 * time.Second).Round(time.Microsecond); i.State != incident.Resolved || !i.Conditions[0].EndedAt.Equal(want) {
		t.Errorf("the incident is %s, %s, ended at %v, want resolved and %v", i.State, conditions(i), i.Conditions[0].EndedAt, want)
	}
	if i := onlyIncident(t, s, other.ID); i.State != incident.Open {
		t.Errorf("an incident whose picture is black is %s", i.State)
	}
}

func TestAnOperatorResolvesAnIncident(t *testing.T) { // section 16.1
	s := open(t, database(t))
	m := register(t, s, 1)
	acceptReport(t, s, m.ID, report(trouble(detector.Blackout, hourAgo())), monitor.Run)
	action := record.IncidentAction{OpID: "a", Kind: incident.WasResolved, By: "ann"}
	id := onlyIncident(t, s, m.ID).ID
	first, err := s.ActOnIncident(t.Context(), id, action)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.ActOnIncident(t.Context(), id, action)
	if err != nil || again != first || first.By != "ann" || first.Kind != incident.WasResolved {
		t.Errorf("the answers are %+v and %+v, %v", first, again, err)
	}
	i, log, err := s.GetIncident(t.Context(), id)
	if err != nil || i.State != incident.Resolved || len(log) != 3 {
		t.Errorf("the incident is %s with the log %+v, %v", i.State, log, err)
	}
}
