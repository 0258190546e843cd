package hint

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of lateStarts.
const (
	EarlierWithin = 90 * 24 * time.Hour // the age of an earlier stream
	MaxEarlier    = 10                  // earlier streams that are looked at
	AheadOfStart  = time.Hour           // when the hint begins
	leastStreams  = 3
	leastLate     = 3 * time.Minute
)

// Start is when an earlier stream was to start and when it did.
type Start struct {
	Stream            monitor.StreamURL
	Scheduled, Actual time.Time
}

// lateStarts finds that the last streams of a channel began late. It counts from the newest back to the first that
// did not; leastStreams are needed. It holds from an hour before the planned start until the stream starts.
// A stream that was registered again counts once.
func lateStarts(now, scheduled time.Time, earlier []Start) (monitor.Hint, bool) {
	if scheduled.IsZero() || scheduled.Sub(now) > AheadOfStart {
		return monitor.Hint{}, false
	}
	var least, most time.Duration
	streams := map[monitor.StreamURL]bool{}
	for _, s := range earlier[:min(len(earlier), MaxEarlier)] {
		late := s.Actual.Sub(s.Scheduled)
		if late < leastLate || now.Sub(s.Actual) > EarlierWithin {
			break
		}
		if streams[s.Stream] {
			continue
		}
		if streams[s.Stream] = true; len(streams) == 1 {
			least = late
		}
		least, most = min(least, late), max(most, late)
	}
	if len(streams) < leastStreams {
		return monitor.Hint{}, false
	}
	return monitor.Hint{Kind: monitor.LateStarts, Since: now, Numbers: map[string]float64{
		"streams": float64(len(streams)), "min_late_sec": least.Truncate(time.Second).Seconds(), "max_late_sec": most.Truncate(time.Second).Seconds(),
	}}, true
}
