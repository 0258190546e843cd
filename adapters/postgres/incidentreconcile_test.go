package postgres_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
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
	reconcile := incidents.NewReconcile(s, nil, nil)
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
		check(t, reconcile.Run(t.Context()))
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
	m := registerWith(t, s, 1, trouble(detector.Blackout, hourAgo()))
	action := incidents.Action{OpID: "a", Kind: incident.WasResolved, By: "ann"}
	id := onlyIncident(t, s, m.ID).ID
	first := must(s.ActOnIncident(t.Context(), id, action))(t)
	again, err := s.ActOnIncident(t.Context(), id, action)
	if err != nil || again != first || first.By != "ann" || first.Kind != incident.WasResolved {
		t.Errorf("the answers are %+v and %+v, %v", first, again, err)
	}
	i, log, err := s.GetIncident(t.Context(), id)
	if err != nil || i.State != incident.Resolved || len(log) != 3 {
		t.Errorf("the incident is %s with the log %+v, %v", i.State, log, err)
	}
}

// isBlack reports a black picture as of now.
func isBlack(events ...event.Event) monitor.Report {
	r := report(events...)
	r.At, r.Status, r.StreamStatus = time.Now().UTC(), monitor.Monitoring, monitor.StreamLive
	r.Health = monitor.Health{Video: monitor.Black, Audio: monitor.OK, LastCheckAt: r.At}
	return r
}

// shownAsTrouble reports whether a monitor is in the list of trouble, and how its incident is in
// the state that begins the feed; empty: it is not.
func shownAsTrouble(t *testing.T, s *postgres.Store, id monitor.ID) (isListed bool, inFeed string) {
	t.Helper()
	page, total, err := s.List(t.Context(), monitors.MonitorQuery{Trouble: true, Limit: 1})
	if err != nil || total != len(page) {
		t.Fatalf("%d of %d monitors, %v", len(page), total, err)
	}
	state, _, err := s.ReadState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range state.Incidents {
		if i.MonitorID == id {
			inFeed = string(i.State)
		}
	}
	return len(page) > 0 && page[0].ID == id, inFeed
}

func TestWhatAPersonHasResolvedIsShownWhileItLasts(t *testing.T) { // section 16.1
	dsn := database(t)
	s, other := open(t, dsn), open(t, dsn)
	m, ended := register(t, s, 1), register(t, s, 2)
	acceptReport(t, s, ended.ID, isBlack(), monitor.Run)
	must(s.End(t.Context(), ended.ID, monitor.Stopped, "", nil, time.Now()))(t)
	onset := time.Now().UTC().Add(-time.Minute)
	acceptReport(t, s, m.ID, isBlack(trouble(detector.Blackout, onset)), monitor.Run)
	id := onlyIncident(t, s, m.ID).ID
	var wait sync.WaitGroup
	for n, gateway := range []*postgres.Store{s, other} {
		wait.Go(func() { // two people press at once
			if _, err := gateway.ActOnIncident(t.Context(), id, incidents.Action{OpID: fmt.Sprint(n), Kind: incident.WasResolved, By: "ann"}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	sweepIncidents(t, s)
	if i := onlyIncident(t, s, m.ID); i.State != incident.Resolved || i.ResolvedBy != "ann" || conditions(i) != "black+" {
		t.Fatalf("the incident is %s by %q, %s", i.State, i.ResolvedBy, conditions(i))
	}
	if isListed, inFeed := shownAsTrouble(t, s, m.ID); !isListed || inFeed != "resolved" {
		t.Errorf("in the list of trouble: %t; in the feed it is %q", isListed, inFeed)
	}

	alter(t, raw(t, dsn), `UPDATE incidents SET due_at = now(), conditions = jsonb_set(conditions, '{0,opens_at}', to_jsonb(now() - interval '1 second'))`)
	for range 2 {
		sweepIncidents(t, s)
		sweepIncidents(t, other)
	}
	all := listIncidents(t, s, m.ID)
	if len(all) != 2 || all[0].State != incident.Open || conditions(all[0]) != "black+" || !all[0].StartedAt.Equal(onset.Round(time.Microsecond)) || conditions(all[1]) != "black-" {
		t.Fatalf("after half an hour the incidents are %+v", all)
	}

	must(s.ActOnIncident(t.Context(), all[0].ID, incidents.Action{OpID: "c", Kind: incident.WasResolved, By: "bob"}))(t)
	acceptReport(t, s, m.ID, report(recovery(detector.Blackout, onset, time.Now().UTC())), monitor.Run)
	seen(t, s, m.ID, time.Now().UTC(), monitor.OK)
	if all = listIncidents(t, s, m.ID); len(all) != 2 || all[0].ResolvedBy != "bob" || conditions(all[0]) != "black-" {
		t.Errorf("after the recovery the incidents are %+v", all)
	}
	if isListed, inFeed := shownAsTrouble(t, s, m.ID); isListed || inFeed != "" {
		t.Errorf("after the recovery, in the list of trouble: %t; in the feed it is %q", isListed, inFeed)
	}
}

func TestAResolvedIncidentWhoseRecoveryWasLostEnds(t *testing.T) { // section 16.1
	s := open(t, database(t))
	m := register(t, s, 1)
	began := time.Now().UTC().Add(-20 * time.Minute)
	alert := report(trouble(detector.Blackout, began))
	alert.At, alert.Status, alert.Health.Video = began.Add(30*time.Second), monitor.Monitoring, monitor.Black
	acceptReport(t, s, m.ID, alert, monitor.Run)
	must(s.ActOnIncident(t.Context(), onlyIncident(t, s, m.ID).ID, incidents.Action{OpID: "a", Kind: incident.WasResolved, By: "ann"}))(t)
	for sec := 40; sec <= 1190; sec += 10 {
		seen(t, s, m.ID, began.Add(time.Duration(sec)*time.Second), monitor.OK)
	}
	check(t, incidents.NewReconcile(s, nil, nil).Run(t.Context()))
	if i := onlyIncident(t, s, m.ID); i.State != incident.Resolved || conditions(i) != "black-" {
		t.Errorf("the incident is %s, %s", i.State, conditions(i))
	}
}
