package detector

import "time"

// TestPattern is colour bars, or a tone of 1 kHz, alone or with them (section 6.8).
const TestPattern Name = "test_pattern"

const toneAlone = "detectors.test_pattern.tone_alone"

var testPattern = Detector{
	Name: TestPattern, Track: Video, Health: "test_pattern", Condition: "test_pattern",
	Alert: "alert.test_pattern", Recovered: "alert.test_pattern_recovered", Statistic: "test_pattern_events", Optional: true,
	Threshold: Setting{
		Field: "detectors.test_pattern.threshold_sec", Min: 1, Max: 3600, Default: 10, Whole: true,
		Help: "Seconds of colour bars or test tone before alert.test_pattern.",
	},
	Settings: []Setting{{
		Field: toneAlone, Min: 0, Max: 1, Default: 1, Whole: true,
		Help: "1: a tone of 1 kHz counts without colour bars too; 0: it does not, because music may hold tones.",
	}},
	Criteria: []Criterion{{Name: "bar_strips_at_least", Value: barsBegin}, {Name: "tone_share_at_least", Value: toneShare}},
	Words:    testPatternWords,
	Example:  map[string]float64{"bar_strips": 12, "tone_share": 0.97},
	Needs:    Pictures | Tone, Rule: remembering(judgeTestPattern),
}

const (
	barsBegin = 3 // strips of a picture, of BarStrips, that show the bars
	barsStay  = 2
	toneShare = 0.8 // of the blocks of a sample
)

// testPatternMemory is what was seen in the sample before, and heard in the newest one with sound.
type testPatternMemory struct {
	Bars  bool     `json:"bars,omitempty"`
	Tones int      `json:"tones,omitempty"` // samples in a row with the tone, up to enoughTones
	Share *float64 `json:"share,omitempty"` // of the tone; nil: there was no sound
}

// enoughTones is how many samples in a row need the tone if there are no bars.
const enoughTones = 2

// judgeTestPattern finds bars in one picture. Tone alone needs two samples. Sound of another feed has samples of its
// own: what the newest one told lasts until the next.
func judgeTestPattern(m testPatternMemory, since time.Time, s Sample, setting func(string) float64) (testPatternMemory, Verdict) {
	if s.Before.IsZero() {
		m = testPatternMemory{}
	}
	hears := s.Tone != nil && s.Tone.Blocks > 0
	if len(s.Pictures) == 0 && !hears {
		return m, Verdict{Unknown: true, Since: since}
	}
	switch {
	case hears && s.Tone.Share >= toneShare:
		m.Share, m.Tones = &s.Tone.Share, min(m.Tones+1, enoughTones)
	case hears:
		m.Share, m.Tones = &s.Tone.Share, 0
	case !s.OtherSound:
		m.Share, m.Tones = nil, 0
	}
	v := Verdict{Values: map[string]float64{}}
	begin := s.From // of bars that last
	for i, p := range s.Pictures {
		v.Values["bar_strips"] = float64(p.Bars)
		is := p.Bars >= barsBegin || m.Bars && p.Bars >= barsStay
		switch at := s.At(p.At); {
		case is && !m.Bars && i > 0:
			begin = at
		case !is && m.Bars && at.After(begin):
			v.Bad = append(v.Bad, Period{begin, at})
		}
		m.Bars = is
	}
	if m.Bars {
		v.Bad = append(v.Bad, Period{begin, s.To})
	}
	if m.Share != nil {
		v.Values["tone_share"] = *m.Share
	}
	if m.Tones > 0 && setting(toneAlone) > 0 {
		if since.IsZero() {
			since = s.From
		}
		if v.Since = since; m.Tones == enoughTones {
			v.Bad = []Period{{since, s.To}}
		}
	}
	return m, v
}
