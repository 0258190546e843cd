package intake_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/intake"
	"github.com/stream-monitor/stream-monitor/application/monitors/monitorstest"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

var noon = time.Date(2024, 1, 15, 12, 0, 0, 0, time.UTC)

const streamURL = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"

// testService is a WorkerService with fakes and a fixed clock.
type testService struct {
	*intake.WorkerService
	store   *monitorstest.Store
	workers *monitorstest.WorkerManager
}

func newService() testService {
	store, workers := &monitorstest.Store{}, &monitorstest.WorkerManager{}
	return testService{intake.NewWorkerService(store, workers, func() time.Time { return noon }, slog.New(slog.DiscardHandler)), store, workers}
}

// register stores a new monitor.
func (s testService) register(t *testing.T) monitor.ID {
	t.Helper()
	m := monitor.Monitor{
		ID: monitor.NewID([16]byte{6: 0x70, 8: 0x80, 15: 1}), StreamURL: streamURL, Config: monitor.DefaultConfig(),
		Status: monitor.Initializing, Generation: 1, CreatedAt: noon, UpdatedAt: noon,
	}
	if err := s.store.Insert(t.Context(), m, 1); err != nil {
		t.Fatal(err)
	}
	return m.ID
}

func requireCode(t *testing.T, err error, code monitor.Code) {
	t.Helper()
	var coded *monitor.Error
	if !errors.As(err, &coded) || coded.Code != code {
		t.Fatalf("error is %v; expected %s", err, code)
	}
}

func TestOnlyTheNewestGenerationGetsTheAssignment(t *testing.T) {
	ctx := context.Background()
	s := newService()
	id := s.register(t)
	s.store.Update(id, func(m *monitor.Monitor) { m.Generation, m.Snapshot = 3, []byte(`{"s":1}`) })

	t.Run("is assigned to the newest generation", func(t *testing.T) {
		a, err := s.Assignment(ctx, id, 3)
		if err != nil || a.Generation != 3 || a.StreamURL != streamURL || string(a.Snapshot) != `{"s":1}` || a.Config != monitor.DefaultConfig() {
			t.Errorf("assigned %+v, %v", a, err)
		}
	})
	for name, generation := range map[string]int{"missing": 0, "older": 2, "newer than the newest": 4} {
		t.Run("is refused to a worker whose generation is "+name, func(t *testing.T) {
			if _, err := s.Assignment(ctx, id, generation); !errors.Is(err, monitor.ErrSuperseded) {
				t.Errorf("error is %v", err)
			}
		})
	}
	t.Run("does not exist for an ended monitor", func(t *testing.T) {
		if _, err := s.store.End(ctx, id, monitor.Stopped, "", nil, noon); err != nil {
			t.Fatal(err)
		}
		_, err := s.Assignment(ctx, id, 3)
		requireCode(t, err, monitor.NotFound)
	})
}

func completeReport() monitor.Report {
	return monitor.Report{
		Generation:   1,
		At:           noon.Add(time.Minute),
		Status:       monitor.Monitoring,
		StreamStatus: monitor.StreamLive,
		Health: monitor.Health{Video: monitor.Black, Audio: monitor.OK, LastCheckAt: noon.Add(50 * time.Second),
			Conditions: []monitor.DetectorState{{Detector: detector.Blackout, State: monitor.Black, Since: noon}}},
		Statistics: monitor.Statistics{TotalSegmentsAnalyzed: 7}.With(detector.Blackout, 1),
		Snapshot:   []byte(`{"v":1}`),
	}
}

func blackout(n int) event.Event {
	return event.Event{
		ID:   fmt.Sprintf("0190A5D0-1c2b-7d8a-9c1d-%012d", n),
		Type: event.Blackout,
		At:   noon,
		Data: event.Alert{DurationSec: 30, StartedAt: noon, ThresholdSec: 30},
	}
}

func TestAReportIsStoredAndAnsweredWithAnOrder(t *testing.T) {
	ctx := context.Background()
	newMonitor := func(t *testing.T) (testService, monitor.ID) {
		s := newService()
		return s, s.register(t)
	}
	send := func(t *testing.T, s testService, id monitor.ID, r monitor.Report) monitor.Order {
		t.Helper()
		answer, err := s.Report(ctx, id, r)
		if err != nil {
			t.Fatal(err)
		}
		return answer.Order
	}

	t.Run("renews the lease even if it is refused", func(t *testing.T) {
		s, id := newMonitor(t)
		old := completeReport()
		old.Generation = 99
		if _, err := s.Report(ctx, id, old); err == nil {
			t.Error("no error")
		}
		if reporters := s.workers.Reporters(); len(reporters) != 1 || reporters[0] != id {
			t.Errorf("leases renewed for %v", reporters)
		}
	})

	t.Run("stores a complete report unchanged", func(t *testing.T) {
		s, id := newMonitor(t)
		if order := send(t, s, id, completeReport()); order != monitor.Run {
			t.Errorf("order is %s", order)
		}
		m, _ := s.store.Get(ctx, id)
		if m.Status != monitor.Monitoring || !m.Health.Same(completeReport().Health) || m.Statistics != completeReport().Statistics || string(m.Snapshot) != `{"v":1}` {
			t.Errorf("stored %+v", m)
		}
	})

	t.Run("completes a missing time with now", func(t *testing.T) {
		s, id := newMonitor(t)
		send(t, s, id, monitor.Report{Generation: 1, Status: monitor.Waiting})
		if m, _ := s.store.Get(ctx, id); m.Status != monitor.Waiting || !m.UpdatedAt.Equal(noon) {
			t.Errorf("stored %+v", m)
		}
	})

	t.Run("keeps the stored value of a missing field", func(t *testing.T) {
		s, id := newMonitor(t)
		send(t, s, id, completeReport())
		send(t, s, id, monitor.Report{Generation: 1})
		m, _ := s.store.Get(ctx, id)
		if m.Status != monitor.Monitoring || m.StreamStatus != monitor.StreamLive || !m.Health.Same(completeReport().Health) ||
			m.Statistics != completeReport().Statistics || string(m.Snapshot) != `{"v":1}` {
			t.Errorf("stored %+v", m)
		}
	})

	t.Run("reads nothing for a report that lacks only the snapshot", func(t *testing.T) {
		s, id := newMonitor(t)
		send(t, s, id, completeReport())
		var operations []string
		s.store.Fail = func(_ context.Context, operation string) error {
			operations = append(operations, operation)
			return nil
		}
		calm := completeReport()
		calm.Snapshot = nil
		send(t, s, id, calm)
		if s.store.Fail = nil; !slices.Equal(operations, []string{"Accept"}) {
			t.Errorf("the store was asked for %q", operations)
		}
		if m, _ := s.store.Get(ctx, id); string(m.Snapshot) != `{"v":1}` {
			t.Errorf("the snapshot is %s", m.Snapshot)
		}
	})

	t.Run("counts newly analysed segments as a check when last_check_at is missing", func(t *testing.T) {
		s, id := newMonitor(t)
		send(t, s, id, completeReport())
		send(t, s, id, monitor.Report{Generation: 1, At: noon.Add(2 * time.Minute), Statistics: monitor.Statistics{TotalSegmentsAnalyzed: 8}})
		if m, _ := s.store.Get(ctx, id); !m.Health.LastCheckAt.Equal(noon.Add(2 * time.Minute)) {
			t.Errorf("last check at %v", m.Health.LastCheckAt)
		}
	})

	t.Run("orders the worker of an ended monitor to stop", func(t *testing.T) {
		s, id := newMonitor(t)
		if _, err := s.store.End(ctx, id, monitor.Stopped, "", nil, noon); err != nil {
			t.Fatal(err)
		}
		if order := send(t, s, id, completeReport()); order != monitor.Stop {
			t.Errorf("order is %s", order)
		}
		if m, _ := s.store.Get(ctx, id); m.Status != monitor.Stopped {
			t.Errorf("status is %s", m.Status)
		}
	})

	t.Run("is refused from an older generation", func(t *testing.T) {
		s, id := newMonitor(t)
		s.store.Update(id, func(m *monitor.Monitor) { m.Generation = 2 })
		if _, err := s.Report(ctx, id, completeReport()); !errors.Is(err, monitor.ErrSuperseded) {
			t.Errorf("error is %v", err)
		}
		if m, _ := s.store.Get(ctx, id); m.Status != monitor.Initializing {
			t.Errorf("status is %s", m.Status)
		}
	})

	t.Run("stores each event once, its id in lower case", func(t *testing.T) {
		s, id := newMonitor(t)
		r := completeReport()
		r.Events = []event.Event{blackout(1), blackout(2)}
		send(t, s, id, r)
		send(t, s, id, r)
		records, total, err := s.store.Events(ctx, id, 50, 0)
		if err != nil || total != 2 {
			t.Fatalf("%d events, %v", total, err)
		}
		if records[1].EventID != "0190a5d0-1c2b-7d8a-9c1d-000000000001" {
			t.Errorf("oldest is %s", records[1].EventID)
		}
		if r.Events[0].ID != blackout(1).ID {
			t.Error("the caller's report was changed")
		}
	})

	t.Run("replaces escapes that JSONB cannot store", func(t *testing.T) {
		s, id := newMonitor(t)
		r := completeReport()
		r.Snapshot = []byte(`{"e":"a\u0000b\ud800c","kept":"\\u0000"}`)
		r.Events = []event.Event{{ID: blackout(1).ID, Type: event.SegmentError, At: noon,
			Data: event.Outage{StartedAt: noon, Failure: event.FailedSegment, LastError: "x\x00y"}}}
		send(t, s, id, r)
		if m, _ := s.store.Get(ctx, id); string(m.Snapshot) != `{"e":"a\ufffdb\ufffdc","kept":"\\u0000"}` {
			t.Errorf("snapshot is %s", m.Snapshot)
		}
		records, _, _ := s.store.Events(ctx, id, 50, 0)
		if len(records) != 1 || !strings.Contains(string(records[0].Payload), "x\ufffdy") {
			t.Errorf("events are %+v", records)
		}
	})

	for name, change := range map[string]func(*monitor.Report){
		"generation is -1":                    func(r *monitor.Report) { r.Generation = -1 },
		"generation is 0":                     func(r *monitor.Report) { r.Generation = 0 },
		"status":                              func(r *monitor.Report) { r.Status = "running" },
		"stream_status":                       func(r *monitor.Report) { r.StreamStatus = "paused" },
		"health.video":                        func(r *monitor.Report) { r.Health.Video = monitor.Silent },
		"health.audio":                        func(r *monitor.Report) { r.Health.Audio = monitor.Black },
		"statistics.total_segments_analyzed":  func(r *monitor.Report) { r.Statistics.TotalSegmentsAnalyzed = -1 },
		"statistics.blackout_events":          func(r *monitor.Report) { r.Statistics = r.Statistics.With(detector.Blackout, 1<<31) },
		"statistics.silence_events":           func(r *monitor.Report) { r.Statistics = r.Statistics.With(detector.Silence, -5) },
		"at is in the year 10000":             func(r *monitor.Report) { r.At = time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -12*60*60)) },
		"health.last_check_at is in":          func(r *monitor.Report) { r.Health.LastCheckAt = time.Date(9999, 2, 1, 0, 0, 0, 0, time.UTC) },
		"visibility.last_error is 4097 bytes": func(r *monitor.Report) { r.Visibility = &monitor.Visibility{LastError: strings.Repeat("x", 4097)} },
		"visibility.blind_since is in the year 1999": func(r *monitor.Report) {
			r.Visibility = &monitor.Visibility{BlindSince: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)}
		},
		"visibility.last_observed_at is in the year 9999": func(r *monitor.Report) {
			r.Visibility = &monitor.Visibility{LastObservedAt: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
		},
		"visibility.unseen.since is missing": func(r *monitor.Report) {
			r.Visibility = &monitor.Visibility{Unseen: monitor.Unseen{Class: monitor.NoDNS}}
		},
		"visibility.unseen.class is": func(r *monitor.Report) {
			r.Visibility = &monitor.Visibility{Unseen: monitor.Unseen{Since: noon, Class: "bad"}}
		},
		"snapshot is 262146 bytes":       func(r *monitor.Report) { r.Snapshot = []byte(`"` + strings.Repeat("x", intake.MaxSnapshot) + `"`) },
		"snapshot is not valid JSON":     func(r *monitor.Report) { r.Snapshot = []byte(`{`) },
		"events has 1001 entries":        func(r *monitor.Report) { r.Events = make([]event.Event, intake.MaxReportEvents+1) },
		"events[0]: event: unknown type": func(r *monitor.Report) { r.Events = []event.Event{{}} },
		"events[0]: event alert.silence: data": func(r *monitor.Report) {
			e := blackout(1)
			e.Type, e.Data = event.Silence, event.Outage{}
			r.Events = []event.Event{e}
		},
		"events[0].timestamp is in the year 1999": func(r *monitor.Report) {
			e := blackout(1)
			e.At = time.Date(1999, 12, 1, 0, 0, 0, 0, time.UTC)
			r.Events = []event.Event{e}
		},
		"events[1].event_id": func(r *monitor.Report) {
			e := blackout(1)
			e.ID = "not-a-uuid"
			r.Events = []event.Event{blackout(0), e}
		},
	} {
		t.Run("names the wrong field: "+name, func(t *testing.T) {
			s, id := newMonitor(t)
			r := completeReport()
			change(&r)
			_, err := s.Report(ctx, id, r)
			requireCode(t, err, monitor.InvalidConfig)
			if !strings.Contains(err.Error(), name) {
				t.Errorf("the message is %v", err)
			}
		})
	}

	t.Run("is refused for an unknown monitor", func(t *testing.T) {
		s, _ := newMonitor(t)
		_, err := s.Report(ctx, "mon-00000000000070008000000000000009", completeReport())
		requireCode(t, err, monitor.NotFound)
	})
}

func TestAHeartbeatOfAWaitingWorkerReadsNoMonitor(t *testing.T) {
	ctx := context.Background()
	s := newService()
	id := s.register(t)
	waiting := monitor.Report{
		Generation:   1,
		At:           noon.Add(time.Minute),
		Status:       monitor.Waiting,
		StreamStatus: monitor.StreamUpcoming,
		Health:       monitor.Health{Video: monitor.Unknown, Audio: monitor.Unknown},
		Snapshot:     []byte(`{"v":1}`),
	}
	var calls []string
	s.store.Fail = func(_ context.Context, op string) error {
		calls = append(calls, op)
		return nil
	}
	for range 3 {
		if _, err := s.Report(ctx, id, waiting); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"Accept", "Accept", "Accept"}; !slices.Equal(calls, want) {
		t.Errorf("three heartbeats called %v; expected %v", calls, want)
	}
}

func TestAReportWithoutAnyAnalysisKeepsTheTimeOfTheLastCheck(t *testing.T) {
	ctx := context.Background()
	s := newService()
	id := s.register(t)
	if _, err := s.Report(ctx, id, completeReport()); err != nil {
		t.Fatal(err)
	}
	later := completeReport()
	later.At = noon.Add(2 * time.Minute)
	later.Health.LastCheckAt, later.Statistics = time.Time{}, monitor.Statistics{}
	if _, err := s.Report(ctx, id, later); err != nil {
		t.Fatal(err)
	}
	if m, _ := s.store.Get(ctx, id); !m.Health.LastCheckAt.Equal(completeReport().Health.LastCheckAt) {
		t.Errorf("last check at %v; expected %v", m.Health.LastCheckAt, completeReport().Health.LastCheckAt)
	}
}

func TestAnUnknownSignalIsLeftOutOfAReport(t *testing.T) {
	s := newService()
	id := s.register(t)
	s.store.Update(id, func(m *monitor.Monitor) { m.Generation = 1 })
	known := monitor.Signal{Condition: trouble.NoMedia, StartedAt: time.Date(2024, 1, 15, 20, 0, 0, 0, time.UTC)}
	r := completeReport()
	r.Signals = []monitor.Signal{{Condition: "of a newer release", StartedAt: known.StartedAt}, known, {Condition: trouble.Blind}}
	for range intake.MaxReportSignals {
		r.Signals = append(r.Signals, known)
	}
	if _, err := s.Report(t.Context(), id, r); err != nil {
		t.Fatalf("the report is refused: %v", err)
	}
	if got := s.store.Reports[0].Signals; len(got) != intake.MaxReportSignals-2 || got[0] != known {
		t.Errorf("%d signals are stored, the first %v", len(got), got[:1])
	}
}

func TestAMinuteThatCannotBeIsLeftOutOfAReport(t *testing.T) {
	s := newService()
	id := s.register(t)
	s.store.Update(id, func(m *monitor.Monitor) { m.Generation = 1 })
	good := monitor.Range{Min: 10, Mean: 20, Max: 30, N: 60}
	minute := func(from time.Duration, luma monitor.Range) monitor.Minute {
		at := noon.Add(from).Truncate(time.Minute)
		return monitor.Minute{At: at, Since: at, Luma: luma}
	}
	r := completeReport()
	r.Minutes = []monitor.Minute{
		minute(time.Hour, good), minute(-26*time.Hour, good), minute(0, monitor.Range{Min: 0, Mean: 300, Max: 300, N: 1}),
		{At: noon.Add(time.Second), Since: noon, Luma: good}, {Luma: good},
		minute(-24*time.Hour, good), minute(0, good), minute(10*time.Minute, good),
	}
	want := slices.Clone(r.Minutes[5:])
	if _, err := s.Report(t.Context(), id, r); err != nil {
		t.Fatalf("the report is refused: %v", err)
	}
	if got := s.store.Reports[0].Minutes; !slices.Equal(got, want) {
		t.Errorf("stored are %+v", got)
	}
	for range history.MaxReported {
		r.Minutes = append(r.Minutes, minute(0, good))
	}
	if _, err := s.Report(t.Context(), id, r); err != nil || len(s.store.Reports[1].Minutes) > history.MaxReported {
		t.Errorf("more than %d minutes are stored, or %v", history.MaxReported, err)
	}
}
