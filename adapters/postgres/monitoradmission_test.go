package postgres_test

import (
	"maps"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

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
