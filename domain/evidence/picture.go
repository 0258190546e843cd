package evidence

import "github.com/stream-monitor/stream-monitor/domain/trouble"

// Measures at which a picture or a sound shows nothing of its condition.
const (
	brightLuma = 64  // mean luma, 0 to 255
	loudest    = 0   // dBFS
	quietest   = -90 // dBFS, from which on silence is as clear as it gets
)

// unmeasured is the clarity of a file without a measure, or of a condition that no
// measure shows.
const unmeasured = 0.5

// BestPicture returns the picture that shows the condition of an alert, and how clearly,
// from 0 to 1. It is the level plot of a silence, the last picture before an outage or
// blindness, else the picture at the onset. A recovery shows no condition.
func (r Record) BestPicture() (f File, clarity float64, ok bool) {
	if r.Phase != AlertPhase {
		return File{}, 0, false
	}
	variants := []Variant{Onset, Level}
	switch r.Condition {
	case trouble.Silent:
		variants = []Variant{Level, Onset}
	case trouble.NoMedia, trouble.Blind: // no media show an onset
		variants = []Variant{Before, Level}
	}
	for _, v := range variants {
		if f, has := r.File(v); has {
			return f, r.clarity(f), true
		}
	}
	return File{}, 0, false
}

func (r Record) clarity(f File) float64 {
	if f.Measure == nil {
		return unmeasured
	}
	switch {
	case r.Condition == trouble.Black && f.Variant == Onset:
		return clamp(1 - *f.Measure/brightLuma)
	case r.Condition == trouble.Silent && f.Variant == Level:
		return clamp((loudest - *f.Measure) / (loudest - quietest))
	}
	return unmeasured
}

func clamp(x float64) float64 { return max(0, min(1, x)) }
