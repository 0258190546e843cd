package postgres_test

import (
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// numbersOf returns the numbers of the monitors in the list, the oldest first.
func numbersOf(t testing.TB, s monitors.MonitorStore) (numbers []int) {
	t.Helper()
	page, _, err := s.List(t.Context(), monitors.MonitorQuery{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
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
		if got := numbersOf(t, s); !slices.Equal(got, want) {
			t.Fatalf("%s the numbers are %v, want %v", when, got, want)
		}
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
	if m := getMonitor(t, s, second.ID); m.Number != 2 {
		t.Errorf("the ended monitor has the number %d", m.Number)
	}
}
