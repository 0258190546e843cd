package detector

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// Blackout is a black picture (section 6.3).
const Blackout Name = "blackout"

var blackout = Detector{
	Name:      Blackout,
	Track:     Video,
	Health:    "black",
	Condition: trouble.Black,
	Alert:     "alert.blackout",
	Recovered: "alert.blackout_recovered",
	Threshold: Setting{
		Field: "blackout_threshold_sec", Min: 1, Max: 3600, Default: 30, Whole: true,
		Help: "Seconds of black picture before alert.blackout.",
	},
	Statistic: "blackout_events",
	Criteria:  []Criterion{{Name: "luma_below_percent", Value: BlackLumaPercent}, {Name: "area_percent", Value: BlackAreaPercent}},
	Words:     blackoutWords,
	Clarity:   Clarity{None: 64, Full: 0, Unclear: 40},

	Minimum: 100 * time.Millisecond, BadWithoutTrack: true, // the filter blackdetect reports nothing shorter
}

// The criteria of black (section 6.3): pixels of at most so much luma, in so much of the
// picture.
const (
	BlackLumaPercent = 10
	BlackAreaPercent = 98
)
