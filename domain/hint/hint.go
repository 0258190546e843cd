package hint

import (
	"maps"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Facts are what the hints about an active monitor follow from.
type Facts struct {
	MonitorID monitor.ID
	SilenceDB float64                       // the level below which its sound counts as silent, in dBFS
	Minutes   []monitor.Minute              // of MinutesRead, in any order; of two workers in one minute, both
	Onsets    map[incident.Name][]time.Time // of the conditions of its incidents, in any order; one may be there twice

	ScheduledStart time.Time // of a stream that has not started yet; zero: it has, or has no planned start
	Earlier        []Start   // of the same channel, the newest first
}

// Hints returns the hints that hold at the time now.
func (f Facts) Hints(now time.Time) (all []monitor.Hint) {
	if h, ok := quieter(now, f.Minutes, f.SilenceDB); ok {
		all = append(all, h)
	}
	for _, name := range incident.Names() {
		if h, ok := recurring(now, name, f.Onsets[name]); ok {
			all = append(all, h)
		}
	}
	if h, ok := lateStarts(now, f.ScheduledStart, f.Earlier); ok {
		all = append(all, h)
	}
	return all
}

// MonitorHint is a hint about a monitor.
type MonitorHint struct {
	MonitorID monitor.ID `json:"monitor_id"`
	monitor.Hint
}

// Changes are the differences between the hints that were stored and those that hold.
type Changes struct {
	Begun   []MonitorHint
	Changed []MonitorHint // with other numbers, and the Since that was stored
	Ended   []MonitorHint
}

// Empty reports whether nothing has changed.
func (c Changes) Empty() bool { return len(c.Begun)+len(c.Changed)+len(c.Ended) == 0 }

// Compare returns what has changed. A hint that goes on keeps the time since which it holds.
func Compare(stored, holding []MonitorHint) (c Changes) {
	find := func(all []MonitorHint, h MonitorHint) int {
		return slices.IndexFunc(all, func(o MonitorHint) bool { return o.MonitorID == h.MonitorID && o.Same(h.Hint) })
	}
	for _, h := range holding {
		at := find(stored, h)
		if at < 0 {
			c.Begun = append(c.Begun, h)
		} else if was := stored[at]; !maps.Equal(was.Numbers, h.Numbers) {
			h.Since = was.Since
			c.Changed = append(c.Changed, h)
		}
	}
	for _, s := range stored {
		if find(holding, s) < 0 {
			c.Ended = append(c.Ended, s)
		}
	}
	return c
}
