package postgres_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestAReportIsStoredInOneTransaction(t *testing.T) {
	s, db := newStore(t)
	begin := registering(t, s)
	expectEvents := func(t *testing.T, id monitor.ID, want ...event.Type) {
		t.Helper()
		expect(t, "its events", eventTypes(t, s, id), want)
	}

	t.Run("status, health, statistics, snapshot and events are stored", func(t *testing.T) {
		m := begin()
		r := report(blackout(40))
		r.Health.Video = monitor.Black
		r.Health.Conditions = []monitor.DetectorState{{Detector: detector.Blackout, State: monitor.Black, Since: noon, Alerted: true, Values: map[string]float64{"level": 1.5}}}
		r.Health.Renditions = []monitor.RenditionState{{Height: 720, Bandwidth: 2_800_000, State: detector.RenditionBlack, LookedAt: noon}}
		for range 2 { // its answer was lost
			acceptReport(t, s, m.ID, r, monitor.Run)
		}
		m = getMonitor(t, s, m.ID)
		if m.Status != monitor.Monitoring || m.StreamStatus != monitor.StreamLive || !reflect.DeepEqual(m.Health, r.Health) || m.Statistics != r.Statistics || string(m.Snapshot) != `{"mode": "monitoring"}` {
			t.Errorf("it stands at %+v with the snapshot %s", m, m.Snapshot)
		}
		l := leaseOne(t, s)
		if l.Event.EventID != r.Events[0].ID || l.Event.EventType != event.Blackout || l.Event.MonitorID != m.ID || l.Callback != m.CallbackURL || l.Tried != 0 {
			t.Errorf("the delivery is %+v", l)
		}
		// The payload of section 4.2, in the server's zone, with the metadata untouched.
		payload := event.NewPayload(r.Events[0], string(m.ID), string(m.StreamURL), m.Metadata, tokyo)
		payload.Labels = m.Labels
		want := must(payload.Encode())(t)
		expect(t, "the body", string(l.Event.Body), string(want))
		recordAttempt(t, s, l, accepting, sent)
	})

	t.Run("states of detectors stay until a report has health without them", func(t *testing.T) {
		m := begin()
		r := report()
		r.Health.Conditions = []monitor.DetectorState{{Detector: detector.Silence, State: monitor.OK}}
		acceptReport(t, s, m.ID, r, monitor.Run)
		silent := report()
		silent.Health = monitor.Health{}
		acceptReport(t, s, m.ID, silent, monitor.Run)
		if got := getMonitor(t, s, m.ID).Health; !got.Same(r.Health) {
			t.Errorf("after a report without health it is %+v", got)
		}
		acceptReport(t, s, m.ID, report(), monitor.Run)
		if got := getMonitor(t, s, m.ID).Health; got.Conditions != nil {
			t.Errorf("after a report without states it is %+v", got)
		}
	})

	t.Run("statistics never go backwards", func(t *testing.T) {
		detectortest.Add(t, detectortest.Imaginary) // a third detector
		m := begin()
		acceptReport(t, s, m.ID, report(), monitor.Run)
		low := report()
		low.Statistics = monitor.Statistics{TotalSegmentsAnalyzed: 2}.With(detector.Silence, 3).With("imaginary", 5)
		low.Health.LastCheckAt = noon.Add(-time.Hour)
		acceptReport(t, s, m.ID, low, monitor.Run)
		low.Health.LastCheckAt = time.Time{} // it has checked nothing yet
		low.Statistics = low.Statistics.With("imaginary", 4)
		acceptReport(t, s, m.ID, low, monitor.Run)
		m = getMonitor(t, s, m.ID)
		want := monitor.Statistics{TotalSegmentsAnalyzed: 5}.With(detector.Blackout, 1).With(detector.Silence, 3).With("imaginary", 5)
		if m.Statistics != want || !m.Health.LastCheckAt.Equal(noon) {
			t.Errorf("%+v checked at %v, want %+v", m.Statistics, m.Health.LastCheckAt, want)
		}
	})

	t.Run("blindness is kept until a report says that it is over", func(t *testing.T) { // decision S15
		m := begin()
		blind := monitorError(event.ReasonBlind)
		blind.Data = event.MonitorFailure{Reason: event.ReasonBlind, ErrorDetails: "DNS"}
		r := report(blackout(40), blind)
		r.Visibility = &monitor.Visibility{LastError: "DNS", BlindSince: noon.Add(-5 * time.Minute), LastObservedAt: noon.Add(-6 * time.Minute)}
		acceptReport(t, s, m.ID, r, monitor.Run)
		acceptReport(t, s, m.ID, report(), monitor.Run)
		expect(t, "visibility", getMonitor(t, s, m.ID).Visibility, *r.Visibility)
		resolved := func() (at *time.Time) {
			for _, e := range eventsOf(t, s, m.ID) {
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
			expect(t, "visibility", getMonitor(t, s, m.ID).Visibility, *r.Visibility)
			if at := resolved(); at == nil || !at.Equal(noon.Add(time.Minute)) {
				t.Errorf("resolved at %v", at)
			}
		}
		acceptReport(t, s, m.ID, r, monitor.Run)
		stopMonitor(t, s, m.ID) // what has ended is not blind (section 3.3)
		if after := getMonitor(t, s, m.ID); !after.Visibility.BlindSince.IsZero() || after.Visibility.LastError != "DNS" {
			t.Errorf("of the ended one visibility is %+v", after.Visibility)
		}
	})

	t.Run("omitted fields keep their values", func(t *testing.T) {
		m := begin()
		acceptReport(t, s, m.ID, report(), monitor.Run)
		before := getMonitor(t, s, m.ID)
		acceptReport(t, s, m.ID, monitor.Report{Generation: 1, At: noon}, monitor.Run)
		after := getMonitor(t, s, m.ID)
		if after.Status != before.Status || !after.Health.Same(before.Health) || string(after.Snapshot) != string(before.Snapshot) {
			t.Errorf("before %+v, after %+v", before, after)
		}
	})

	t.Run("of an overtaken report only the events and that it came are stored", func(t *testing.T) {
		m := begin()
		newer, older := report(), report(blackout(40))
		newer.At, newer.Snapshot = noon.Add(time.Second), []byte(`{"mode": "newer"}`)
		older.At, older.Health.Video = noon.Add(time.Second-time.Microsecond), monitor.Black
		acceptReport(t, s, m.ID, newer, monitor.Run)
		alter(t, db, `UPDATE monitors SET updated_at = now() - interval '1 hour' WHERE id = $1`, m.ID)
		acceptReport(t, s, m.ID, older, monitor.Run)
		if after := getMonitor(t, s, m.ID); string(after.Snapshot) != string(newer.Snapshot) || after.Health.Video != newer.Health.Video || time.Since(after.UpdatedAt) > 30*time.Minute {
			t.Errorf("it stands at %+v", after)
		}
		expectEvents(t, m.ID, event.Blackout)
		newer.Snapshot = []byte(`{"mode": "repeated"}`)
		acceptReport(t, s, m.ID, newer, monitor.Run)
		expect(t, "the snapshot of a repeated one", string(getMonitor(t, s, m.ID).Snapshot), string(newer.Snapshot))
		older.Status = monitor.Completed
		acceptReport(t, s, m.ID, older, monitor.Stop) // one that ends the monitor is never overtaken
	})

	t.Run("a report of the next generation is applied although its clock is behind", func(t *testing.T) {
		m := begin()
		acceptReport(t, s, m.ID, report(), monitor.Run)
		advanceGeneration(t, s, m.ID, "here")
		next := report()
		next.Generation, next.At, next.Snapshot = 2, noon.Add(-10*time.Minute), []byte(`{"mode": "next"}`)
		acceptReport(t, s, m.ID, next, monitor.Run)
		expect(t, "its snapshot", string(getMonitor(t, s, m.ID).Snapshot), string(next.Snapshot))
	})

	t.Run("a status that may not follow is ignored, the rest is stored", func(t *testing.T) {
		m := begin()
		acceptReport(t, s, m.ID, report(), monitor.Run)
		back := report(blackout(40))
		back.Status = monitor.Waiting
		acceptReport(t, s, m.ID, back, monitor.Run)
		expect(t, "the status", getMonitor(t, s, m.ID).Status, monitor.Monitoring)
		expectEvents(t, m.ID, event.Blackout)
	})

	t.Run("every report of a completed monitor is answered with stop", func(t *testing.T) {
		m := begin()
		final := report(blackout(40))
		final.Status = monitor.Completed
		for range 2 {
			acceptReport(t, s, m.ID, final, monitor.Stop)
		}
		expectEnd(t, s, m.ID, monitor.Completed, "")
		expectEvents(t, m.ID, event.Blackout)
	})

	t.Run("a report with status error stores the reason of its last event", func(t *testing.T) {
		m := begin()
		final := report(monitorError(event.ReasonVideoPrivate))
		final.Status = monitor.Failed
		acceptReport(t, s, m.ID, final, monitor.Stop)
		expectEnd(t, s, m.ID, monitor.Failed, event.ReasonVideoPrivate)
	})

	t.Run("events of a stopped monitor are stored, and nothing else changes", func(t *testing.T) {
		m := begin()
		stopMonitor(t, s, m.ID)
		acceptReport(t, s, m.ID, report(blackout(40)), monitor.Stop)
		if m = getMonitor(t, s, m.ID); m.Status != monitor.Stopped || m.Statistics != (monitor.Statistics{}) || m.Snapshot != nil {
			t.Errorf("it stands at %+v", m)
		}
		expectEvents(t, m.ID, event.Blackout)
	})

	t.Run("nothing is stored after the callback has failed", func(t *testing.T) {
		s := open(t, database(t))
		m := registerWith(t, s, 1, blackout(40))
		recordAttempt(t, s, leaseOne(t, s), rejecting, failed)
		acceptReport(t, s, m.ID, report(blackout(100)), monitor.Stop)
		expectLen(t, "its events", eventTypes(t, s, m.ID), 1)
	})

	t.Run("a report of an older generation, or of an unknown monitor, is refused and not stored", func(t *testing.T) {
		m := begin()
		advanceGeneration(t, s, m.ID, "here")
		requireSuperseded(t, errorOf(s.Accept(t.Context(), m.ID, report(blackout(40)))))
		expect(t, "the status", getMonitor(t, s, m.ID).Status, monitor.Initializing)
		expectEvents(t, m.ID)
		requireCode(t, errorOf(s.Accept(t.Context(), registration(1000).ID, report())), monitor.NotFound)
	})

	t.Run("a snapshot is encrypted, and left out when no key opens it any more", func(t *testing.T) {
		dsn := database(t)
		s, db := openWithKey(t, dsn, reversing{first: "one"}), raw(t, dsn)
		m := register(t, s, 1)
		r := report()
		r.Snapshot = json.RawMessage(`{"manifest":{"header":{"fields":{"x-token":"s3cr3t"}}}}`)
		acceptReport(t, s, m.ID, r, monitor.Run)
		if column := value[string](t, db, `SELECT encode(snapshot, 'escape') FROM monitors WHERE id = $1`, m.ID); column == "" || strings.Contains(column, "s3cr3t") {
			t.Errorf("the column has %q", column)
		}
		expect(t, "the snapshot", string(getMonitor(t, s, m.ID).Snapshot), string(r.Snapshot))
		other := openWithKey(t, dsn, reversing{first: "two"})
		if got := getMonitor(t, other, m.ID); got.Snapshot != nil || got.ID != m.ID {
			t.Errorf("with another key the monitor is %+v", got)
		}
		acceptReport(t, other, m.ID, r, monitor.Run)
		expect(t, "after the next report, the snapshot", string(getMonitor(t, other, m.ID).Snapshot), string(r.Snapshot))
	})

	t.Run("the secret of a stream is encrypted, and lost without its key", func(t *testing.T) {
		dsn := database(t)
		s, db := openWithKey(t, dsn, reversing{first: "one"}), raw(t, dsn)
		m := registration(1)
		m.StreamSecret = monitor.StreamSecret{Query: "?token=s3cr3t", Headers: map[string]string{"authorization": "s3cr3t"}}
		check(t, s.Insert(t.Context(), m, unlimited))
		if column := value[string](t, db, `SELECT encode(stream_secret, 'escape') FROM monitors WHERE id = $1`, m.ID); column == "" || strings.Contains(column, "s3cr3t") {
			t.Errorf("the column has %q", column)
		}
		if got := getMonitor(t, s, m.ID); !reflect.DeepEqual(got.StreamSecret, m.StreamSecret) || got.SecretLost || got.StreamURL != m.StreamURL {
			t.Errorf("the monitor is %+v", got)
		}
		if got := getMonitor(t, openWithKey(t, dsn, reversing{first: "two"}), m.ID); !got.StreamSecret.IsZero() || !got.SecretLost {
			t.Errorf("with another key the monitor is %+v", got)
		}
		lost := openWithKey(t, dsn, reversing{first: "two"})
		if err := lost.ResealSecrets(t.Context()); err == nil || !strings.Contains(err.Error(), "SET stream_secret = NULL") {
			t.Errorf("the error of a lost key is %v", err)
		}
		changed := getMonitor(t, lost, m.ID)
		changed.Config.CheckIntervalSec = 20
		must(lost.UpdateSettings(t.Context(), changed, time.Time{}))(t)
		newer := openWithKey(t, dsn, reversing{first: "two", older: "one"})
		check(t, newer.ResealSecrets(t.Context()))
		changed = getMonitor(t, lost, m.ID)
		expect(t, "the secret with the newer key", changed.StreamSecret.Query, "?token=s3cr3t")
		changed.StreamSecret.Query = ""
		expect(t, "a changed secret", len(must(lost.UpdateSettings(t.Context(), changed, time.Time{}))(t).StreamSecret.Headers), 1)
		stopMonitor(t, lost, m.ID)
		expect(t, "what is kept of an ended monitor", value[int](t, db, `SELECT count(stream_secret) FROM monitors`), 0)

		keyless := openWithKey(t, database(t), nil)
		err := keyless.Insert(t.Context(), m, unlimited)
		requireCode(t, err, monitor.InvalidConfig)
		if !strings.Contains(err.Error(), "SECRETS_KEY") {
			t.Errorf("without a key: %v", err)
		}
	})

	t.Run("an event with a NUL is stored, its body unchanged", func(t *testing.T) {
		s, db := newStore(t)
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
		column := value[string](t, db, `SELECT payload -> 'data' ->> 'error_details' FROM monitor_events WHERE monitor_id = $1`, m.ID)
		expect(t, "the column", column, "a\ufffdb C:\\u0000")
	})

	for name, spoil := range map[string]func(*monitor.Report){
		"an id that is no UUID":  func(r *monitor.Report) { r.Events[1].ID = "1" },
		"data of another type":   func(r *monitor.Report) { r.Events[1].Data = event.Ended{} },
		"no data":                func(r *monitor.Report) { r.Events[1].Data = nil },
		"a type that is unknown": func(r *monitor.Report) { r.Events[1].Type = "stream.paused" },
	} {
		t.Run(name+" refuses the whole report", func(t *testing.T) {
			m, bad := begin(), report(blackout(40), blackout(100))
			spoil(&bad)
			requireCode(t, errorOf(s.Accept(t.Context(), m.ID, bad)), monitor.InvalidConfig)
			expectEvents(t, m.ID)
		})
	}
}
