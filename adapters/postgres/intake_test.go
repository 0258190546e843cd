package postgres_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestAReportIsStoredInOneTransaction(t *testing.T) {
	t.Run("status, health, statistics, snapshot and events are stored", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		r := report(blackout(40))
		r.Health.Video = monitor.Black
		acceptReport(t, s, m.ID, r, monitor.Run)
		m = getMonitor(t, s, m.ID)
		if m.Status != monitor.Monitoring || m.StreamStatus != monitor.StreamLive || m.Health != r.Health || m.Statistics != r.Statistics {
			t.Errorf("it stands at %+v", m)
		}
		if string(m.Snapshot) != `{"mode": "monitoring"}` {
			t.Errorf("the snapshot is %s", m.Snapshot)
		}
		if l := leaseOne(t, s); l.Event.EventID != r.Events[0].ID || l.Event.EventType != event.Blackout || l.Event.MonitorID != m.ID || l.Callback != m.CallbackURL || l.Tried != 0 {
			t.Errorf("the delivery is %+v", l)
		}
	})

	t.Run("the body is the payload of section 4.2, in the server's zone, metadata untouched", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		e := blackout(40)
		acceptReport(t, s, m.ID, report(e), monitor.Run)
		want, err := event.NewPayload(e, string(m.ID), string(m.StreamURL), m.Metadata, tokyo).Encode()
		if err != nil {
			t.Fatal(err)
		}
		if body := leaseOne(t, s).Event.Body; string(body) != string(want) {
			t.Errorf("the body is\n%s, want\n%s", body, want)
		}
	})

	t.Run("a report delivered twice stores its events once", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		r := report(blackout(40), blackout(100))
		acceptReport(t, s, m.ID, r, monitor.Run)
		acceptReport(t, s, m.ID, r, monitor.Run)
		if _, total, err := s.Events(t.Context(), m.ID, 10, 0); err != nil || total != 2 {
			t.Errorf("%d events, %v", total, err)
		}
	})

	t.Run("statistics never go backwards", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(), monitor.Run)
		low := report()
		low.Statistics = monitor.Statistics{TotalSegmentsAnalyzed: 2}.With(detector.Silence, 3)
		low.Health.LastCheckAt = noon.Add(-time.Hour)
		acceptReport(t, s, m.ID, low, monitor.Run)
		m = getMonitor(t, s, m.ID)
		want := monitor.Statistics{TotalSegmentsAnalyzed: 5}.With(detector.Blackout, 1).With(detector.Silence, 3)
		if m.Statistics != want || !m.Health.LastCheckAt.Equal(noon) {
			t.Errorf("%+v checked at %v, want %+v", m.Statistics, m.Health.LastCheckAt, want)
		}
		low.Health.LastCheckAt = time.Time{}
		acceptReport(t, s, m.ID, low, monitor.Run)
		if m = getMonitor(t, s, m.ID); !m.Health.LastCheckAt.Equal(noon) {
			t.Errorf("a report without a check left %v, want %v", m.Health.LastCheckAt, noon)
		}
	})

	t.Run("blindness is kept until a report says that it is over", func(t *testing.T) { // decision S15
		s := open(t, database(t))
		m := register(t, s, 1)
		blind := monitorError(event.ReasonBlind)
		blind.Data = event.MonitorFailure{Reason: event.ReasonBlind, ErrorDetails: "DNS"}
		r := report(blackout(40), blind)
		r.Visibility = &monitor.Visibility{LastError: "DNS", BlindSince: noon.Add(-5 * time.Minute), LastObservedAt: noon.Add(-6 * time.Minute)}
		acceptReport(t, s, m.ID, r, monitor.Run)
		acceptReport(t, s, m.ID, report(), monitor.Run)
		if after := getMonitor(t, s, m.ID); after.Visibility != *r.Visibility {
			t.Errorf("visibility is %+v", after.Visibility)
		}
		resolved := func() (at *time.Time) {
			page, _, err := s.Events(t.Context(), m.ID, 10, 0)
			if err != nil || len(page) != 2 {
				t.Fatalf("%d events, %v", len(page), err)
			}
			for _, e := range page {
				if e.EventType == event.MonitorError {
					at = e.ResolvedAt
				} else if e.ResolvedAt != nil {
					t.Errorf("%s is resolved", e.EventType)
				}
			}
			return at
		}
		if at := resolved(); at != nil {
			t.Errorf("resolved at %v", at)
		}
		for minute := range 2 { // the second report does not move it
			r := report()
			r.Visibility = &monitor.Visibility{LastObservedAt: noon.Add(time.Duration(minute+1) * time.Minute)}
			acceptReport(t, s, m.ID, r, monitor.Run)
			if after := getMonitor(t, s, m.ID); after.Visibility != *r.Visibility {
				t.Errorf("visibility is %+v", after.Visibility)
			}
			if at := resolved(); at == nil || !at.Equal(noon.Add(time.Minute)) {
				t.Errorf("resolved at %v", at)
			}
		}
	})

	t.Run("a monitor that ends is no longer blind", func(t *testing.T) { // section 3.3
		s := open(t, database(t))
		m := register(t, s, 1)
		r := report()
		r.Visibility = &monitor.Visibility{LastError: "DNS", BlindSince: noon.Add(-5 * time.Minute), LastObservedAt: noon.Add(-6 * time.Minute)}
		acceptReport(t, s, m.ID, r, monitor.Run)
		if _, err := s.End(t.Context(), m.ID, monitor.Stopped, "", nil, noon); err != nil {
			t.Fatal(err)
		}
		if after := getMonitor(t, s, m.ID); !after.Visibility.BlindSince.IsZero() || after.Visibility.LastError != "DNS" {
			t.Errorf("visibility is %+v", after.Visibility)
		}
	})

	t.Run("alerts of a third detector are counted", func(t *testing.T) {
		s := open(t, database(t))
		detectortest.Add(t, detectortest.Imaginary)
		m := register(t, s, 1)
		for _, n := range []int{2, 5, 3, 0} {
			r := report()
			r.Statistics = r.Statistics.With("imaginary", n)
			acceptReport(t, s, m.ID, r, monitor.Run)
		}
		if n := getMonitor(t, s, m.ID).Statistics.Alerts("imaginary"); n != 5 {
			t.Errorf("%d alerts are stored, want the largest count, 5", n)
		}
	})

	t.Run("a report without a snapshot leaves the stored one", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(), monitor.Run)
		calm := report()
		calm.At, calm.Snapshot = noon.Add(time.Second), nil
		acceptReport(t, s, m.ID, calm, monitor.Run)
		if after := getMonitor(t, s, m.ID); string(after.Snapshot) != `{"mode": "monitoring"}` {
			t.Errorf("it left %s", after.Snapshot)
		}
	})

	t.Run("of an overtaken report only the events are stored", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		newer, older := report(), report(blackout(40))
		newer.At, newer.Snapshot = noon.Add(time.Second), []byte(`{"mode": "newer"}`)
		older.At, older.Health.Video = noon.Add(time.Second-time.Microsecond), monitor.Black
		acceptReport(t, s, m.ID, newer, monitor.Run)
		acceptReport(t, s, m.ID, older, monitor.Run)
		if after := getMonitor(t, s, m.ID); string(after.Snapshot) != string(newer.Snapshot) || after.Health.Video != newer.Health.Video {
			t.Errorf("it stands at %+v", after)
		}
		if _, total, err := s.Events(t.Context(), m.ID, 10, 0); err != nil || total != 1 {
			t.Errorf("%d events, %v", total, err)
		}
		again := newer
		again.Snapshot = []byte(`{"mode": "repeated"}`)
		acceptReport(t, s, m.ID, again, monitor.Run)
		if after := getMonitor(t, s, m.ID); string(after.Snapshot) != string(again.Snapshot) {
			t.Errorf("a repeated one left %s", after.Snapshot)
		}
	})

	t.Run("an overtaken report updates updated_at", func(t *testing.T) {
		dsn := database(t)
		s, db := open(t, dsn), raw(t, dsn)
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(), monitor.Run)
		alter(t, db, `UPDATE monitors SET updated_at = now() - interval '1 hour'`)
		older := report()
		older.At = noon.Add(-time.Second)
		acceptReport(t, s, m.ID, older, monitor.Run)
		if after := getMonitor(t, s, m.ID); time.Since(after.UpdatedAt) > time.Minute {
			t.Errorf("last heard of at %v", after.UpdatedAt)
		}
	})

	t.Run("an overtaken report still ends the monitor", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(), monitor.Run)
		end := report()
		end.At, end.Status = noon.Add(-time.Second), monitor.Completed
		acceptReport(t, s, m.ID, end, monitor.Stop)
		if after := getMonitor(t, s, m.ID); after.Status != monitor.Completed {
			t.Errorf("it is %s", after.Status)
		}
	})

	t.Run("a report is applied if its worker's clock was set back by an hour", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(), monitor.Run)
		end := report()
		end.At, end.Status = noon.Add(-time.Hour), monitor.Completed
		acceptReport(t, s, m.ID, end, monitor.Stop)
	})

	t.Run("a report of the next generation is applied although its clock is behind", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(), monitor.Run)
		if _, err := s.AdvanceGeneration(t.Context(), m.ID, m.Generation, "here"); err != nil {
			t.Fatal(err)
		}
		next := report()
		next.Generation, next.At, next.Snapshot = 2, noon.Add(-time.Hour), []byte(`{"mode": "next"}`)
		acceptReport(t, s, m.ID, next, monitor.Run)
		if after := getMonitor(t, s, m.ID); string(after.Snapshot) != string(next.Snapshot) {
			t.Errorf("its snapshot is %s", after.Snapshot)
		}
	})

	t.Run("omitted fields keep their values", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(), monitor.Run)
		before := getMonitor(t, s, m.ID)
		acceptReport(t, s, m.ID, monitor.Report{Generation: 1, At: noon}, monitor.Run)
		after := getMonitor(t, s, m.ID)
		if after.Status != before.Status || after.Health != before.Health || string(after.Snapshot) != string(before.Snapshot) {
			t.Errorf("before %+v, after %+v", before, after)
		}
	})

	t.Run("a status that may not follow is ignored, the rest is stored", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(), monitor.Run)
		back := report(blackout(40))
		back.Status = monitor.Waiting
		acceptReport(t, s, m.ID, back, monitor.Run)
		if m := getMonitor(t, s, m.ID); m.Status != monitor.Monitoring {
			t.Errorf("the status is %s", m.Status)
		}
		leaseOne(t, s)
	})

	t.Run("every report of a completed monitor is answered with stop", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		final := report(blackout(40))
		final.Status = monitor.Completed
		acceptReport(t, s, m.ID, final, monitor.Stop)
		acceptReport(t, s, m.ID, final, monitor.Stop)
		if m := getMonitor(t, s, m.ID); m.Status != monitor.Completed || !m.EndedAt.Equal(noon) {
			t.Errorf("it stands at %s, ended %v", m.Status, m.EndedAt)
		}
		leaseOne(t, s)
	})

	t.Run("a report with status error stores the reason of its last event", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		final := report(monitorError(event.ReasonVideoPrivate))
		final.Status = monitor.Failed
		acceptReport(t, s, m.ID, final, monitor.Stop)
		if m := getMonitor(t, s, m.ID); m.Status != monitor.Failed || m.Reason != event.ReasonVideoPrivate {
			t.Errorf("it stands at %s, %q", m.Status, m.Reason)
		}
	})

	t.Run("events of a stopped monitor are stored, and nothing else changes", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		if _, err := s.End(t.Context(), m.ID, monitor.Stopped, "", nil, noon); err != nil {
			t.Fatal(err)
		}
		acceptReport(t, s, m.ID, report(blackout(40)), monitor.Stop)
		m = getMonitor(t, s, m.ID)
		if m.Status != monitor.Stopped || m.Statistics != (monitor.Statistics{}) || m.Snapshot != nil {
			t.Errorf("it stands at %+v", m)
		}
		leaseOne(t, s)
	})

	t.Run("nothing is stored after the callback has failed", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(blackout(40)), monitor.Run)
		recordAttempt(t, s, leaseOne(t, s), rejecting, failed)
		acceptReport(t, s, m.ID, report(blackout(100)), monitor.Stop)
		if _, total, err := s.Events(t.Context(), m.ID, 10, 0); err != nil || total != 1 {
			t.Errorf("%d events, %v", total, err)
		}
	})

	t.Run("a report of an older generation is refused and not stored", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		if _, err := s.AdvanceGeneration(t.Context(), m.ID, m.Generation, "here"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Accept(t.Context(), m.ID, report(blackout(40))); !errors.Is(err, monitor.ErrSuperseded) {
			t.Errorf("the error is %v", err)
		}
		if m := getMonitor(t, s, m.ID); m.Status != monitor.Initializing {
			t.Errorf("the status is %s", m.Status)
		}
		if n := len(lease(t, s)); n != 0 {
			t.Errorf("%d events were stored", n)
		}
	})

	t.Run("an unknown monitor is not found", func(t *testing.T) {
		s := open(t, database(t))
		_, err := s.Accept(t.Context(), registration(1).ID, report())
		requireCode(t, err, monitor.NotFound)
	})

	t.Run("an event with a NUL is stored, its body unchanged", func(t *testing.T) {
		dsn := database(t)
		s := open(t, dsn)
		m := register(t, s, 1)
		e := monitorError(event.ReasonBlind)
		e.Data = event.MonitorFailure{Reason: event.ReasonBlind, ErrorDetails: "a\x00b C:\\u0000"}
		r := report(e)
		r.Snapshot = json.RawMessage(`{"said":"\u0000"}`)
		acceptReport(t, s, m.ID, r, monitor.Run)
		var p struct {
			Data event.MonitorFailure `json:"data"`
		}
		if err := json.Unmarshal(leaseOne(t, s).Event.Body, &p); err != nil || p.Data != e.Data {
			t.Errorf("the body says %+v, %v", p.Data, err)
		}
		var column string
		if err := raw(t, dsn).QueryRowContext(t.Context(), `SELECT payload -> 'data' ->> 'error_details' FROM monitor_events`).Scan(&column); err != nil || column != "a\ufffdb C:\\u0000" {
			t.Errorf("the column says %q, %v", column, err)
		}
	})

	for name, spoil := range map[string]func(*event.Event){
		"an id that is no UUID":  func(e *event.Event) { e.ID = "1" },
		"data of another type":   func(e *event.Event) { e.Data = event.Ended{} },
		"no data":                func(e *event.Event) { e.Data = nil },
		"a type that is unknown": func(e *event.Event) { e.Type = "stream.paused" },
	} {
		t.Run("an event with "+name+" refuses the whole report", func(t *testing.T) {
			s := open(t, database(t))
			m := register(t, s, 1)
			bad := blackout(100)
			spoil(&bad)
			_, err := s.Accept(t.Context(), m.ID, report(blackout(40), bad))
			requireCode(t, err, monitor.InvalidConfig)
			if n := len(lease(t, s)); n != 0 {
				t.Errorf("%d events were stored", n)
			}
		})
	}
}
