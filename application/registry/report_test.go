package registry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestAssign(t *testing.T) {
	ctx := context.Background()
	d := open(t, 50, nil)
	id := d.registers("Q").ID
	d.store.Update(id, func(m *monitor.Monitor) { m.Generation, m.Snapshot = 3, []byte(`{"s":1}`) })

	for name, generation := range map[string]int{"the newest generation": 3, "whoever names no generation": 0} {
		t.Run("gives the work to "+name, func(t *testing.T) {
			a, err := d.Assign(ctx, id, generation)
			if err != nil || a.Generation != 3 || a.StreamURL != aStream || string(a.Snapshot) != `{"s":1}` || a.Config != monitor.DefaultConfig() {
				t.Errorf("assigned %+v, %v", a, err)
			}
		})
	}
	for name, generation := range map[string]int{"older": 2, "newer than any there was": 4} {
		t.Run("sends away a worker whose generation is "+name, func(t *testing.T) {
			if _, err := d.Assign(ctx, id, generation); !errors.Is(err, monitor.ErrSuperseded) {
				t.Errorf("error is %v", err)
			}
		})
	}
	t.Run("has nothing to watch for an ended monitor", func(t *testing.T) {
		if _, err := d.Stop(ctx, id); err != nil {
			t.Fatal(err)
		}
		_, err := d.Assign(ctx, id, 3)
		mustBe(t, err, monitor.NotFound)
	})
}

func full() monitor.Report {
	return monitor.Report{
		Generation:   1,
		At:           noon.Add(time.Minute),
		Status:       monitor.Monitoring,
		StreamStatus: monitor.StreamLive,
		Health:       monitor.Health{Video: monitor.Black, Audio: monitor.OK, LastCheckAt: noon.Add(50 * time.Second)},
		Statistics:   monitor.Statistics{TotalSegmentsAnalyzed: 7}.With(detector.Blackout, 1),
		Snapshot:     []byte(`{"v":1}`),
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

func TestReport(t *testing.T) {
	ctx := context.Background()
	started := func(t *testing.T) (desk, monitor.ID) {
		d := open(t, 50, nil)
		return d, d.registers("Q").ID
	}
	send := func(t *testing.T, d desk, id monitor.ID, r monitor.Report) monitor.Order {
		t.Helper()
		order, err := d.Report(ctx, id, r)
		if err != nil {
			t.Fatal(err)
		}
		return order
	}

	t.Run("is heard of, whether or not it can be stored", func(t *testing.T) {
		d, id := started(t)
		old := full()
		old.Generation = 99
		if _, err := d.Report(ctx, id, old); err == nil {
			t.Error("no error")
		}
		if heard := d.crew.Reporters(); len(heard) != 1 || heard[0] != id {
			t.Errorf("heard of %v", heard)
		}
	})

	t.Run("stores a full report as it is", func(t *testing.T) {
		d, id := started(t)
		if order := send(t, d, id, full()); order != monitor.Run {
			t.Errorf("order is %s", order)
		}
		m, _ := d.Get(ctx, id)
		if m.Status != monitor.Monitoring || m.Health != full().Health || m.Statistics != full().Statistics || string(m.Snapshot) != `{"v":1}` {
			t.Errorf("stored %+v", m)
		}
	})

	t.Run("takes the newest generation for one that is not given, and now for no time", func(t *testing.T) {
		d, id := started(t)
		d.store.Update(id, func(m *monitor.Monitor) { m.Generation = 5 })
		send(t, d, id, monitor.Report{Status: monitor.Waiting})
		if m, _ := d.Get(ctx, id); m.Status != monitor.Waiting || !m.UpdatedAt.Equal(noon) {
			t.Errorf("stored %+v", m)
		}
	})

	t.Run("leaves alone what a report leaves out", func(t *testing.T) {
		d, id := started(t)
		send(t, d, id, full())
		send(t, d, id, monitor.Report{})
		m, _ := d.Get(ctx, id)
		if m.Status != monitor.Monitoring || m.StreamStatus != monitor.StreamLive || m.Health != full().Health ||
			m.Statistics != full().Statistics || string(m.Snapshot) != `{"v":1}` {
			t.Errorf("stored %+v", m)
		}
	})

	t.Run("takes more segments analysed for a check, when the time of the last is left out", func(t *testing.T) {
		d, id := started(t)
		send(t, d, id, full())
		send(t, d, id, monitor.Report{At: noon.Add(2 * time.Minute), Statistics: monitor.Statistics{TotalSegmentsAnalyzed: 8}})
		if m, _ := d.Get(ctx, id); !m.Health.LastCheckAt.Equal(noon.Add(2 * time.Minute)) {
			t.Errorf("last check at %v", m.Health.LastCheckAt)
		}
	})

	t.Run("orders an end when the monitor has ended", func(t *testing.T) {
		d, id := started(t)
		if _, err := d.Stop(ctx, id); err != nil {
			t.Fatal(err)
		}
		if order := send(t, d, id, full()); order != monitor.Stop {
			t.Errorf("order is %s", order)
		}
		if m, _ := d.Get(ctx, id); m.Status != monitor.Stopped {
			t.Errorf("status is %s", m.Status)
		}
	})

	t.Run("stores nothing of an older generation", func(t *testing.T) {
		d, id := started(t)
		d.store.Update(id, func(m *monitor.Monitor) { m.Generation = 2 })
		if _, err := d.Report(ctx, id, full()); !errors.Is(err, monitor.ErrSuperseded) {
			t.Errorf("error is %v", err)
		}
		if m, _ := d.Get(ctx, id); m.Status != monitor.Initializing {
			t.Errorf("status is %s", m.Status)
		}
	})

	t.Run("stores each event once, its id in lower case", func(t *testing.T) {
		d, id := started(t)
		r := full()
		r.Events = []event.Event{blackout(1), blackout(2)}
		send(t, d, id, r)
		send(t, d, id, r)
		records, total, err := d.Events(ctx, id, 50, 0)
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

	t.Run("replaces what JSONB cannot hold rather than lose an event or a snapshot", func(t *testing.T) {
		d, id := started(t)
		r := full()
		r.Snapshot = []byte(`{"e":"a\u0000b\ud800c","kept":"\\u0000"}`)
		r.Events = []event.Event{{ID: blackout(1).ID, Type: event.SegmentError, At: noon,
			Data: event.Outage{StartedAt: noon, Failure: event.FailedSegment, LastError: "x\x00y"}}}
		send(t, d, id, r)
		if m, _ := d.Get(ctx, id); string(m.Snapshot) != `{"e":"a\ufffdb\ufffdc","kept":"\\u0000"}` {
			t.Errorf("snapshot is %s", m.Snapshot)
		}
		records, _, _ := d.Events(ctx, id, 50, 0)
		if len(records) != 1 || !strings.Contains(string(records[0].Payload), "x\ufffdy") {
			t.Errorf("events are %+v", records)
		}
	})

	for name, change := range map[string]func(*monitor.Report){
		"generation":                         func(r *monitor.Report) { r.Generation = -1 },
		"status":                             func(r *monitor.Report) { r.Status = "dancing" },
		"stream_status":                      func(r *monitor.Report) { r.StreamStatus = "lively" },
		"health.video":                       func(r *monitor.Report) { r.Health.Video = monitor.Silent },
		"health.audio":                       func(r *monitor.Report) { r.Health.Audio = monitor.Black },
		"statistics.total_segments_analyzed": func(r *monitor.Report) { r.Statistics.TotalSegmentsAnalyzed = -1 },
		"statistics.blackout_events":         func(r *monitor.Report) { r.Statistics = r.Statistics.With(detector.Blackout, 1<<31) },
		"statistics.silence_events":          func(r *monitor.Report) { r.Statistics = r.Statistics.With(detector.Silence, -5) },
		"at is in the year 10000":            func(r *monitor.Report) { r.At = time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -12*60*60)) },
		"health.last_check_at is in":         func(r *monitor.Report) { r.Health.LastCheckAt = time.Date(9999, 2, 1, 0, 0, 0, 0, time.UTC) },
		"snapshot is 262146 bytes":           func(r *monitor.Report) { r.Snapshot = []byte(`"` + strings.Repeat("x", registry.MaxSnapshot) + `"`) },
		"snapshot is not valid JSON":         func(r *monitor.Report) { r.Snapshot = []byte(`{`) },
		"events has 1001 entries":            func(r *monitor.Report) { r.Events = make([]event.Event, registry.MaxReportEvents+1) },
		"events[0]: event: unknown type":     func(r *monitor.Report) { r.Events = []event.Event{{}} },
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
		t.Run("refuses and names "+name, func(t *testing.T) {
			d, id := started(t)
			r := full()
			change(&r)
			_, err := d.Report(ctx, id, r)
			mustBe(t, err, monitor.InvalidConfig)
			if !strings.Contains(err.Error(), name) {
				t.Errorf("the message is %v", err)
			}
		})
	}

	t.Run("knows no monitor that was never registered", func(t *testing.T) {
		d, _ := started(t)
		_, err := d.Report(ctx, "mon-00000000000070008000000000000009", full())
		mustBe(t, err, monitor.NotFound)
	})
}

func TestAHeartbeatOfAWaitingWorkerReadsNoMonitor(t *testing.T) {
	ctx := context.Background()
	d := open(t, 50, nil)
	id := d.registers("Q").ID
	waiting := monitor.Report{
		Generation:   1,
		At:           noon.Add(time.Minute),
		Status:       monitor.Waiting,
		StreamStatus: monitor.StreamUpcoming,
		Health:       monitor.Health{Video: monitor.Unknown, Audio: monitor.Unknown},
		Snapshot:     []byte(`{"v":1}`),
	}
	var calls []string
	d.store.Fail = func(_ context.Context, op string) error {
		calls = append(calls, op)
		return nil
	}
	for range 3 {
		if _, err := d.Report(ctx, id, waiting); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"Accept", "Accept", "Accept"}; !slices.Equal(calls, want) {
		t.Errorf("three heartbeats called %v; expected %v", calls, want)
	}
}

func TestAReportWithoutAnyAnalysisKeepsTheTimeOfTheLastCheck(t *testing.T) {
	ctx := context.Background()
	d := open(t, 50, nil)
	id := d.registers("Q").ID
	if _, err := d.Report(ctx, id, full()); err != nil {
		t.Fatal(err)
	}
	later := full()
	later.At = noon.Add(2 * time.Minute)
	later.Health.LastCheckAt, later.Statistics = time.Time{}, monitor.Statistics{}
	if _, err := d.Report(ctx, id, later); err != nil {
		t.Fatal(err)
	}
	if m, _ := d.Get(ctx, id); !m.Health.LastCheckAt.Equal(full().Health.LastCheckAt) {
		t.Errorf("last check at %v; expected %v", m.Health.LastCheckAt, full().Health.LastCheckAt)
	}
}
