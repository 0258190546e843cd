package hint

import (
	"math"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of quieter.
const (
	minFall      = 3.0             // dB in each minute
	minFalls     = 5               // minutes in a row
	minMeasured  = 5               // measurements in a minute
	maxMinuteAge = 5 * time.Minute // of the newest whole minute since its end: an older one says nothing about now
)

// MinutesRead is how far back minutes are read. At minFall in a minute, a fall through all audible levels is shorter.
const MinutesRead = 30 * time.Minute

// quieter finds sound that has fallen from minute to minute until now. Both the mean and the highest level of
// a minute have to fall, so that a pause between words counts for nothing. The newest minute is left out,
// because it may still grow. A minute that is missing, silent or hardly measured ends the search.
func quieter(now time.Time, minutes []monitor.Minute, silenceDB float64) (monitor.Hint, bool) {
	all := merged(minutes)
	if len(all) < minFalls+2 {
		return monitor.Hint{}, false
	}
	last := len(all) - 2
	first := last
	for first > 0 && falls(all[first-1], all[first], silenceDB) {
		first--
	}
	n := last - first
	if n < minFalls || now.Sub(all[last].At.Add(time.Minute)) > maxMinuteAge {
		return monitor.Hint{}, false
	}
	return monitor.Hint{Kind: monitor.Quieter, Since: all[first].At, Numbers: map[string]float64{
		"minutes":       float64(n),
		"db_per_minute": tenths((all[first].Level.Mean - all[last].Level.Mean) / float64(n)),
		"level_db":      tenths(all[last].Level.Mean),
	}}, true
}

// falls reports whether the minute b follows a and is quieter.
func falls(a, b monitor.Minute, silenceDB float64) bool {
	return b.At.Sub(a.At) == time.Minute && min(a.Level.N, b.Level.N) >= minMeasured && b.Level.Mean > silenceDB &&
		min(a.Level.Mean-b.Level.Mean, a.Level.Max-b.Level.Max) >= minFall
}

// merged returns the minutes in order, those of two workers as one.
func merged(minutes []monitor.Minute) (all []monitor.Minute) {
	for _, m := range slices.SortedFunc(slices.Values(minutes), func(a, b monitor.Minute) int { return a.At.Compare(b.At) }) {
		if n := len(all); n > 0 && all[n-1].At.Equal(m.At) {
			all[n-1].Level = all[n-1].Level.Merge(m.Level)
			continue
		}
		all = append(all, m)
	}
	return all
}

func tenths(v float64) float64 { return math.Round(v*10) / 10 }
