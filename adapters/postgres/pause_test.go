package postgres_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// pause stores a pause until so long from now; 0: its end.
func pause(t testing.TB, s *postgres.Store, id monitor.ID, d time.Duration) monitor.Monitor {
	t.Helper()
	m := getMonitor(t, s, id)
	if m.Pause = (monitor.Pause{}); d > 0 {
		m.Pause = monitor.Pause{Until: time.Now().Add(d).UTC().Truncate(time.Millisecond), By: "Ann"}
	}
	return must(s.UpdateSettings(t.Context(), m, time.Time{}))(t)
}

// states writes the states of a lane in their order.
func states(h foundHistory, lane history.Lane) string {
	var all []history.State
	slices.SortFunc(h.Spans, func(a, b history.Span) int { return a.From.Compare(b.From) })
	for _, s := range append(h.Spans, history.Close(h.Current, time.Now())...) {
		if s.Lane == lane {
			all = append(all, s.State)
		}
	}
	return fmt.Sprint(all)
}

func TestAPauseIsRecordedBeforeTheWorkerHearsOfIt(t *testing.T) { // section 16.9
	s := open(t, database(t))
	onset := time.Now().Add(-80 * time.Second).UTC()
	m := register(t, s, 1)
	send := func(revision int, change func(*monitor.Report), events ...event.Event) {
		t.Helper()
		r := report(events...)
		r.At, r.SentAt, r.Revision = time.Now().UTC(), time.Now().UTC(), revision
		r.Health.Video = monitor.Black
		if change != nil {
			change(&r)
		}
		acceptReport(t, s, m.ID, r, monitor.Run)
	}
	blind := func(r *monitor.Report) {
		r.Health.Video, r.Health.Audio = monitor.Unknown, monitor.Unknown
		r.Visibility = &monitor.Visibility{BlindSince: onset, LastError: "x", Unseen: monitor.Unseen{Since: onset, Class: monitor.Refused}}
	}
	isPaused := func(lanes string) {
		t.Helper()
		stored := getMonitor(t, s, m.ID)
		if stored.Pause.By != "Ann" || stored.Status != monitor.Monitoring || stored.StreamStatus != monitor.StreamLive || stored.Health.Video != monitor.Unknown ||
			!stored.Visibility.BlindSince.IsZero() || stored.Visibility.LastError != "" {
			t.Errorf("the paused monitor is %+v", stored)
		}
		h := readHistory(t, s, m.ID, onset.Add(-time.Hour), onset.Add(time.Hour), 0)
		for lane, before := range map[history.Lane]string{history.Stream: "live", history.Video: "black", history.Audio: "ok", history.Segments: "ok"} {
			expect(t, string(lane), states(h, lane), fmt.Sprintf(lanes, before))
		}
		if c := must(s.ReadChecker(t.Context()))(t); c.Watched != 0 || c.Blind != 0 || c.Late != 0 {
			t.Errorf("a paused stream counts among those that are watched: %+v", c)
		}
	}
	send(0, nil, trouble(detector.Blackout, onset))
	expect(t, "the open incident", onlyIncident(t, s, m.ID).State, incident.Open)
	reported := getMonitor(t, s, m.ID).ReportedAt

	pause(t, s, m.ID, time.Hour)
	isPaused("[%s paused]")
	expect(t, "when the worker has reported", getMonitor(t, s, m.ID).ReportedAt, reported)
	if i := onlyIncident(t, s, m.ID); i.State != incident.Resolved || !i.ResolvedByPause || i.ResolvedBy != "Ann" || conditions(i) != "black-" {
		t.Errorf("the incident is %+v", i)
	}
	_, log, err := s.GetIncident(t.Context(), onlyIncident(t, s, m.ID).ID)
	if check(t, err); log[len(log)-1].Kind != incident.WasPaused {
		t.Errorf("its log is %+v", log)
	}
	made := time.Now().Add(-29 * time.Second)                                                       // its threshold is reached in the pause
	send(0, blind, recovery(detector.Blackout, onset, time.Now()), trouble(detector.Silence, made)) // the worker has not heard of it
	send(1, func(r *monitor.Report) { r.Paused = true }, trouble(detector.Silence, made))           // it has, and this had waited
	isPaused("[%s paused]")
	expect(t, "the incident in the pause", conditions(onlyIncident(t, s, m.ID)), "black-")
	events, _, err := s.Events(t.Context(), m.ID, 10, 0)
	if check(t, err); len(events) != 1 {
		t.Errorf("the events are %+v", events)
	}
	pause(t, s, m.ID, 2*time.Hour)
	isPaused("[%s paused]")

	if ended := pause(t, s, m.ID, 0); ended.Pause != (monitor.Pause{}) {
		t.Errorf("after its end the pause is %+v", ended.Pause)
	}
	send(2, func(r *monitor.Report) { *r = r.InPause(r.At) }) // the worker has not heard of the end
	h := readHistory(t, s, m.ID, onset.Add(-time.Hour), onset.Add(time.Hour), 0)
	expect(t, "the picture until the worker looks again", states(h, history.Video), "[black paused unknown]")
	send(3, nil, trouble(detector.Blackout, onset.Add(79*time.Second)))
	h = readHistory(t, s, m.ID, onset.Add(-time.Hour), onset.Add(time.Hour), 0)
	expect(t, "the picture", states(h, history.Video), "[black paused unknown black]")
	expect(t, "the incidents", len(must(s.ListIncidents(t.Context(), incidents.Filter{MonitorID: m.ID, State: incident.Open, Limit: 10}))(t)), 1)
	if c := must(s.ReadChecker(t.Context()))(t); c.Watched != 1 || c.Late != 0 {
		t.Errorf("the stream that is watched again counts as %+v", c)
	}
}

// TestAnAlertFromBeforeAPauseIsDelivered pauses a stream while its alert waits in the worker, whose report may have a later time.
func TestAnAlertFromBeforeAPauseIsDelivered(t *testing.T) { // section 16.9
	for name, c := range map[string]struct {
		made     time.Duration // before now
		revision int           // 1: the worker has heard of the pause
	}{"of a report from before": {50 * time.Second, 0}, "of a later report": {0, 0}, "after the worker has heard": {0, 1}} {
		t.Run(name, func(t *testing.T) {
			s := open(t, database(t))
			m := register(t, s, 1)
			onset := time.Now().Add(-80 * time.Second).UTC()
			r := report()
			r.At, r.SentAt = onset, onset
			acceptReport(t, s, m.ID, r, monitor.Run)
			pause(t, s, m.ID, time.Hour)
			inPause := time.Now()
			pause(t, s, m.ID, 2*time.Hour) // to move the end moves no beginning
			r = report(trouble(detector.Blackout, onset), trouble(detector.Silence, inPause.Add(-30*time.Second)))
			r.At, r.SentAt, r.Revision, r.Paused = time.Now().Add(-c.made).UTC(), time.Now().UTC(), 2*c.revision, c.revision > 0
			r.Health.Video = monitor.Black
			acceptReport(t, s, m.ID, r, monitor.Run)
			events, _, err := s.Events(t.Context(), m.ID, 10, 0)
			if check(t, err); len(events) != 1 || events[0].EventType != event.Blackout || events[0].Status != "pending" {
				t.Errorf("the events are %+v", events)
			}
			if i := onlyIncident(t, s, m.ID); i.State != incident.Resolved || !i.ResolvedByPause || i.ResolvedBy != "Ann" || conditions(i) != "black-" {
				t.Errorf("the incident is %+v", i)
			}
			expect(t, "the picture in the pause", getMonitor(t, s, m.ID).Health.Video, monitor.Unknown)
			h := readHistory(t, s, m.ID, onset.Add(-time.Hour), onset.Add(time.Hour), 0)
			expect(t, "its lane", states(h, history.Video), "[ok paused]")
		})
	}
}

// TestAChangeDoesNotRenewAPauseThatHasEnded changes labels of a monitor whose pause ends after they were read.
func TestAChangeDoesNotRenewAPauseThatHasEnded(t *testing.T) { // section 16.9
	s, db := newStore(t)
	m := register(t, s, 1)
	pause(t, s, m.ID, time.Hour)
	read := getMonitor(t, s, m.ID)
	read.Pause.Until = time.Now().Add(-time.Second).UTC().Truncate(time.Millisecond) // as if time had passed since
	alter(t, db, `UPDATE monitors SET paused_until = $1`, read.Pause.Until)
	onset := time.Now().Add(-30 * time.Second).UTC()
	r := report(trouble(detector.Blackout, onset))
	r.At, r.SentAt, r.Revision = time.Now().UTC(), time.Now().UTC(), read.Revision
	acceptReport(t, s, m.ID, r, monitor.Run)
	read.Labels = monitor.Labels{"team": "b"}
	changed := must(s.UpdateSettings(t.Context(), read, time.Time{}))(t)
	if changed.Pause != (monitor.Pause{}) || changed.Labels["team"] != "b" {
		t.Errorf("after the change the monitor is %+v", changed)
	}
	if i := onlyIncident(t, s, m.ID); i.State != incident.Open {
		t.Errorf("the incident is %+v", i)
	}
}

func TestAReservationIsPausedWithoutAWorker(t *testing.T) { // section 16.9
	s, _, m := newReservation(t, time.Hour)
	pause(t, s, m.ID, 30*time.Minute)
	read := func() foundHistory {
		return readHistory(t, s, m.ID, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), 0)
	}
	expect(t, "in the pause", states(read(), history.Stream), "[paused]")
	expect(t, "its status", getMonitor(t, s, m.ID).Status, monitor.Waiting)
	pause(t, s, m.ID, 0)
	expect(t, "after its end", states(read(), history.Stream), "[paused unknown]")
	pause(t, s, m.ID, time.Hour)
	requireCode(t, s.Insert(t.Context(), registration(1), unlimited), monitor.Duplicate)
	requireCode(t, s.Insert(t.Context(), registration(2), 1), monitor.MaxMonitorsExceeded)
	stopMonitor(t, s, m.ID)
	expect(t, "of an ended monitor", getMonitor(t, s, m.ID).Pause, monitor.Pause{})
}
