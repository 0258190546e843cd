package postgres

import (
	"encoding/json"
	"fmt"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// hasColumn contains the detectors whose alerts have a column of their own in
// monitor_stats (section 9.1). The column detector_events holds the counts of all other
// detectors, by the detector's name.
var hasColumn = map[detector.Name]bool{detector.Blackout: true, detector.Silence: true}

// encodeDetectorEvents returns the value of the column detector_events.
func encodeDetectorEvents(s monitor.Statistics) (string, error) {
	counts := map[detector.Name]int{}
	for _, d := range detector.Table {
		if n := s.Alerts(d.Name); n > 0 && !hasColumn[d.Name] {
			counts[d.Name] = n
		}
	}
	raw, err := json.Marshal(counts)
	if err != nil {
		return "", fmt.Errorf("counts of detectors: %w", err)
	}
	return string(raw), nil
}

// statistics decodes the counts of a row of monitor_stats. It leaves out a detector that
// only a newer version of this program knows; the row keeps its count.
func statistics(total, blackouts, silences int, detectorEvents []byte) (monitor.Statistics, error) {
	s := monitor.Statistics{TotalSegmentsAnalyzed: total}.With(detector.Blackout, blackouts).With(detector.Silence, silences)
	var counts map[detector.Name]int
	if err := json.Unmarshal(detectorEvents, &counts); err != nil {
		return s, fmt.Errorf("counts of detectors: %w", err)
	}
	for _, d := range detector.Table {
		if n, counted := counts[d.Name]; counted {
			s = s.With(d.Name, n)
		}
	}
	return s, nil
}
