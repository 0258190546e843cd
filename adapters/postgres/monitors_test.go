package postgres_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestARegistrationIsStoredOrRefused(t *testing.T) {
	t.Run("all fields are stored, metadata byte for byte", func(t *testing.T) {
		s := open(t, database(t))
		m := registration(1)
		start := noon.Add(time.Hour)
		m.Config.ScheduledStartTime = &start
		if err := s.Insert(t.Context(), m, unlimited); err != nil {
			t.Fatal(err)
		}
		m.Number = 1
		if back := getMonitor(t, s, m.ID); !reflect.DeepEqual(back, m) {
			t.Errorf("stored\n%+v, back came\n%+v", m, back)
		}
	})

	t.Run("a reservation counts against the stream and the maximum", func(t *testing.T) {
		s := open(t, database(t))
		m := registration(1)
		m.Status, m.StreamStatus, m.ReservedUntil = monitor.Waiting, monitor.StreamUpcoming, noon.Add(90*time.Minute)
		if err := s.Insert(t.Context(), m, 1); err != nil {
			t.Fatal(err)
		}
		m.Number = 1
		if back := getMonitor(t, s, m.ID); !reflect.DeepEqual(back, m) {
			t.Errorf("stored\n%+v, back came\n%+v", m, back)
		}
		requireCode(t, s.Insert(t.Context(), registration(1), unlimited), monitor.Duplicate)
		requireCode(t, s.Insert(t.Context(), registration(2), 1), monitor.MaxMonitorsExceeded)
	})

	t.Run("an active stream is refused with the id of its monitor", func(t *testing.T) {
		s := open(t, database(t))
		first := register(t, s, 1)
		e := requireCode(t, s.Insert(t.Context(), registration(1), unlimited), monitor.Duplicate)
		if !strings.Contains(e.Message, string(first.ID)) {
			t.Errorf("the message does not name %s: %s", first.ID, e.Message)
		}
	})

	t.Run("a stream whose monitor has ended is accepted", func(t *testing.T) {
		s := open(t, database(t))
		first := register(t, s, 1)
		if _, err := s.End(t.Context(), first.ID, monitor.Stopped, "", nil, noon); err != nil {
			t.Fatal(err)
		}
		register(t, s, 1)
	})

	t.Run("repeating after a lost answer is no error", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		if err := s.Insert(t.Context(), m, unlimited); err != nil {
			t.Error(err)
		}
	})

	t.Run("at the maximum the next is refused until one ends", func(t *testing.T) {
		s := open(t, database(t))
		first := register(t, s, 1)
		requireCode(t, s.Insert(t.Context(), registration(2), 1), monitor.MaxMonitorsExceeded)
		if _, err := s.End(t.Context(), first.ID, monitor.Stopped, "", nil, noon); err != nil {
			t.Fatal(err)
		}
		if err := s.Insert(t.Context(), registration(2), 1); err != nil {
			t.Error(err)
		}
	})

	for name, metadata := range map[string]string{
		"a NUL character":                 `{"a":"\u0000"}`,
		"half a surrogate pair":           `{"a":"\ud800"}`,
		"a number beyond all bounds":      `{"a":1e999999}`,
		"bytes that are not UTF-8":        "{\"a\":\"\xff\"}",
		"nesting that exhausts the stack": `{"a":` + strings.Repeat("[", 8000) + strings.Repeat("]", 8000) + `}`,
	} {
		t.Run("metadata with "+name+" is never an internal error", func(t *testing.T) {
			s := open(t, database(t))
			m := registration(1)
			m.Metadata = json.RawMessage(metadata)
			if err := s.Insert(t.Context(), m, unlimited); err != nil {
				requireCode(t, err, monitor.InvalidConfig)
			}
		})
	}
}

// insertAll inserts all concurrently through the stores and counts the outcomes.
func insertAll(t *testing.T, limit int, stores []*postgres.Store, all []monitor.Monitor) map[monitor.Code]int {
	t.Helper()
	outcomes := make(chan error, len(all))
	var wg sync.WaitGroup
	for i, m := range all {
		wg.Go(func() { outcomes <- stores[i%len(stores)].Insert(t.Context(), m, limit) })
	}
	wg.Wait()
	close(outcomes)
	counts := map[monitor.Code]int{}
	for err := range outcomes {
		if err == nil {
			counts["stored"]++
			continue
		}
		e, ok := errors.AsType[*monitor.Error](err)
		if !ok {
			t.Fatal(err)
		}
		counts[e.Code]++
	}
	return counts
}

func TestConcurrentRegistrationsKeepTheRules(t *testing.T) {
	t.Run("one of 200 for one stream is stored", func(t *testing.T) {
		dsn := database(t)
		var all []monitor.Monitor
		for range 200 {
			all = append(all, registration(1))
		}
		counts := insertAll(t, unlimited, []*postgres.Store{open(t, dsn), open(t, dsn)}, all)
		if counts["stored"] != 1 || counts[monitor.Duplicate] != 199 {
			t.Errorf("outcomes: %v", counts)
		}
	})

	t.Run("50 of 200 are stored if 50 is the maximum", func(t *testing.T) {
		dsn := database(t)
		var all []monitor.Monitor
		for n := range 200 {
			all = append(all, registration(n))
		}
		counts := insertAll(t, 50, []*postgres.Store{open(t, dsn), open(t, dsn)}, all)
		if counts["stored"] != 50 || counts[monitor.MaxMonitorsExceeded] != 150 {
			t.Errorf("outcomes: %v", counts)
		}
	})
}

func TestMonitorsAreReadAndListed(t *testing.T) {
	t.Run("an unknown monitor is not found", func(t *testing.T) {
		s := open(t, database(t))
		_, err := s.Get(t.Context(), registration(1).ID)
		requireCode(t, err, monitor.NotFound)
	})

	t.Run("a list is newest first, in pages, with the total", func(t *testing.T) {
		s := open(t, database(t))
		var want []monitor.ID
		for n := range 5 {
			want = append([]monitor.ID{register(t, s, n).ID}, want...)
		}
		page, total, err := s.List(t.Context(), monitors.MonitorQuery{Limit: 2, Offset: 1})
		if err != nil {
			t.Fatal(err)
		}
		if total != 5 || !slices.Equal(listedIDs(page), want[1:3]) {
			t.Errorf("total %d, page %v, want %v", total, listedIDs(page), want[1:3])
		}
		page, total, err = s.List(t.Context(), monitors.MonitorQuery{Limit: 2, Offset: 10})
		if err != nil || total != 5 || len(page) != 0 {
			t.Errorf("beyond the end: %d of %d, %v", len(page), total, err)
		}
	})

	t.Run("a list may have one status", func(t *testing.T) {
		s := open(t, database(t))
		register(t, s, 1)
		stopped := register(t, s, 2)
		if _, err := s.End(t.Context(), stopped.ID, monitor.Stopped, "", nil, noon); err != nil {
			t.Fatal(err)
		}
		page, total, err := s.List(t.Context(), monitors.MonitorQuery{Status: monitor.Stopped, Limit: 10})
		if err != nil || total != 1 || !slices.Equal(listedIDs(page), []monitor.ID{stopped.ID}) {
			t.Errorf("%v of %d, %v", listedIDs(page), total, err)
		}
	})
}

func ids(all []monitor.Monitor) []monitor.ID {
	var list []monitor.ID
	for _, m := range all {
		list = append(list, m.ID)
	}
	return list
}

func TestAMonitorEndsOnce(t *testing.T) {
	t.Run("an active monitor gets status, reason, time and a last event", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		last := monitorError(event.ReasonWorkerLost)
		after, err := s.End(t.Context(), m.ID, monitor.Failed, event.ReasonWorkerLost, &last, noon)
		if err != nil {
			t.Fatal(err)
		}
		if after.Status != monitor.Failed || after.Reason != event.ReasonWorkerLost || !after.EndedAt.Equal(noon) {
			t.Errorf("it stands at %s, %q, %v", after.Status, after.Reason, after.EndedAt)
		}
		if l := leaseOne(t, s); l.ID != last.ID {
			t.Errorf("pending is %s, want %s", l.ID, last.ID)
		}
	})

	t.Run("an ended reservation is no reservation", func(t *testing.T) {
		s := open(t, database(t))
		m := registration(1)
		m.Status, m.ReservedUntil = monitor.Waiting, noon.Add(time.Hour)
		if err := s.Insert(t.Context(), m, unlimited); err != nil {
			t.Fatal(err)
		}
		after, err := s.End(t.Context(), m.ID, monitor.Stopped, "", nil, noon)
		if err != nil || after.Status != monitor.Stopped || !after.ReservedUntil.IsZero() {
			t.Errorf("it stands at %+v, %v", after, err)
		}
	})

	t.Run("an ended monitor does not change", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		if _, err := s.End(t.Context(), m.ID, monitor.Stopped, "", nil, noon); err != nil {
			t.Fatal(err)
		}
		last := monitorError(event.ReasonWorkerLost)
		after, err := s.End(t.Context(), m.ID, monitor.Failed, event.ReasonWorkerLost, &last, noon.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if after.Status != monitor.Stopped || after.Reason != "" || !after.EndedAt.Equal(noon) {
			t.Errorf("it stands at %s, %q, %v", after.Status, after.Reason, after.EndedAt)
		}
		if n := len(lease(t, s)); n != 0 {
			t.Errorf("%d events are pending", n)
		}
	})

	t.Run("one of two concurrent ends counts", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				last := monitorError(event.ReasonWorkerLost)
				if _, err := s.End(t.Context(), m.ID, monitor.Failed, event.ReasonWorkerLost, &last, noon); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if _, total, err := s.Events(t.Context(), m.ID, 10, 0); err != nil || total != 1 {
			t.Errorf("%d last events, %v", total, err)
		}
	})

	t.Run("an unknown monitor is not found", func(t *testing.T) {
		s := open(t, database(t))
		_, err := s.End(t.Context(), registration(1).ID, monitor.Stopped, "", nil, noon)
		requireCode(t, err, monitor.NotFound)
	})

	t.Run("an active status is no end", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		if _, err := s.End(t.Context(), m.ID, monitor.Waiting, "", nil, noon); err == nil {
			t.Error("it was accepted")
		}
	})
}

func BenchmarkRegister(b *testing.B) {
	s := open(b, database(b))
	var took []time.Duration
	n := 0
	for b.Loop() {
		began := time.Now()
		register(b, s, n)
		took = append(took, time.Since(began))
		n++
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
