package detector

import (
	"math"
	"time"
)

// The detectors of the sound beside Silence (section 6.8).
const (
	LoudnessLow  Name = "loudness_low"  // too quiet
	LoudnessHigh Name = "loudness_high" // too loud
	Clipping     Name = "clipping"      // distorted, because it reaches full scale again and again
	OneSided     Name = "one_sided"     // one channel is missing, or one is the inverse of the other
)

const (
	belowLUFS    = "detectors.loudness_low.below_lufs"
	aboveLUFS    = "detectors.loudness_high.above_lufs"
	clippedShare = "detectors.clipping.share"
	sidesDiffer  = "detectors.one_sided.difference_db"
)

var loudnessLow = Detector{
	Name: LoudnessLow, Track: Audio, Health: "quiet", Condition: "quiet",
	Alert: "alert.loudness_low", Recovered: "alert.loudness_low_recovered", Statistic: "loudness_low_events", Optional: true,
	Threshold: Setting{
		Field: "detectors.loudness_low.threshold_sec", Min: 1, Max: 3600, Default: 30, Whole: true,
		Help: "Seconds of sound that is too quiet before alert.loudness_low.",
	},
	Settings: []Setting{{Field: belowLUFS, Min: -49, Max: -5, Default: -40, Help: "The loudness in LUFS below which sound is too quiet."}},
	Criteria: []Criterion{{Name: "below_lufs", Setting: belowLUFS}},
	Words:    loudnessLowWords,
	Rises:    slowRises,
	Example:  map[string]float64{"loudness_lufs": -47.5},
	Needs:    Sound,
	Rule: judgeSound(func(s *SoundMeasure, lasts bool, setting func(string) float64) (bool, map[string]float64) {
		return s.Loudness < setting(belowLUFS)+margin(lasts), map[string]float64{"loudness_lufs": s.Loudness}
	}),
}

var loudnessHigh = Detector{
	Name: LoudnessHigh, Track: Audio, Health: "loud", Condition: "loud",
	Alert: "alert.loudness_high", Recovered: "alert.loudness_high_recovered", Statistic: "loudness_high_events", Optional: true,
	Threshold: Setting{
		Field: "detectors.loudness_high.threshold_sec", Min: 1, Max: 3600, Default: 30, Whole: true,
		Help: "Seconds of sound that is too loud before alert.loudness_high.",
	},
	Settings: []Setting{{Field: aboveLUFS, Min: -30, Max: 0, Default: -5, Help: "The loudness in LUFS above which sound is too loud."}},
	Criteria: []Criterion{{Name: "above_lufs", Setting: aboveLUFS}},
	Words:    loudnessHighWords,
	Rises:    slowRises,
	Example:  map[string]float64{"loudness_lufs": -3.2},
	Needs:    Sound,
	Rule: judgeSound(func(s *SoundMeasure, lasts bool, setting func(string) float64) (bool, map[string]float64) {
		return s.Loudness > setting(aboveLUFS)-margin(lasts), map[string]float64{"loudness_lufs": s.Loudness}
	}),
}

var clipping = Detector{
	Name: Clipping, Track: Audio, Health: "clipped", Condition: "clipped",
	Alert: "alert.clipping", Recovered: "alert.clipping_recovered", Statistic: "clipping_events", Optional: true,
	Threshold: Setting{
		Field: "detectors.clipping.threshold_sec", Min: 1, Max: 3600, Default: 30, Whole: true,
		Help: "Seconds of clipped sound before alert.clipping.",
	},
	Settings: []Setting{{Field: clippedShare, Min: 0.01, Max: 1, Default: 0.2, Help: "The share of moments of 100 ms at full scale, of 1, from which sound is clipped."}},
	Criteria: []Criterion{{Name: "share_at_least", Setting: clippedShare}},
	Words:    clippingWords,
	Rises:    slowRises,
	Example:  map[string]float64{"full_scale_share": 0.42},
	Needs:    Sound,
	Rule: judgeSound(func(s *SoundMeasure, lasts bool, setting func(string) float64) (bool, map[string]float64) {
		limit := setting(clippedShare)
		if lasts {
			limit *= 2.0 / 3
		}
		if s.FullScale < 0 {
			return false, nil
		}
		return s.FullScale >= limit, map[string]float64{"full_scale_share": s.FullScale}
	}),
}

var oneSided = Detector{
	Name: OneSided, Track: Audio, Health: "one_sided", Condition: "one_sided",
	Alert: "alert.one_sided", Recovered: "alert.one_sided_recovered", Statistic: "one_sided_events", Optional: true,
	Threshold: Setting{
		Field: "detectors.one_sided.threshold_sec", Min: 1, Max: 3600, Default: 60, Whole: true,
		Help: "Seconds in which a channel is missing or inverted before alert.one_sided.",
	},
	Settings: []Setting{{Field: sidesDiffer, Min: 10, Max: 90, Default: 30, Help: "The difference of the two channels in dB from which one counts as missing."}},
	Criteria: []Criterion{{Name: "difference_db_at_least", Setting: sidesDiffer}, {Name: "correlation_at_most", Value: inverted}},
	Words:    oneSidedWords,
	Rises:    slowRises,
	Example:  map[string]float64{"left_dbfs": -21.4, "right_dbfs": -120, "correlation": 0},
	Needs:    Sound,
	Rule: judgeSound(func(s *SoundMeasure, lasts bool, setting func(string) float64) (bool, map[string]float64) {
		if s.Channels != 2 || max(s.Left, s.Right) < heard {
			return false, nil
		}
		difference, correlation := setting(sidesDiffer), inverted
		if lasts {
			difference, correlation = difference-6, invertedStays
		}
		return math.Abs(s.Left-s.Right) >= difference || s.Correlation <= correlation,
			map[string]float64{"left_dbfs": s.Left, "right_dbfs": s.Right, "correlation": s.Correlation}
	}),
}

const (
	enoughSound   = 300 * time.Millisecond // of blocks above the gate, for a loudness that means something
	heard         = -50.0                  // dBFS of the louder channel
	inverted      = -0.9                   // correlation; inverted stereo looks like widened stereo, so only inverted mono is certain
	invertedStays = -0.7

	maxUnknown = 30 * time.Second // after which a condition without an alert is forgotten
)

// margin is by how many dB the loudness has to be inside of a limit before a condition ends.
func margin(lasts bool) float64 { return truth(lasts) }

// soundMemory is the memory of a detector of the sound.
type soundMemory struct {
	Bad     bool          `json:"bad,omitempty"`
	Unknown time.Duration `json:"unknown,omitempty"` // of the samples before
}

// judgeSound makes the Rule of a detector that judges the sound of a sample as a whole. isBad gets
// whether the sample before was bad, and returns the numbers that decided, or none if they say nothing.
// Time that is known to be silent, or too short, says nothing: silence has an alert of its own.
func judgeSound(isBad func(s *SoundMeasure, lasts bool, setting func(string) float64) (bool, map[string]float64)) Rule {
	return remembering(func(m soundMemory, _ time.Time, s Sample, setting func(string) float64) (soundMemory, Verdict) {
		m.Bad = m.Bad && !s.Before.IsZero()
		var bad bool
		var values map[string]float64
		if s.Sound != nil && s.Sound.Loud >= enoughSound {
			bad, values = isBad(s.Sound, m.Bad, setting)
		}
		if values == nil {
			m.Unknown += s.To.Sub(s.From)
			if !s.Before.IsZero() {
				m.Unknown += max(0, s.From.Sub(s.Before))
			}
			forget := m.Unknown >= maxUnknown
			m.Bad = m.Bad && !forget
			return m, Verdict{Unknown: true, Forget: forget}
		}
		m = soundMemory{Bad: bad}
		v := Verdict{Values: values}
		if bad {
			v.Bad = []Period{{s.From, s.To}}
		}
		return m, v
	})
}
