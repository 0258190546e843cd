package postgres_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// hourAgo is when the trouble of these tests begins: long enough ago to be resolved by
// the next sweep.
func hourAgo() time.Time { return time.Now().UTC().Add(-time.Hour).Truncate(time.Second) }

func trouble(name detector.Name, onset time.Time) event.Event {
	d := detector.Table[detector.Index(name)]
	return event.Event{ID: newID(), Type: event.Type(d.Alert), At: onset.Add(30 * time.Second),
		Data: event.Alert{DurationSec: 30, StartedAt: onset, ThresholdSec: 30}}
}

func recovery(name detector.Name, onset, end time.Time) event.Event {
	d := detector.Table[detector.Index(name)]
	return event.Event{ID: newID(), Type: event.Type(d.Recovered), At: end.Add(time.Second),
		Data: event.Recovered{StartedAt: onset, RecoveredAt: end}}
}

func outage(onset time.Time) event.Event {
	return event.Event{ID: newID(), Type: event.SegmentError, At: onset.Add(time.Minute),
		Data: event.Outage{StartedAt: onset, DurationSec: 60, ThresholdSec: 60, Failure: event.FailedStalled}}
}

// listIncidents reads the incidents of a monitor, newest first.
func listIncidents(t testing.TB, s *postgres.Store, id monitor.ID) []incidents.Incident {
	t.Helper()
	return must(s.ListIncidents(t.Context(), incidents.Filter{MonitorID: id, Limit: 100}))(t)
}

func onlyIncident(t testing.TB, s *postgres.Store, id monitor.ID) incidents.Incident {
	t.Helper()
	all := listIncidents(t, s, id)
	if len(all) != 1 {
		t.Fatalf("%d incidents, want 1: %+v", len(all), all)
	}
	return all[0]
}

// expectIncident fails the test unless the only incident of a monitor has this state and these conditions.
func expectIncident(t testing.TB, s *postgres.Store, id monitor.ID, state incident.State, shown string) {
	t.Helper()
	if i := onlyIncident(t, s, id); i.State != state || conditions(i) != shown {
		t.Errorf("the incident is %s, %s; want %s, %s", i.State, conditions(i), state, shown)
	}
}

func sweepIncidents(t testing.TB, s *postgres.Store) {
	t.Helper()
	check(t, incidents.NewService(s).Sweep(t.Context()))
}

// conditions are those of an incident in short: "+" lasts, "-" has ended.
func conditions(i incidents.Incident) string {
	var words []string
	for _, c := range i.Conditions {
		word := string(c.Name) + "-"
		if c.Lasts() {
			word = string(c.Name) + "+"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestAnIncidentIsStoredWithTheReportsThatMakeIt(t *testing.T) {
	onset := hourAgo()
	dsn := database(t)
	s, second, db := open(t, dsn), open(t, dsn), raw(t, dsn)
	begin := registering(t, s)
	t.Run("black and silent together are one incident, resolved by a sweep of another gateway", func(t *testing.T) {
		m := begin()
		bad := report(trouble(detector.Blackout, onset), trouble(detector.Silence, onset))
		acceptReport(t, s, m.ID, bad, monitor.Run)
		acceptReport(t, second, m.ID, bad, monitor.Run) // its answer was lost
		i := onlyIncident(t, second, m.ID)
		if conditions(i) != "black+ silent+" || i.State != incident.Open || !i.StartedAt.Equal(onset) || !i.OpenedAt.Equal(onset.Add(30*time.Second)) {
			t.Errorf("the incident is %+v", i)
		}
		sweepIncidents(t, second)
		end := onset.Add(40 * time.Second)
		acceptReport(t, s, m.ID, report(recovery(detector.Blackout, onset, end), recovery(detector.Silence, onset, end)), monitor.Run)
		sweepIncidents(t, second)
		i, log, err := second.GetIncident(t.Context(), i.ID)
		if err != nil || i.State != incident.Resolved || conditions(i) != "black- silent-" || !i.ResolvedAt.Equal(end.Add(time.Second+time.Minute)) {
			t.Errorf("the incident is %+v, %v", i, err)
		}
		if len(log) != 4 || log[0].Kind != incident.WasOpened || log[1].Severity != 2 || log[2].Severity != 3 || log[3].Kind != incident.WasResolved || log[3].Severity != 0 {
			t.Errorf("its log is %+v", log)
		}
		expect(t, "an incident is due after the resolution", must(s.SweepIncidents(t.Context(), 1))(t), false)
	})

	t.Run("a worker's clock that is 38 minutes behind makes no trouble old", func(t *testing.T) {
		m := begin()
		behind := time.Now().UTC().Add(-38 * time.Minute)
		sent := report(trouble(detector.Blackout, behind.Add(-30*time.Second)))
		sent.SentAt = behind
		acceptReport(t, s, m.ID, sent, monitor.Run)
		sweepIncidents(t, s)
		if i := onlyIncident(t, s, m.ID); i.Severity != 1 || time.Since(i.StartedAt) > 5*time.Minute {
			t.Errorf("the incident is %+v", i)
		}
	})

	t.Run("events name their incident", func(t *testing.T) {
		m := begin()
		acceptReport(t, s, m.ID, report(trouble(detector.Blackout, onset), recovery(detector.Blackout, onset, onset.Add(40*time.Second)),
			trouble(detector.Silence, onset.Add(30*time.Minute))), monitor.Run)
		all := listIncidents(t, s, m.ID)
		if len(all) != 2 || conditions(all[0]) != "silent+" || conditions(all[1]) != "black-" || all[1].State != incident.Resolved {
			t.Fatalf("the incidents are %+v", all)
		}
		expectRows(t, db, `monitor_events WHERE incident_id = $1`, 1, all[0].ID)
		expectRows(t, db, `monitor_events WHERE incident_id = $1`, 2, all[1].ID)
	})

	t.Run("events without trouble name no incident that was resolved before", func(t *testing.T) {
		m := begin()
		end := onset.Add(40 * time.Second)
		alert, recovered := trouble(detector.Blackout, onset), recovery(detector.Blackout, onset, end)
		acceptReport(t, s, m.ID, report(alert, recovered), monitor.Run)
		sweepIncidents(t, s)
		started := event.Event{ID: newID(), Type: event.StreamStarted, At: end.Add(30 * time.Minute), Data: event.Started{StartedAt: end.Add(30 * time.Minute)}}
		ended := event.Event{ID: newID(), Type: event.StreamEnded, At: time.Now(), Data: event.Ended{EndedAt: time.Now(), Reason: event.EndedByEndlist}}
		last := report(started, ended)
		last.Status, last.At = monitor.Completed, time.Now()
		acceptReport(t, s, m.ID, last, monitor.Stop)
		named := values[string](t, db, `SELECT id FROM monitor_events WHERE incident_id = $1 ORDER BY seq`, onlyIncident(t, s, m.ID).ID)
		expect(t, "events that name the incident", named, []string{alert.ID, recovered.ID})
	})

	t.Run("a signal ends an outage, and ends it once", func(t *testing.T) {
		m := begin()
		began := report(outage(onset))
		began.Signals = []monitor.Signal{{Condition: incident.NoMedia, StartedAt: onset}}
		acceptReport(t, s, m.ID, began, monitor.Run)
		if i := onlyIncident(t, s, m.ID); conditions(i) != "no_media+" || i.Severity != 2 {
			t.Errorf("the incident is %+v", i)
		}
		over := report()
		over.Signals = []monitor.Signal{{Condition: incident.NoMedia, StartedAt: onset, EndedAt: onset.Add(100 * time.Second)}}
		acceptReport(t, s, m.ID, over, monitor.Run)
		acceptReport(t, s, m.ID, over, monitor.Run)
		sweepIncidents(t, s)
		if i := onlyIncident(t, s, m.ID); i.State != incident.Resolved || i.Conditions[0].Longest != 100*time.Second {
			t.Errorf("the incident is %+v", i)
		}
	})
}

func TestTheEndOfAMonitorEndsItsIncident(t *testing.T) {
	onset := hourAgo()
	begin := func(t *testing.T) (*postgres.Store, monitor.Monitor) {
		s := open(t, database(t))
		m := registerWith(t, s, 1, trouble(detector.Blackout, onset))
		return s, getMonitor(t, s, m.ID)
	}
	t.Run("a stop resolves it, and events that came too late open none", func(t *testing.T) {
		s, m := begin(t)
		must(s.End(t.Context(), m.ID, monitor.Stopped, "", nil, time.Now()))(t)
		expectIncident(t, s, m.ID, incident.Resolved, "black-")
		acceptReport(t, s, m.ID, report(trouble(detector.Silence, onset.Add(time.Minute))), monitor.Stop)
		for _, i := range listIncidents(t, s, m.ID) {
			expect(t, "an incident after the end", i.State, incident.Resolved)
		}
	})
	t.Run("the end of the stream resolves it", func(t *testing.T) {
		s, m := begin(t)
		end := report(event.Event{ID: newID(), Type: event.StreamEnded, At: time.Now(), Data: event.Ended{EndedAt: time.Now(), Reason: event.EndedByEndlist}})
		end.Status, end.At = monitor.Completed, time.Now()
		acceptReport(t, s, m.ID, end, monitor.Stop)
		expectIncident(t, s, m.ID, incident.Resolved, "black-")
	})
	t.Run("a lost worker leaves an error until somebody acknowledges it", func(t *testing.T) {
		s, m := begin(t)
		last := monitorError(event.ReasonWorkerLost)
		last.At = time.Now()
		for range 2 { // the first answer was lost
			check(t, s.Fail(t.Context(), m, event.ReasonWorkerLost, last))
		}
		i := onlyIncident(t, s, m.ID)
		if sweepIncidents(t, s); conditions(i) != "black- error+" || i.State != incident.Open {
			t.Errorf("the incident is %+v", i)
		}
		must(s.ActOnIncident(t.Context(), i.ID, incidents.Action{OpID: "1", Kind: incident.Acknowledged, By: "ann"}))(t)
		if i := onlyIncident(t, s, m.ID); i.State != incident.Resolved || i.AcknowledgedBy != "ann" {
			t.Errorf("the incident is %+v", i)
		}
	})
	t.Run("a receiver that cannot be reached leaves an error", func(t *testing.T) {
		s, m := begin(t)
		recordAttempt(t, s, leaseOne(t, s), rejecting, failed)
		expectIncident(t, s, m.ID, incident.Open, "black- error+")
	})
}

// Two gateways store reports of one monitor, and sweep, at once. Each incident that has ended is resolved once.
func TestReportsAndSweepsOfTwoGatewaysResolveEachIncidentOnce(t *testing.T) {
	stores, db := newGateways(t)
	m := register(t, stores[0], 1)
	onset := hourAgo()
	atOnce(t, 4, func(n int) (err error) {
		for k := range 10 {
			at := onset.Add(time.Duration(n*10+k) * time.Minute)
			over := report(trouble(detector.Blackout, at), recovery(detector.Blackout, at, at.Add(35*time.Second)))
			err = errors.Join(err, errorOf(stores[n%2].Accept(t.Context(), m.ID, over)), errorOf(stores[(n+1)%2].SweepIncidents(t.Context(), 5)))
		}
		return err
	})
	sweepIncidents(t, stores[0])
	expectRows(t, db, `incidents WHERE state = 'open' AND due_at <= now()`, 0)
	expectRows(t, db, `(SELECT incident_id FROM incident_log GROUP BY incident_id HAVING count(*) FILTER (WHERE kind = 'resolved') <> 1 + count(*) FILTER (WHERE kind = 'reopened')) AS wrong
		JOIN incidents ON id = incident_id WHERE state = 'resolved'`, 0)
}

func TestAnAlertKeepsTheCriteriaOfItsMonitor(t *testing.T) {
	s := open(t, database(t))
	m := registration(1)
	m.Config.Set(detector.SilenceDB, -35.5)
	check(t, s.Insert(t.Context(), m, unlimited))
	silence := event.Event{
		ID: newID(), Type: event.Silence, At: noon.Add(31 * time.Second),
		Data: event.Alert{DurationSec: 31, StartedAt: noon, ThresholdSec: 30},
	}
	acceptReport(t, s, m.ID, report(silence), monitor.Run)
	a := onlyIncident(t, s, m.ID).Conditions[0].Alert
	if a == nil || a.EventID != silence.ID || a.DurationSec != 31 || a.ThresholdSec != 30 || !maps.Equal(a.Criteria, map[string]float64{"level_below_db": -35.5}) {
		t.Errorf("the alert is %+v", a)
	}
}
