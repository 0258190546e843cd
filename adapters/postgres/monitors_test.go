package postgres_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestARegistrationIsStoredOrRefused(t *testing.T) {
	t.Run("all fields are stored, metadata byte for byte", func(t *testing.T) {
		s := open(t, database(t))
		m, start := registration(1), noon.Add(time.Hour)
		m.Config.ScheduledStartTime = &start
		m.Status, m.StreamStatus, m.ReservedUntil = monitor.Waiting, monitor.StreamUpcoming, noon.Add(90*time.Minute)
		check(t, s.Insert(t.Context(), m, 1))
		m.Number = 1
		expect(t, "the stored monitor", getMonitor(t, s, m.ID), m)
		requireCode(t, errorOf(s.Get(t.Context(), registration(2).ID)), monitor.NotFound)
	})

	t.Run("one active monitor watches a stream, and no more than the maximum are active, reservations too", func(t *testing.T) {
		for _, status := range []monitor.Status{monitor.Initializing, monitor.Waiting} {
			s := open(t, database(t))
			first := registration(1)
			if first.Status = status; status == monitor.Waiting {
				first.ReservedUntil = noon.Add(time.Hour)
			}
			for range 2 { // the answer to the first was lost
				check(t, s.Insert(t.Context(), first, 1))
			}
			e := requireCode(t, s.Insert(t.Context(), registration(1), unlimited), monitor.Duplicate)
			expectText(t, "the message", e.Message, string(first.ID))
			requireCode(t, s.Insert(t.Context(), registration(2), 1), monitor.MaxMonitorsExceeded)
			stopMonitor(t, s, first.ID)
			check(t, s.Insert(t.Context(), registration(1), 1))
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
			m := registration(1)
			m.Metadata = json.RawMessage(metadata)
			if err := open(t, database(t)).Insert(t.Context(), m, unlimited); err != nil {
				requireCode(t, err, monitor.InvalidConfig)
			}
		})
	}
}

// Two gateways register 200 monitors at once.
func TestConcurrentRegistrationsKeepTheRules(t *testing.T) { // also section 16.6
	for name, c := range map[string]struct {
		stream  func(n int) int
		limit   int
		stored  int
		refusal monitor.Code
	}{
		"one of one stream is stored":                       {func(int) int { return 1 }, unlimited, 1, monitor.Duplicate},
		"50 are stored, if 50 is the maximum, and numbered": {func(n int) int { return n }, 50, 50, monitor.MaxMonitorsExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			gateways, _ := newGateways(t)
			outcomes := make([]error, 200)
			atOnce(t, len(outcomes), func(n int) error {
				outcomes[n] = gateways[n%2].Insert(t.Context(), registration(c.stream(n)), c.limit)
				return nil
			})
			for _, err := range outcomes {
				if err != nil {
					requireCode(t, err, c.refusal)
				}
			}
			numbers := numbersOf(t, gateways[0])
			expectLen(t, "stored monitors", numbers, c.stored)
			for i, n := range numbers {
				require(t, "a number, in the order of registration", n, i+1)
			}
		})
	}
}

func ids(all []monitor.Monitor) []monitor.ID {
	var list []monitor.ID
	for _, m := range all {
		list = append(list, m.ID)
	}
	return list
}

func TestAMonitorEndsOnce(t *testing.T) {
	s := open(t, database(t))
	last := monitorError(event.ReasonWorkerLost)
	fail := func(id monitor.ID) {
		must(s.End(t.Context(), id, monitor.Failed, event.ReasonWorkerLost, &last, noon))(t)
	}

	t.Run("an active monitor gets status, reason, time and a last event", func(t *testing.T) {
		m := registration(1)
		m.Status, m.ReservedUntil = monitor.Waiting, noon.Add(time.Hour)
		check(t, s.Insert(t.Context(), m, unlimited))
		fail(m.ID)
		expectEnd(t, s, m.ID, monitor.Failed, event.ReasonWorkerLost)
		expect(t, "until when it is reserved", getMonitor(t, s, m.ID).ReservedUntil, time.Time{})
		expect(t, "the pending delivery", leaseOne(t, s).ID, last.ID)
	})

	t.Run("an ended monitor does not change", func(t *testing.T) {
		m := register(t, s, 2)
		stopMonitor(t, s, m.ID)
		fail(m.ID)
		expectEnd(t, s, m.ID, monitor.Stopped, "")
		expectLen(t, "its events", eventTypes(t, s, m.ID), 0)
	})

	t.Run("one of several concurrent ends counts", func(t *testing.T) {
		m := register(t, s, 3)
		atOnce(t, 20, func(int) error {
			last := monitorError(event.ReasonWorkerLost)
			return errorOf(s.End(t.Context(), m.ID, monitor.Failed, event.ReasonWorkerLost, &last, noon))
		})
		expectLen(t, "its events", eventTypes(t, s, m.ID), 1)
	})

	t.Run("an unknown monitor is not found, and an active status is no end", func(t *testing.T) {
		requireCode(t, errorOf(s.End(t.Context(), registration(4).ID, monitor.Stopped, "", nil, noon)), monitor.NotFound)
		expectFailure(t, "an end with an active status", errorOf(s.End(t.Context(), register(t, s, 5).ID, monitor.Waiting, "", nil, noon)))
	})
}

func TestOnlyActiveMonitorsWatchAStream(t *testing.T) { // section 16.6
	s := open(t, database(t))
	watching, ended := register(t, s, 1), register(t, s, 2)
	register(t, s, 3)
	stopMonitor(t, s, ended.ID)
	streams := []monitor.StreamURL{watching.StreamURL, ended.StreamURL, registration(4).StreamURL}
	got, active, err := s.ActiveStreams(t.Context(), streams)
	if want := map[monitor.StreamURL]monitor.ID{watching.StreamURL: watching.ID}; err != nil || active != 2 || !maps.Equal(got, want) {
		t.Errorf("got %v, %d active, %v", got, active, err)
	}
}

// numbersOf returns the numbers of the monitors in the list, the oldest first.
func numbersOf(t testing.TB, s monitors.MonitorStore) (numbers []int) {
	t.Helper()
	page, _, err := s.List(t.Context(), monitors.MonitorQuery{Limit: 200})
	check(t, err)
	for _, m := range slices.Backward(page) {
		numbers = append(numbers, m.Number)
	}
	return numbers
}

func TestANewMonitorGetsTheSmallestFreeNumber(t *testing.T) { // section 16.6
	s, db := newStore(t)
	first, second := register(t, s, 1), register(t, s, 2)
	register(t, s, 3)
	require := func(when string, want ...int) {
		t.Helper()
		require(t, when, numbersOf(t, s), want)
	}
	require("in the order of registration", 1, 2, 3)
	check(t, s.Insert(t.Context(), first, unlimited))
	requireCode(t, s.Insert(t.Context(), registration(3), unlimited), monitor.Duplicate)
	register(t, s, 4)
	require("after a repeated and a refused registration", 1, 2, 3, 4)
	for _, m := range []monitor.Monitor{first, second} {
		stopMonitor(t, s, m.ID)
	}
	register(t, s, 5)
	require("soon after an end", 1, 2, 3, 4, 5)
	alter(t, db, `UPDATE monitor_numbers SET free_at = free_at - interval '10 minutes' WHERE number = 2`)
	register(t, s, 6)
	register(t, s, 7)
	require("10 minutes after the end of the second", 1, 2, 3, 4, 5, 2, 6)
	expect(t, "the number of the ended monitor", getMonitor(t, s, second.ID).Number, 2)
}
