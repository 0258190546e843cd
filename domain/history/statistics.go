package history

import (
	"maps"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Unit is the length of the periods of statistics.
type Unit string

// The units of statistics.
const (
	Hour Unit = "hour"
	Day  Unit = "day"
)

// MaxPeriods limits the periods of one answer.
const MaxPeriods = 2000

// Period is a time from From until To, without To.
type Period struct{ From, To time.Time }

// Periods returns the hours or days of a time zone that overlap the time from from
// until to, at most MaxPeriods+1. A day lasts 23 or 25 hours where the clock is
// changed; an hour begins at a full hour of the zone.
func Periods(unit Unit, zone *time.Location, from, to time.Time) (periods []Period) {
	begin := beginning(unit, from.In(zone))
	for begin.Before(to) && len(periods) <= MaxPeriods {
		end := following(unit, begin)
		periods = append(periods, Period{begin, end})
		begin = end
	}
	return periods
}

func beginning(unit Unit, t time.Time) time.Time {
	if unit == Day {
		return dayStart(t.Year(), t.Month(), t.Day(), t.Location())
	}
	return t.Add(-time.Duration(t.Minute())*time.Minute - time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
}

// dayStart returns the first instant of a day. It is not midnight where the clock skips midnight or the
// whole day, and the first of two midnights where the clock is set back to it.
func dayStart(year int, month time.Month, day int, zone *time.Location) time.Time {
	midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	start := midnight.Add(-26 * time.Hour).In(zone) // the day before, whatever the offset
	for {
		_, offset := start.Zone()
		if at := midnight.Add(-time.Duration(offset) * time.Second); at.After(start) {
			start = at.In(zone)
		}
		if _, now := start.Zone(); now == offset {
			return start
		}
		// The clock is changed before this midnight: go on from the change.
		change, _ := start.ZoneBounds()
		start = change
	}
}

func following(unit Unit, begin time.Time) time.Time {
	if unit == Day {
		return dayStart(begin.Year(), begin.Month(), begin.Day()+1, begin.Location())
	}
	if end := beginning(unit, begin.Add(time.Hour)); end.After(begin) {
		return end
	}
	return begin.Add(time.Hour) // the clock is set back by less than an hour
}

// The times that Totals counts beside the conditions of the detectors.
const (
	Watched  = "watched" // the state of the segments was known
	Out      = "out"     // no media, alerted
	BlindID  = "blind"   // nothing could be learned, alerted
	PausedID = "paused"  // nobody was to look
)

// Totals sums up spans and alerts.
type Totals struct {
	Time      map[string]time.Duration // watched, each detector's condition (black, silent), out, blind, paused
	Alerts    int
	Incidents int
	ToAlert   Delay
}

// Delay has the mean and the longest of the times from onset to alert.
type Delay struct {
	Sum, Max time.Duration
	N        int
}

func (d Delay) plus(o Delay) Delay { return Delay{d.Sum + o.Sum, max(d.Max, o.Max), d.N + o.N} }

// NewTotals returns totals of nothing, with every time that is counted for each monitor. An
// optional detector has its time once it has found something.
func NewTotals() Totals {
	t := Totals{Time: map[string]time.Duration{Watched: 0, Out: 0, BlindID: 0, PausedID: 0}}
	for _, d := range detector.Table {
		if !d.Optional {
			t.Time[d.Health] = 0
		}
	}
	return t
}

// Add adds the parts of n spans that are in the period. s has the means of their beginnings and of
// their ends. If n is more than 1, no two of the beginnings, and no two of the ends, are parted by an
// end of the period.
func (t *Totals) Add(p Period, s Span, n int) {
	d := time.Duration(n) * overlap(p.From, p.To, s.From, s.To)
	if d == 0 {
		return
	}
	switch {
	case s.State == Paused:
		if s.Lane == Stream {
			t.Time[PausedID] += d
		}
	case s.Lane == Segments && s.State != Unknown:
		t.Time[Watched] += d
		if s.State == NoMedia {
			t.Time[Out] += d
		}
	case s.Lane == Stream && s.State == Blind:
		t.Time[BlindID] += d
	case (s.Lane == Video || s.Lane == Audio) && s.State.Trouble():
		t.Time[string(s.State)] += d
	}
}

// Alert is the time of an alert and the onset that it gives.
type Alert struct {
	MonitorID monitor.ID
	At        time.Time
	Onset     time.Time
}

// AddAlerts counts the alerts of a delay if their time is in the period.
func (t *Totals) AddAlerts(p Period, at time.Time, d Delay) {
	if at.Before(p.From) || !at.Before(p.To) {
		return
	}
	t.Alerts += d.N
	t.ToAlert = t.ToAlert.plus(d)
}

// AddIncident counts an incident if it was opened in the period.
func (t *Totals) AddIncident(p Period, openedAt time.Time) {
	if !openedAt.Before(p.From) && openedAt.Before(p.To) {
		t.Incidents++
	}
}

// firstEndingAfter returns the index of the first period that ends after t.
func firstEndingAfter(periods []Period, t time.Time) int {
	i, _ := slices.BinarySearchFunc(periods, t, func(p Period, t time.Time) int {
		if p.To.After(t) {
			return 1
		}
		return -1
	})
	return i
}

// Summary sums up spans, alerts and incidents over periods. It keeps none of them, so its
// memory is that of the totals.
type Summary struct {
	Periods  []Totals // as the periods that were asked for
	Monitors map[monitor.ID]*Totals
	Total    Totals // of each monitor and of all, from the first period to the last

	periods []Period
}

// NewSummary returns a summary over at least one period. Periods are in order and do not
// overlap.
func NewSummary(periods []Period) *Summary {
	s := &Summary{make([]Totals, len(periods)), map[monitor.ID]*Totals{}, NewTotals(), periods}
	for i := range periods {
		s.Periods[i] = NewTotals()
	}
	return s
}

// Bounds returns the beginning and the end of each period, in order.
func (s *Summary) Bounds() (bounds []time.Time) {
	for _, p := range s.periods {
		bounds = append(bounds, p.From, p.To)
	}
	return bounds
}

// Whole returns the time from the first period to the last.
func (s *Summary) Whole() Period { return Period{s.periods[0].From, s.periods[len(s.periods)-1].To} }

// AddSpan adds a complete span of a monitor (see Close).
func (s *Summary) AddSpan(id monitor.ID, span Span) {
	s.AddSpansOf(id, span, 1)
	s.AddSpansToPeriods(span, 1)
}

// AddSpansOf adds n spans of a monitor to its totals, and to those of all. mean has the means of their
// beginnings and ends, of which none is outside of the periods.
func (s *Summary) AddSpansOf(id monitor.ID, mean Span, n int) {
	s.of(id).Add(s.Whole(), mean, n)
	s.Total.Add(s.Whole(), mean, n)
}

// AddSpansToPeriods adds n spans to the periods. All begin in one period, or between the same two, and
// so do they end. mean has the means of their beginnings and ends.
func (s *Summary) AddSpansToPeriods(mean Span, n int) {
	s.eachPeriod(mean.From, mean.To, func(t *Totals, p Period) { t.Add(p, mean, n) })
}

// AddAlert adds an alert.
func (s *Summary) AddAlert(a Alert) {
	delay := max(0, a.At.Sub(a.Onset))
	s.AddAlertsOf(a.MonitorID, a.At, Delay{delay, delay, 1})
	s.AddAlertsToPeriods(a.At, Delay{delay, delay, 1})
}

// AddAlertsOf adds alerts of a monitor to its totals, and to those of all. at is the time of one of them.
func (s *Summary) AddAlertsOf(id monitor.ID, at time.Time, d Delay) {
	s.of(id).AddAlerts(s.Whole(), at, d)
	s.Total.AddAlerts(s.Whole(), at, d)
}

// AddAlertsToPeriods adds alerts of one period, or between two, to the periods. at is the time of one of them.
func (s *Summary) AddAlertsToPeriods(at time.Time, d Delay) {
	s.eachPeriod(at, at, func(t *Totals, p Period) { t.AddAlerts(p, at, d) })
}

// AddIncident adds an incident of a monitor.
func (s *Summary) AddIncident(id monitor.ID, openedAt time.Time) {
	s.add(id, openedAt, openedAt, func(t *Totals, p Period) { t.AddIncident(p, openedAt) })
}

func (s *Summary) add(id monitor.ID, from, to time.Time, count func(*Totals, Period)) {
	count(s.of(id), s.Whole())
	count(&s.Total, s.Whole())
	s.eachPeriod(from, to, count)
}

// of returns the totals of a monitor.
func (s *Summary) of(id monitor.ID) *Totals {
	if s.Monitors[id] == nil {
		totals := NewTotals()
		s.Monitors[id] = &totals
	}
	return s.Monitors[id]
}

// eachPeriod counts in each period that overlaps a time.
func (s *Summary) eachPeriod(from, to time.Time, count func(*Totals, Period)) {
	for i := firstEndingAfter(s.periods, from); i < len(s.periods) && !s.periods[i].From.After(to); i++ {
		count(&s.Periods[i], s.periods[i])
	}
}

// Groups returns the totals of the monitors of each value. Those that have none are under "".
func (s *Summary) Groups(valueOf map[monitor.ID]string) map[string]Totals {
	groups := map[string]Totals{}
	for id, t := range s.Monitors {
		group, is := groups[valueOf[id]]
		if !is {
			group = NewTotals()
		}
		for word, d := range t.Time {
			group.Time[word] += d
		}
		group.Alerts += t.Alerts
		group.Incidents += t.Incidents
		group.ToAlert = group.ToAlert.plus(t.ToAlert)
		groups[valueOf[id]] = group
	}
	return groups
}

// MonitorIDs returns the monitors that have totals, in order.
func (s *Summary) MonitorIDs() []monitor.ID { return slices.Sorted(maps.Keys(s.Monitors)) }
