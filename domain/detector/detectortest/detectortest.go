// Package detectortest adds made-up detectors to the table, so that a test can
// show what follows from a row.
package detectortest

import (
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Frozen is a made-up third detector, of pictures that do not move.
var Frozen = detector.Detector{
	Name:      "frozen",
	Track:     detector.Video,
	Health:    "frozen",
	Alert:     "alert.frozen",
	Recovered: "alert.frozen_recovered",
	Threshold: detector.Setting{Field: "frozen_threshold_sec", Min: 5, Max: 600, Default: 45, Whole: true, Help: "Seconds."},
	Settings:  []detector.Setting{{Field: "frozen_difference", Min: 0, Max: 1, Default: 0.25, Help: "Difference."}},
	Statistic: "frozen_events",
}

// test is the part of a testing.TB that Add needs.
type test interface {
	Helper()
	Cleanup(func())
}

// Add adds a row to detector.Table until the test ends. The test must not run
// in parallel with others.
func Add(t test, d detector.Detector) {
	t.Helper()
	before := detector.Table
	t.Cleanup(func() { detector.Table = before })
	detector.Table = append(slices.Clone(before), d)
}
