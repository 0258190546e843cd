package postgres

import (
	"encoding/json"
	"fmt"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// specifiedCounts are the detectors whose alerts have a column of their own in
// monitor_stats (section 9.1). Those of all others are in detector_events, by
// the detector's name.
var specifiedCounts = map[detector.Name]bool{detector.Blackout: true, detector.Silence: true}

// otherCounts is the value of detector_events for s.
func otherCounts(s monitor.Statistics) (string, error) {
	counts := map[detector.Name]int{}
	for _, d := range detector.Table {
		if n := s.Alerts(d.Name); n > 0 && !specifiedCounts[d.Name] {
			counts[d.Name] = n
		}
	}
	raw, err := json.Marshal(counts)
	if err != nil {
		return "", fmt.Errorf("counts of detectors: %w", err)
	}
	return string(raw), nil
}

// statistics puts together what monitor_stats holds. Counts of detectors that
// this program does not know stay in the database and are not shown.
func statistics(total, blackouts, silences int, others []byte) (monitor.Statistics, error) {
	s := monitor.Statistics{TotalSegmentsAnalyzed: total}.With(detector.Blackout, blackouts).With(detector.Silence, silences)
	var counts map[detector.Name]int
	if err := json.Unmarshal(others, &counts); err != nil {
		return s, fmt.Errorf("counts of detectors: %w", err)
	}
	for _, d := range detector.Table {
		if n, counted := counts[d.Name]; counted {
			s = s.With(d.Name, n)
		}
	}
	return s, nil
}
