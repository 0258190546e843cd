package dash

import (
	"math"
	"math/bits"
	"time"

	"github.com/Eyevinn/dash-mpd/mpd"
)

// run is segments of one length, one after the other. Times are in units of
// the timescale.
type run struct {
	from, length int64
	count        int64
	index        int64 // of its first segment among all
	open         bool  // count is not stated: as many as fit
}

// to is where a run ends.
func (r run) to() int64 { return r.from + r.count*r.length }

// fit is how many segments of a length fit between from and MaxTicks.
func fit(from, length int64) int64 { return (MaxTicks - from) / length }

// newRun makes a run of count segments, or fewer: no more than times allow for.
func newRun(from, length, count, index int64, timescale uint32) (run, error) {
	long, ok := scale(length, timescale)
	if !ok || long < MinDuration || long > MaxDuration {
		return run{}, malformed("a segment shorter than %v or longer than %v", MinDuration, MaxDuration)
	}
	r := run{from: from, length: length, index: index}
	if r.count = min(count, fit(from, length)); r.count <= 0 {
		return run{}, tooLarge()
	}
	return r, nil
}

// timelineRuns makes runs of a SegmentTimeline (ISO/IEC 23009-1, 5.3.9.6).
// Segments may overlap, but each begins after the one before.
func timelineRuns(timeline []*mpd.S, timescale uint32) ([]run, error) {
	var runs []run
	var next, index int64
	for i, s := range timeline {
		from, ok := next, true
		if s.T != nil {
			from, ok = mediaTime(*s.T)
		}
		length, okLength := mediaTime(s.D)
		if !ok || !okLength {
			return nil, tooLarge()
		}
		count, open := int64(math.MaxInt64), s.R < 0
		switch last := i == len(timeline)-1; {
		case !open && s.R < math.MaxInt:
			count = int64(s.R) + 1
		case open && !last && timeline[i+1].T == nil:
			return nil, malformed("S@r of -1 before an S without a time")
		case open && !last && length > 0:
			until, _ := mediaTime(*timeline[i+1].T)
			count, open = ceil(until-from, length), false // the last one may be cut short
		}
		r, err := newRun(from, length, count, index, timescale)
		if err != nil {
			return nil, err
		}
		if n := len(runs); n > 0 && r.from <= runs[n-1].to()-runs[n-1].length {
			return nil, malformed("a SegmentTimeline that runs backwards")
		}
		r.open = open
		runs = append(runs, r)
		next, index = r.to(), index+r.count
	}
	return runs, nil
}

// span is which segments are wanted: those that end after from and by there,
// begin before end, and have a lower index than count.
type span struct {
	from, there, end int64
	count            int64
}

// point is one segment of a run.
type point struct{ at, length, index int64 }

// newest gives the last segments of runs within s, at most room of them, oldest
// first.
func newest(runs []run, s span, room int) []point {
	var found []point
	for i := len(runs) - 1; i >= 0 && len(found) < room; i-- {
		r := runs[i]
		last := min(r.count, s.count-r.index, ceil(s.end-r.from, r.length), floor(s.there-r.from, r.length)) - 1
		first := max(0, floor(s.from-r.from, r.length))
		for k := last; k >= first && len(found) < room; k-- {
			found = append(found, point{r.from + k*r.length, r.length, r.index + k})
		}
	}
	for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
		found[i], found[j] = found[j], found[i]
	}
	return found
}

// floor divides; by what is positive. Less than nothing is nothing.
func floor(n, by int64) int64 { return max(0, n) / by }

func ceil(n, by int64) int64 {
	if n <= 0 {
		return 0
	}
	return (n-1)/by + 1
}

// mediaTime is a time as the library reads it; false: more than MaxTicks.
func mediaTime(n uint64) (int64, bool) {
	if n > MaxTicks {
		return 0, false
	}
	return int64(n), true
}

func tooLarge() error { return malformed("a segment whose time is too large") }

// scale is a media time as a duration, rounded towards zero; false: it is more
// than MaxTime, or has no timescale.
func scale(ticks int64, timescale uint32) (time.Duration, bool) {
	if timescale == 0 {
		return 0, false
	}
	if ticks < 0 {
		d, ok := scale(-ticks, timescale)
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

// ticks is a duration as a media time, at most MaxTicks and not negative.
func ticks(d time.Duration, timescale uint32) int64 {
	high, low := bits.Mul64(uint64(max(0, d)), uint64(timescale))
	if high >= uint64(time.Second) {
		return MaxTicks
	}
	n, _ := bits.Div64(high, low, uint64(time.Second))
	return int64(min(n, MaxTicks))
}
