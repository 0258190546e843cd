package postgres_test

import (
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestAnAlertKeepsTheCriteriaOfItsMonitor(t *testing.T) {
	s := open(t, database(t))
	m := registration(1)
	m.Config.Set(detector.SilenceDB, -35.5)
	check(t, s.Insert(t.Context(), m, unlimited))
	silence := event.Event{
		ID: uuid.Must(uuid.NewV7()).String(), Type: event.Silence, At: noon.Add(31 * time.Second),
		Data: event.Alert{DurationSec: 31, StartedAt: noon, ThresholdSec: 30},
	}
	acceptReport(t, s, m.ID, report(silence), monitor.Run)
	page, err := s.ListIncidents(t.Context(), incidents.Filter{Limit: 2})
	if err != nil || len(page) != 1 {
		t.Fatalf("%d incidents, %v", len(page), err)
	}
	a := page[0].Conditions[0].Alert
	if a == nil || a.EventID != silence.ID || a.DurationSec != 31 || a.ThresholdSec != 30 || !maps.Equal(a.Criteria, map[string]float64{"level_below_db": -35.5}) {
		t.Errorf("the alert is %+v", a)
	}
}
