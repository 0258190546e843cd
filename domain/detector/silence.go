package detector

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// Silence is sound below a level in all channels (section 6.4).
const Silence Name = "silence"

var silence = Detector{
	Name:      Silence,
	Track:     Audio,
	Health:    "silent",
	Condition: trouble.Silent,
	Alert:     "alert.silence",
	Recovered: "alert.silence_recovered",
	Threshold: Setting{
		Field: "silence_threshold_sec", Min: 1, Max: 3600, Default: 30, Whole: true,
		Help: "Seconds of silence before alert.silence.",
	},
	Settings: []Setting{{
		Field: SilenceDB, Min: -100, Max: 0, Default: -50,
		Help: "The loudness in dB below which sound counts as silence.",
	}},
	Statistic: "silence_events",
	Criteria:  []Criterion{{Name: "level_below_db", Setting: SilenceDB}},
	Words:     silenceWords,
	Clarity:   Clarity{None: 0, Full: -90}, // nothing is quieter for people

	// The analyser reports shorter silence: two on both sides of a boundary may be one long one.
	Minimum: 500 * time.Millisecond, BadWithoutTrack: true,
}

// SilenceDB is the setting that says which loudness, in dB, is silence
// (section 6.4).
const SilenceDB = "silence_db_threshold"
