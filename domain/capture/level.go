package capture

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Limits of the sound levels that a Tracker remembers. Program time comes from the
// stream, so their number is limited, too.
const (
	rememberedLevels = 10 * time.Minute
	maxLevels        = 600
)

// Level is the sound of about a second.
type Level struct {
	At   time.Time // on the media timeline
	DBFS float64   // RMS, watch.MinLevel to 0
}

// addLevels returns levels with the measures of a segment. They replace those of its time
// that were known before.
func addLevels(levels []Level, s watch.Segment, measures []watch.Measure) []Level {
	if s.ProgramTime.IsZero() || !slices.ContainsFunc(measures, func(m watch.Measure) bool { return m.Level != nil }) {
		return levels
	}
	forgotten := s.End().Add(-rememberedLevels)
	levels = slices.DeleteFunc(levels, func(l Level) bool {
		return l.At.Before(forgotten) || !l.At.Before(s.ProgramTime) && l.At.Before(s.End())
	})
	for _, m := range measures {
		// The timestamps of a segment may claim any time.
		if m.Level != nil && m.At >= 0 && m.At < s.Duration {
			levels = append(levels, Level{s.ProgramTime.Add(m.At), *m.Level})
		}
	}
	return levels[max(0, len(levels)-maxLevels):]
}

// levelsBetween returns the levels of a time, oldest first.
func levelsBetween(levels []Level, from, to time.Time) []Level {
	var some []Level
	for _, l := range levels {
		if !l.At.Before(from) && l.At.Before(to) {
			some = append(some, l)
		}
	}
	slices.SortFunc(some, func(a, b Level) int { return a.At.Compare(b.At) })
	return some
}
