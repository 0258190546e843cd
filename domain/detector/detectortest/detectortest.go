// Package detectortest changes the table of detectors for one test. Add shows what
// follows from a further row. Only keeps the rows whose documents and JSON the test
// compares in full, so that a new detector does not change the test.
package detectortest

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Imaginary is a made-up detector. No product detector may have its name.
var Imaginary = detector.Detector{
	Name:      "imaginary",
	Track:     detector.Video,
	Health:    "imaginary",
	Condition: "imagined",
	Alert:     "alert.imaginary",
	Recovered: "alert.imaginary_recovered",
	Threshold: detector.Setting{Field: "imaginary_threshold_sec", Min: 5, Max: 600, Default: 45, Whole: true, Help: "Seconds."},
	Settings:  []detector.Setting{{Field: "imaginary_difference", Min: 0, Max: 1, Default: 0.25, Help: "Difference."}},
	Statistic: "imaginary_events",
	Criteria:  []detector.Criterion{{Name: "difference", Setting: "imaginary_difference"}},
	Words: detector.Words{
		English: detector.Phrases{
			Title: "Imagined video", State: "imagined", Lasts: "Imagined for {lasted}.", Alert: "Picture is imagined", Recovered: "Picture is real",
			Means: "Imagined is a difference over {difference}.", First: "look at the mind.", Check: "Does anybody dream?",
			Settings: map[string]string{"imaginary_threshold_sec": "Imagined: alert after, s", "imaginary_difference": "Imagined is over"},
		},
		Japanese: detector.Phrases{
			Title: "架空の映像", State: "架空", Lasts: "映像が{lasted}架空。", Alert: "架空の映像", Recovered: "実在の映像",
			Means: "差が{difference}を超えれば架空。", First: "心の中", Check: "夢を見ていませんか。",
			Settings: map[string]string{"imaginary_threshold_sec": "架空のアラートまで（秒）", "imaginary_difference": "架空とみなす差"},
		},
	},
	Rises: []detector.Rise{{After: 0, Severity: 0}, {After: time.Minute, Severity: 1}},
}

// Optional is a made-up detector that is off unless a registration has its name.
var Optional = detector.Detector{
	Name:      "made_up",
	Track:     detector.Audio,
	Health:    "made_up",
	Condition: "made_up_heard",
	Alert:     "alert.made_up",
	Recovered: "alert.made_up_recovered",
	Threshold: detector.Setting{Field: "detectors.made_up.threshold_sec", Min: 1, Max: 3600, Default: 40, Whole: true, Help: "Seconds."},
	Settings:  []detector.Setting{{Field: "detectors.made_up.above_db", Min: -60, Max: 0, Default: -6.5, Help: "Level."}},
	Statistic: "made_up_events",
	Optional:  true,
	Words:     detector.Words{English: madeUp, Japanese: madeUp},
}

var madeUp = detector.Phrases{
	Title: "Made-up sound", State: "made up", Lasts: "Made up for {lasted}.", Alert: "Sound is made up", Recovered: "Sound is real",
	Means: "Made up is what nobody plays.", First: "look at the score.", Check: "Does anybody play?",
	Settings: map[string]string{"detectors.made_up.threshold_sec": "Made up: alert after, s", "detectors.made_up.above_db": "Made up is over, dB"},
}

// test is the part of a testing.TB that the functions here need.
type test interface {
	Helper()
	Cleanup(func())
}

// Add adds a row to detector.Table until the test ends. The test must not run
// in parallel with others.
func Add(t test, d detector.Detector) {
	t.Helper()
	set(t, append(slices.Clone(detector.Table), d))
}

// Only reduces detector.Table to the named rows, in this order, until the test
// ends. It panics if no row has a name. The test must not run in parallel with
// others.
func Only(t test, names ...detector.Name) {
	t.Helper()
	var rows []detector.Detector
	for _, name := range names {
		rows = append(rows, detector.Table[detector.Index(name)])
	}
	set(t, rows)
}

func set(t test, rows []detector.Detector) {
	before := detector.Table
	t.Cleanup(func() { detector.Table = before })
	detector.Table = rows
}
