package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Limits of Minutes.
const (
	MaxReported = 60      // minutes in one report
	maxPending  = 24 * 60 // minutes kept while the gateway is away; older ones are dropped

	// A segment states its own length and its timestamps. One that states days would
	// push the true minutes out.
	maxMeasured      = 10 * time.Minute // of one segment
	measureTolerance = 10 * time.Second // after its end: a segment may last longer than its playlist says
)

// Limits of Acceptable.
const (
	maxAhead = 15 * time.Minute // program time may be 10 minutes ahead of the worker's clock
	maxAge   = maxPending*time.Minute + time.Hour
)

// MergedLength is the time of the minutes that are merged into one row, once they do not
// change any more.
const MergedLength = 10 * time.Minute

// MinutesKept limits the age of single minutes. Then the merged ones stand for them.
const MinutesKept = 7 * 24 * time.Hour

// SettledBefore returns the time before which no minute changes any more at the time now:
// the gateway accepts none of them. It is the end of a MergedLength. The hour between is for
// gateways whose clocks differ.
func SettledBefore(now time.Time) time.Time {
	return now.Add(-maxAge - time.Hour).Truncate(MergedLength)
}

// Acceptable reports why the gateway does not store a minute that it got at the time now.
// The minute is invalid, more than 15 minutes ahead, or older than workers keep any.
func Acceptable(m monitor.Minute, now time.Time) error {
	if err := m.Valid(); err != nil {
		return err
	}
	if ahead := m.At.Sub(now); ahead > maxAhead || -ahead > maxAge {
		return fmt.Errorf("at is %s; accepted is from %v before now to %v after it", m.At.Format(time.RFC3339), maxAge, maxAhead)
	}
	return nil
}

// Minutes collects the measurements of one worker by the minute, and keeps each
// minute until the gateway has accepted all of it. The zero value is ready to use.
type Minutes struct {
	pending []pendingMinute // ascending
}

type pendingMinute struct {
	monitor.Minute

	accepted bool // the gateway has stored it as it is
}

// Add adds the measures of a segment of a length whose first timestamp was at the time
// start. It drops measures outside the segment, and those of a minute before the oldest
// one kept.
func (m *Minutes) Add(start time.Time, length time.Duration, measures []watch.Measure) {
	for _, measure := range measures {
		if measure.At < 0 || measure.At > min(length, maxMeasured)+measureTolerance {
			continue
		}
		at := start.Add(measure.At).UTC()
		minute := m.minute(at)
		if minute == nil {
			continue
		}
		minute.accepted = false
		if measure.Luma != nil {
			minute.Luma = minute.Luma.Add(*measure.Luma)
		}
		if measure.Level != nil {
			minute.Level = minute.Level.Add(*measure.Level)
		}
	}
}

// minute returns the minute of a time, a new one if need be.
func (m *Minutes) minute(at time.Time) *pendingMinute {
	begin := at.Truncate(time.Minute)
	i, found := slices.BinarySearchFunc(m.pending, begin, func(p pendingMinute, t time.Time) int { return p.At.Compare(t) })
	if found {
		return &m.pending[i]
	}
	if i == 0 && len(m.pending) == maxPending {
		return nil
	}
	m.pending = slices.Insert(m.pending, i, pendingMinute{Minute: monitor.Minute{At: begin, Since: at}})
	if len(m.pending) > maxPending {
		m.pending = m.pending[1:]
		i--
	}
	return &m.pending[i]
}

// Next returns the oldest minutes that the gateway has not accepted as they are, at
// most MaxReported.
func (m *Minutes) Next() (minutes []monitor.Minute) {
	for _, p := range m.pending {
		if !p.accepted && len(minutes) < MaxReported {
			minutes = append(minutes, p.Minute)
		}
	}
	return minutes
}

// Accepted records that the gateway has stored minutes that Next returned. One that
// has grown since is returned again. The newest two minutes stay, because more
// measurements may follow: analyses end out of the order of their media.
func (m *Minutes) Accepted(minutes []monitor.Minute) {
	for _, stored := range minutes {
		for i := range m.pending {
			if m.pending[i].Minute == stored {
				m.pending[i].accepted = true
			}
		}
	}
	for len(m.pending) > 2 && m.pending[0].accepted {
		m.pending = m.pending[1:]
	}
}
