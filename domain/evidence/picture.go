package evidence

import (
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// unmeasured is the clarity of a file without a measure, or of a condition that no
// measure shows.
const unmeasured = 0.5

// BestPicture returns the picture that shows the condition of an alert, and how clearly,
// from 0 to 1. For a detector of the sound it is the level plot. For an outage or blindness it is
// the last picture before, and otherwise the picture at the onset. A recovery shows no condition.
func (r Record) BestPicture() (f File, clarity float64, ok bool) {
	if r.Phase != AlertPhase {
		return File{}, 0, false
	}
	var scale detector.Clarity
	variants := []Variant{Onset, Level}
	if d, detected := detector.Of(r.Condition); detected {
		scale = d.Clarity
		if d.Track == detector.Audio {
			variants = []Variant{Level, Onset}
		}
	}
	if r.Condition == trouble.NoMedia || r.Condition == trouble.Blind { // no media show an onset
		variants = []Variant{Before, Level}
	}
	for n, v := range variants {
		f, has := r.File(v)
		switch {
		case !has:
			continue
		case n > 0 || f.Measure == nil || scale.None == scale.Full:
			return f, unmeasured, true
		}
		return f, clamp((scale.None - *f.Measure) / (scale.None - scale.Full)), true
	}
	return File{}, 0, false
}

func clamp(x float64) float64 { return max(0, min(1, x)) }

// Picture is a file of evidence with its bytes.
type Picture struct {
	File

	Bytes []byte
}
