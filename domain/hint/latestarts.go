package hint

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of lateStarts.
const (
	EarlierWithin = 90 * 24 * time.Hour // the age of an earlier stream
	MaxEarlier    = 10                  // the number of earlier streams that are looked at
	AheadOfStart  = time.Hour           // how long before the planned start the hint begins
	minStreams    = 3
	minLate       = 3 * time.Minute
)

// Start is when an earlier stream was to start, and when it did.
type Start struct {
	Stream            monitor.StreamURL
	Scheduled, Actual time.Time
}

// lateStarts finds that at least minStreams of a channel in a row, up to the newest, began late. It holds from an hour
// before the planned start until the stream starts. A stream that was registered again counts once.
func lateStarts(now, scheduled time.Time, earlier []Start) (monitor.Hint, bool) {
	if scheduled.IsZero() || scheduled.Sub(now) > AheadOfStart {
		return monitor.Hint{}, false
	}
	var late []time.Duration // of each stream
	counted := map[monitor.StreamURL]bool{}
	for _, s := range earlier[:min(len(earlier), MaxEarlier)] {
		by := s.Actual.Sub(s.Scheduled)
		if by < minLate || now.Sub(s.Actual) > EarlierWithin {
			break
		}
		if !counted[s.Stream] {
			counted[s.Stream], late = true, append(late, by.Truncate(time.Second))
		}
	}
	if len(late) < minStreams {
		return monitor.Hint{}, false
	}
	return monitor.Hint{Kind: monitor.LateStarts, Since: now, Numbers: map[string]float64{
		"streams": float64(len(late)), "min_late_sec": slices.Min(late).Seconds(), "max_late_sec": slices.Max(late).Seconds(),
	}}, true
}
