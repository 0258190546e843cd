package dash

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/Eyevinn/dash-mpd/mpd"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// run is a sequence of segments of one duration, as one S element lists it. Times
// are in units of the timescale.
type run struct {
	start, duration int64
	count           int64
	index           int64 // of the first segment in the SegmentTimeline
	openEnded       bool  // count is not stated (S@r is negative)
}

func (r run) end() int64 { return r.start + r.count*r.duration }

// newRun returns a run of count segments, or of fewer if their times would exceed
// MaxTicks.
func newRun(start, duration, count, index int64, timescale uint32) (run, *watch.Failure) {
	d, ok := toDuration(duration, timescale)
	if !ok || d < MinDuration || d > MaxDuration {
		return run{}, malformed("a segment shorter than %v or longer than %v", MinDuration, MaxDuration)
	}
	r := run{start: start, duration: duration, index: index}
	if r.count = min(count, (MaxTicks-start)/duration); r.count <= 0 {
		return run{}, timeTooLarge()
	}
	return r, nil
}

// timelineRuns returns the runs of a SegmentTimeline (ISO/IEC 23009-1, 5.3.9.6).
// Segments may overlap, but each begins after the one before. An odd S is left out, and its
// segments keep their numbers; of two that contradict each other the later one is used. problem
// says what was left out. startNumber is the number of index 0.
func timelineRuns(timeline []*mpd.S, timescale, startNumber uint32) (runs []run, problem string) {
	var next, index int64
	for i, s := range timeline {
		if s.N != nil {
			if n := int64(min(*s.N, MaxTicks)) - int64(startNumber); n >= index {
				index = n // those between are not available
			} else {
				problem = cmp.Or(problem, "S@n is below the numbers before it")
			}
		}
		if (s.R < 0 || hasPattern(s)) && i+1 < len(timeline) && timeline[i+1].T == nil {
			return runs, cmp.Or(problem, "an S of unknown length (S@r of -1, or S@p) before an S without a time") // nobody knows where the next ones are
		}
		r, openEnded, failure := timelineRun(timeline, i, next, index, timescale)
		if failure != nil {
			problem = cmp.Or(problem, failure.Detail)
			if s.R >= 0 && s.R < MaxEntries {
				index += int64(s.R) + 1
			}
			continue
		}
		for n := len(runs); n > 0 && r.start <= runs[n-1].end()-runs[n-1].duration; n = len(runs) {
			problem = cmp.Or(problem, "a SegmentTimeline that runs backwards")
			if runs[n-1].count = divideUp(r.start-runs[n-1].start, runs[n-1].duration); runs[n-1].count == 0 {
				runs = runs[:n-1]
			}
		}
		r.openEnded = openEnded
		runs = append(runs, r)
		next, index = r.end(), index+r.count
	}
	return runs, problem
}

// timelineRun returns the run of S number i, which begins at next unless it states a time.
func timelineRun(timeline []*mpd.S, i int, next, index int64, timescale uint32) (r run, openEnded bool, failure *watch.Failure) {
	s, start, ok := timeline[i], next, true
	if hasPattern(s) {
		return r, false, malformed("S@p is not supported")
	}
	if s.T != nil {
		start, ok = mediaTime(*s.T)
	}
	duration, okDuration := mediaTime(s.D)
	if !ok || !okDuration {
		return r, false, timeTooLarge()
	}
	count, openEnded := int64(math.MaxInt64), s.R < 0
	switch last := i == len(timeline)-1; {
	case !openEnded && s.R < math.MaxInt:
		count = int64(s.R) + 1
	case openEnded && !last && duration > 0:
		end, _ := mediaTime(*timeline[i+1].T)
		count, openEnded = divideUp(end-start, duration), false // the last segment may be shorter
	}
	r, failure = newRun(start, duration, count, index, timescale)
	return r, openEnded, failure
}

// hasPattern reports whether the durations of an S are those of a Pattern, which is not read.
func hasPattern(s *mpd.S) bool { return s.P != nil || s.PE != nil }

// window bounds the segments that are listed. A segment is in it if it ends after
// from and not after available, begins before end, and has an index below count.
type window struct {
	from, available, end int64
	count                int64
}

// unbounded is a window with every segment.
var unbounded = window{available: MaxTicks, end: MaxTicks, count: math.MaxInt64}

// timedSegment is one segment of a run. Its times are in units of the timescale.
type timedSegment struct{ start, duration, index int64 }

// newest returns the last segments of runs within w, at most limit, oldest first.
func newest(runs []run, w window, limit int) []timedSegment {
	var found []timedSegment
	for i := len(runs) - 1; i >= 0 && len(found) < limit; i-- {
		r := runs[i]
		last := min(r.count, w.count-r.index, divideUp(w.end-r.start, r.duration), divideDown(w.available-r.start, r.duration)) - 1
		first := divideDown(w.from-r.start, r.duration)
		for k := last; k >= first && len(found) < limit; k-- {
			found = append(found, timedSegment{r.start + k*r.duration, r.duration, r.index + k})
		}
	}
	slices.Reverse(found)
	return found
}

// divideDown divides n by a positive divisor and rounds down; a negative n counts as 0.
func divideDown(n, divisor int64) int64 { return max(0, n) / divisor }

// divideUp divides n by a positive divisor and rounds up; a negative n counts as 0.
func divideUp(n, divisor int64) int64 {
	if n <= 0 {
		return 0
	}
	return (n-1)/divisor + 1
}

// mediaTime converts a time of the library. It returns false beyond MaxTicks.
func mediaTime(n uint64) (int64, bool) {
	if n > MaxTicks {
		return 0, false
	}
	return int64(n), true
}

func timeTooLarge() *watch.Failure { return malformed("a segment of which a time is too large") }

// toDuration converts a media time, rounded towards zero. It returns false beyond
// MaxTime, or if timescale is 0.
func toDuration(ticks int64, timescale uint32) (time.Duration, bool) {
	if timescale == 0 {
		return 0, false
	}
	if ticks < 0 {
		d, ok := toDuration(-ticks, timescale)
		return -d, ok
	}
	high, low := bits.Mul64(uint64(max(0, ticks)), uint64(time.Second))
	if high >= uint64(timescale) {
		return 0, false
	}
	n, _ := bits.Div64(high, low, uint64(timescale))
	if n > uint64(MaxTime) {
		return 0, false
	}
	return time.Duration(n), true
}

// toTicks converts a duration to a media time between 0 and MaxTicks.
func toTicks(d time.Duration, timescale uint32) int64 {
	high, low := bits.Mul64(uint64(max(0, d)), uint64(timescale))
	if high >= uint64(time.Second) {
		return MaxTicks
	}
	n, _ := bits.Div64(high, low, uint64(time.Second))
	return int64(min(n, MaxTicks))
}
