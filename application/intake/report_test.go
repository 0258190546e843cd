package intake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
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

// fakeStore is an intake.ReportStore of one monitor that records the reports.
type fakeStore struct {
	stored  monitor.Monitor
	reads   int
	reports []monitor.Report
	failure error // of Accept
}

func (s *fakeStore) Get(context.Context, monitor.ID) (monitor.Monitor, error) {
	s.reads++
	return s.stored, nil
}

func (s *fakeStore) References(context.Context, monitor.ID) (own, ofChannel []detector.Reference, err error) {
	return nil, nil, nil
}

func (s *fakeStore) Accept(_ context.Context, _ monitor.ID, r monitor.Report) (monitor.Answer, error) {
	s.reports = append(s.reports, r)
	return monitor.Answer{Order: monitor.Run}, s.failure
}

func (s *fakeStore) last() monitor.Report { return s.reports[len(s.reports)-1] }

// testService is a WorkerService of one monitor that has got completeReport, at a clock that stands.
type testService struct {
	*intake.WorkerService
	store   *fakeStore
	workers *monitorstest.WorkerManager
}

const id monitor.ID = "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d"

func newService() testService {
	r := completeReport()
	store, workers := &fakeStore{}, &monitorstest.WorkerManager{}
	store.stored = monitor.Monitor{
		ID: id, StreamURL: streamURL, Config: monitor.DefaultConfig(), Status: r.Status, StreamStatus: r.StreamStatus, Health: r.Health,
		Statistics: r.Statistics, Snapshot: r.Snapshot, Generation: 1, Revision: 5,
	}
	return testService{intake.NewWorkerService(store, nil, workers, func() time.Time { return noon }, slog.New(slog.DiscardHandler)), store, workers}
}

// send sends a report that is accepted, and returns it as the store got it.
func (s testService) send(t *testing.T, r monitor.Report) monitor.Report {
	t.Helper()
	if answer, err := s.Report(t.Context(), id, r); err != nil || answer.Order != monitor.Run {
		t.Fatalf("the answer is %+v, %v", answer, err)
	}
	return s.store.last()
}

func requireCode(t *testing.T, err error, code monitor.Code) {
	t.Helper()
	var coded *monitor.Error
	if !errors.As(err, &coded) || coded.Code != code {
		t.Fatalf("error is %v; expected %s", err, code)
	}
}

func TestOnlyTheNewestGenerationGetsTheAssignment(t *testing.T) {
	s := newService()
	s.store.stored.Generation = 3
	a, err := s.Assignment(t.Context(), id, 3)
	want := monitor.Assignment{ID: id, Generation: 3, Revision: 5, StreamURL: streamURL, Config: monitor.DefaultConfig(), Snapshot: completeReport().Snapshot}
	if err != nil || !reflect.DeepEqual(a, want) {
		t.Errorf("assigned %+v, %v", a, err)
	}
	for name, generation := range map[string]int{"missing": 0, "older": 2, "newer than the newest": 4} {
		if _, err := s.Assignment(t.Context(), id, generation); !errors.Is(err, monitor.ErrSuperseded) {
			t.Errorf("of a generation that is %s: %v", name, err)
		}
	}
	s.store.stored.StreamSecret.Query = "?token=1"
	if a, err = s.Assignment(t.Context(), id, 3); err != nil || a.StreamURL != streamURL || a.Secret.Query != "?token=1" {
		t.Errorf("with a secret it is assigned %s, %q, %v", a.StreamURL, a.Secret.Query, err)
	}
	s.store.stored.SecretLost = true
	if _, err = s.Assignment(t.Context(), id, 3); err == nil || !strings.Contains(err.Error(), "SECRETS_KEY") {
		t.Errorf("without the key of its secret: %v", err)
	}
	s.store.stored.Status = monitor.Stopped
	_, err = s.Assignment(t.Context(), id, 3)
	requireCode(t, err, monitor.NotFound)
}

func completeReport() monitor.Report {
	return monitor.Report{
		Generation:   1,
		At:           noon.Add(time.Minute),
		Status:       monitor.Monitoring,
		StreamStatus: monitor.StreamLive,
		Health: monitor.Health{Video: monitor.Black, Audio: monitor.OK, LastCheckAt: noon.Add(50 * time.Second),
			Conditions: []monitor.DetectorState{{Detector: detector.Blackout, State: monitor.Black, Since: noon}},
			Renditions: []monitor.RenditionState{{Height: 720, Bandwidth: 2_800_000, State: detector.RenditionBlack, LookedAt: noon}}},
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

func TestAReportIsStoredAsItCameOrCompleted(t *testing.T) { // section 8.6
	missing := func(change func(*monitor.Report)) monitor.Report { r := completeReport(); change(&r); return r }
	for name, c := range map[string]struct {
		sent, stored monitor.Report
		reads        int
	}{
		"a complete one":         {completeReport(), completeReport(), 0},
		"one without a snapshot": {missing(func(r *monitor.Report) { r.Snapshot = nil }), missing(func(r *monitor.Report) { r.Snapshot = nil }), 0},
		"one without a time":     {missing(func(r *monitor.Report) { r.At = time.Time{} }), missing(func(r *monitor.Report) { r.At = noon }), 0},
		"one without anything": {
			monitor.Report{Generation: 1, At: noon},
			monitor.Report{Generation: 1, At: noon, Status: monitor.Monitoring, StreamStatus: monitor.StreamLive, Health: completeReport().Health}, 1,
		},
		"segments without a time of the last check are a check": {
			missing(func(r *monitor.Report) {
				r.Health.LastCheckAt, r.Statistics.TotalSegmentsAnalyzed = time.Time{}, 8
			}),
			missing(func(r *monitor.Report) { r.Health.LastCheckAt, r.Statistics.TotalSegmentsAnalyzed = r.At, 8 }), 1,
		},
		"as many segments as before are none": {missing(func(r *monitor.Report) { r.Health.LastCheckAt = time.Time{} }), completeReport(), 1},
		"the heartbeat of one that waits": {
			monitor.Report{Generation: 1, At: noon, Status: monitor.Waiting, StreamStatus: monitor.StreamUpcoming, Health: monitor.Health{Video: monitor.Unknown, Audio: monitor.Unknown}},
			monitor.Report{Generation: 1, At: noon, Status: monitor.Waiting, StreamStatus: monitor.StreamUpcoming, Health: monitor.Health{Video: monitor.Unknown, Audio: monitor.Unknown}}, 0,
		},
		"ids of events in lower case": {
			missing(func(r *monitor.Report) { r.Events = []event.Event{blackout(1)} }),
			missing(func(r *monitor.Report) {
				e := blackout(1)
				e.ID = strings.ToLower(e.ID)
				r.Events = []event.Event{e}
			}), 0,
		},
		"escapes that JSONB cannot store": {
			missing(func(r *monitor.Report) {
				r.Snapshot = []byte(`{"e":"a\u0000b\ud800c","kept":"\\u0000"}`)
				r.Events = []event.Event{{ID: "0190a5d0-1c2b-7d8a-9c1d-000000000001", Type: event.SegmentError, At: noon,
					Data: event.Outage{StartedAt: noon, Failure: event.FailedSegment, LastError: "x\x00y"}}}
			}),
			missing(func(r *monitor.Report) {
				r.Snapshot = []byte(`{"e":"a\ufffdb\ufffdc","kept":"\\u0000"}`)
				r.Events = []event.Event{{ID: "0190a5d0-1c2b-7d8a-9c1d-000000000001", Type: event.SegmentError, At: noon,
					Data: event.Outage{StartedAt: noon, Failure: event.FailedSegment, LastError: "x\ufffdy"}}}
			}), 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService()
			before, _ := json.Marshal(c.sent.Events)
			if got := s.send(t, c.sent); !reflect.DeepEqual(got, c.stored) || s.store.reads != c.reads {
				t.Errorf("stored after %d reads is\n%+v, want after %d\n%+v", s.store.reads, got, c.reads, c.stored)
			}
			if after, _ := json.Marshal(c.sent.Events); string(after) != string(before) {
				t.Error("the caller's report was changed")
			}
		})
	}
}

func TestAReportRenewsTheLeaseAlsoIfItCannotBeStored(t *testing.T) {
	s := newService()
	s.store.failure = monitor.ErrSuperseded
	if _, err := s.Report(t.Context(), id, completeReport()); !errors.Is(err, monitor.ErrSuperseded) {
		t.Errorf("error is %v", err)
	}
	if reporters := s.workers.Reporters(); !slices.Equal(reporters, []monitor.ID{id}) {
		t.Errorf("leases renewed for %v", reporters)
	}
}

func TestAWrongFieldOfAReportIsNamed(t *testing.T) {
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
			r := completeReport()
			change(&r)
			_, err := newService().Report(t.Context(), id, r)
			requireCode(t, err, monitor.InvalidConfig)
			if !strings.Contains(err.Error(), name) {
				t.Errorf("the message is %v", err)
			}
		})
	}
}

func TestAnUnknownSignalIsLeftOutOfAReport(t *testing.T) {
	s := newService()
	known := monitor.Signal{Condition: trouble.NoMedia, StartedAt: time.Date(2024, 1, 15, 20, 0, 0, 0, time.UTC)}
	r := completeReport()
	r.Signals = []monitor.Signal{{Condition: "of a newer release", StartedAt: known.StartedAt}, known, {Condition: trouble.Blind}}
	for range intake.MaxReportSignals {
		r.Signals = append(r.Signals, known)
	}
	if got := s.send(t, r).Signals; len(got) != intake.MaxReportSignals-2 || got[0] != known {
		t.Errorf("%d signals are stored, the first %v", len(got), got[:1])
	}
}

func TestAMinuteThatCannotBeIsLeftOutOfAReport(t *testing.T) {
	s := newService()
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
	if got := s.send(t, r).Minutes; !slices.Equal(got, want) {
		t.Errorf("stored are %+v", got)
	}
	for range history.MaxReported {
		r.Minutes = append(r.Minutes, minute(0, good))
	}
	if n := len(s.send(t, r).Minutes); n > history.MaxReported {
		t.Errorf("%d minutes are stored", n)
	}
}
