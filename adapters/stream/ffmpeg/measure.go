package ffmpeg

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// sample is one measurement of a frame: luma from 0 to 255, or level in dBFS.
type sample struct {
	at    time.Duration
	value float64
}

// maxMeasures limits the measures of one segment. A segment lasts seconds; its
// timestamps may claim more.
const maxMeasures = 600

// measures returns one measure for each second of the segment that has a sample. Its
// luma is the mean, its level that of the mean power.
func measures(luma, level []sample) []watch.Measure {
	type second struct {
		first               time.Duration
		luma, power         float64
		pictures, fragments int
	}
	seconds := map[time.Duration]*second{}
	of := func(at time.Duration) *second {
		key := at.Truncate(time.Second)
		s := seconds[key]
		switch {
		case s == nil && len(seconds) == maxMeasures:
			return &second{}
		case s == nil:
			s = &second{first: at}
			seconds[key] = s
		}
		s.first = min(s.first, at)
		return s
	}
	for _, picture := range luma {
		s := of(picture.at)
		s.luma, s.pictures = s.luma+min(max(picture.value, 0), watch.MaxLuma), s.pictures+1
	}
	for _, fragment := range level {
		s := of(fragment.at)
		s.power, s.fragments = s.power+math.Pow(10, min(fragment.value, 0)/10), s.fragments+1
	}
	var all []watch.Measure
	for _, key := range slices.Sorted(maps.Keys(seconds)) {
		s := seconds[key]
		m := watch.Measure{At: s.first}
		if s.pictures > 0 {
			luma := round(s.luma / float64(s.pictures))
			m.Luma = &luma
		}
		if s.fragments > 0 {
			level := round(max(10*math.Log10(s.power/float64(s.fragments)), watch.MinLevel))
			m.Level = &level
		}
		all = append(all, m)
	}
	return all
}

// round rounds to one decimal: luma and level are less exact than that.
func round(v float64) float64 { return math.Round(v*10) / 10 }
