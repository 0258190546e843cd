package history

import (
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// MaxBuckets limits the buckets of one timeline.
const MaxBuckets = 2000

// Life is the time in which a monitor could be watched: from its registration until
// its end, or until now.
type Life struct{ From, Until time.Time }

// Bucket is one part of a timeline.
type Bucket struct {
	From, To time.Time

	Stream, Video, Audio, Segments Share

	Luma  monitor.Range // of the minutes that begin in the bucket, or that overlap one of less than a minute
	Level monitor.Range
}

// lane returns the share of a lane; nil if there is no such lane.
func (b *Bucket) lane(l Lane) *Share {
	switch l {
	case Stream:
		return &b.Stream
	case Video:
		return &b.Video
	case Audio:
		return &b.Audio
	case Segments:
		return &b.Segments
	}
	return nil
}

// Share has the time of each state within one bucket, in the order of the states' names.
// It is empty where the monitor did not live: before its registration, after its end, in
// the future. A timeline has thousands of shares, nearly all of one state or two, for
// which a map is slow.
type Share []StateTime

// StateTime has the time for which a state lasted within one bucket.
type StateTime struct {
	State State
	Time  time.Duration
}

func (s *Share) add(state State, d time.Duration) {
	i, found := slices.BinarySearchFunc(*s, state, func(p StateTime, state State) int { return strings.Compare(string(p.State), string(state)) })
	if !found {
		*s = slices.Insert(*s, i, StateTime{State: state})
	}
	(*s)[i].Time += d
}

// Worst returns the worst state: trouble before unknown before good, of the same
// badness the longer one. The Worst of an empty Share is "".
func (s Share) Worst() State {
	var worst StateTime
	for _, p := range s {
		a, b := p.State.severity(), worst.State.severity()
		if worst.State == "" || a > b || a == b && p.Time > worst.Time {
			worst = p
		}
	}
	return worst.State
}

// Timeline sums up spans and minutes in buckets of equal length. It keeps none of them,
// so its memory is that of the buckets.
type Timeline struct {
	buckets []Bucket
	grid    grid
	life    Life
}

// NewTimeline returns a timeline of the time from from until to, in n buckets.
func NewTimeline(from, to time.Time, n int, life Life) *Timeline {
	width := to.Sub(from) / time.Duration(n)
	t := &Timeline{make([]Bucket, n), grid{from, width, n}, life}
	for i := range t.buckets {
		b := &t.buckets[i]
		b.From, b.To = from.Add(time.Duration(i)*width), from.Add(time.Duration(i+1)*width)
	}
	t.buckets[n-1].To = to
	return t
}

// AddSpan adds a complete span (see Close). It overlaps no other of its lane.
func (t *Timeline) AddSpan(s Span) {
	s.From, s.To = instant.Latest(s.From, t.life.From), instant.Earliest(s.To, t.life.Until)
	first, last := t.grid.overlapping(s.From, s.To)
	for i := first; i <= last; i++ {
		b := &t.buckets[i]
		if share, d := b.lane(s.Lane), overlap(b.From, b.To, s.From, s.To); d > 0 && share != nil {
			share.add(s.State, d)
		}
	}
}

// AddMinute adds the luma and level of a minute.
func (t *Timeline) AddMinute(m monitor.Minute) {
	end := m.At.Add(time.Minute)
	if t.grid.width >= time.Minute {
		end = m.At.Add(1)
	}
	first, last := t.grid.overlapping(m.At, end)
	for i := first; i <= last; i++ {
		b := &t.buckets[i]
		b.Luma, b.Level = b.Luma.Merge(m.Luma), b.Level.Merge(m.Level)
	}
}

// Buckets returns the buckets once everything was added. Time of the monitor's life
// without a span is unknown.
func (t *Timeline) Buckets() []Bucket {
	for i := range t.buckets {
		b := &t.buckets[i]
		lived := overlap(b.From, b.To, t.life.From, t.life.Until)
		for _, lane := range Lanes() {
			share, rest := b.lane(lane), lived
			for _, p := range *share {
				rest -= p.Time
			}
			if rest > 0 {
				share.add(Unknown, rest)
			}
		}
	}
	return t.buckets
}

// grid finds the buckets of a time.
type grid struct {
	from  time.Time
	width time.Duration
	n     int
}

// overlapping returns the first and the last bucket that the time from from until to
// overlaps. If it overlaps none, last is less than first.
func (g grid) overlapping(from, to time.Time) (first, last int) {
	if !from.Before(to) || !g.from.Before(to) {
		return 0, -1
	}
	if from.After(g.from) {
		first = int(from.Sub(g.from) / g.width)
	}
	last = min(int((to.Sub(g.from)-1)/g.width), g.n-1)
	return first, last
}

// overlap returns how long two times overlap.
func overlap(from, to, from2, to2 time.Time) time.Duration {
	return max(0, instant.Earliest(to, to2).Sub(instant.Latest(from, from2)))
}
