package hint

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of recurring.
const (
	RecurringWithin = time.Hour
	minTimes        = 3
)

// recurring finds a condition that has begun at least minTimes within the last hour. It holds since the onset that
// made it minTimes. A late start and the end of a monitor do not come back.
func recurring(now time.Time, name incident.Name, onsets []time.Time) (monitor.Hint, bool) {
	if name == incident.Late || name == incident.Error {
		return monitor.Hint{}, false
	}
	recent := slices.DeleteFunc(slices.Clone(onsets), func(t time.Time) bool { return t.After(now) || now.Sub(t) >= RecurringWithin })
	slices.SortFunc(recent, time.Time.Compare)
	recent = slices.CompactFunc(recent, time.Time.Equal) // what one incident takes over from another keeps its onset
	if len(recent) < minTimes {
		return monitor.Hint{}, false
	}
	return monitor.Hint{Kind: monitor.Recurring, Condition: name, Since: recent[minTimes-1], Numbers: map[string]float64{
		"times": float64(len(recent)), "within_sec": RecurringWithin.Seconds(),
	}}, true
}
