package ffmpeg

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// medium is what differs between picture and sound.
type medium struct {
	start, end string        // the detector's tags
	alone      time.Duration // how long the only frame of a track is taken to last
	shortest   time.Duration // bad stretches within a track that are shorter are left out
}

var (
	picture = medium{"lavfi.black_start", "lavfi.black_end", time.Second / 30, 100 * time.Millisecond}
	sound   = medium{"lavfi.silence_start", "lavfi.silence_end", 1024 * time.Second / 48000, 0}
)

// joint is how far off a printed distance may be: ffmpeg 5.1 prints six digits.
const joint = time.Millisecond

// track puts the frames of a track together. It is not present when no frame
// is; whether it was announced is not known here.
func (m medium) track(frames iter.Seq[frame]) watch.Track {
	var (
		t    watch.Track
		last time.Duration // when the latest frame begins
		gaps []time.Duration
		bad  stretches
	)
	for f := range frames {
		if f.at.set {
			if !t.Present {
				t.Present, t.From, last = true, f.at.Duration, f.at.Duration
			}
			if gap := f.at.Duration - last; gap > 0 {
				gaps = append(gaps, gap)
			}
			t.From, last = min(t.From, f.at.Duration), max(last, f.at.Duration)
		}
		bad.add(f)
	}
	if !t.Present {
		return watch.Track{}
	}
	t.To = last + usual(gaps, m.alone)
	t.Bad = bad.within(t.From, t.To, m.shortest)
	return t
}

// usual is the median of the distances between frames, which is how long the
// last frame lasts: ffmpeg does not print that in every version, and a dropped
// frame before the last must not make it longer.
func usual(gaps []time.Duration, alone time.Duration) time.Duration {
	if len(gaps) == 0 {
		return alone
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// stretches collects the bad stretches that the tags of frames tell of.
type stretches struct {
	done  []watch.Span
	since instant // the beginning of the one that goes on
}

func (s *stretches) add(f frame) {
	// A change of format makes ffmpeg build new detectors, which know nothing of
	// what the old ones saw: if it goes on, they say so anew.
	if f.number == 0 {
		s.end(f.at)
	}
	// One long frame can have both tags: the earlier one comes first.
	if f.start.set && f.end.set && f.start.Duration < f.end.Duration {
		s.begin(f.start)
		s.end(f.end)
		return
	}
	if f.end.set {
		s.end(f.end)
	}
	if f.start.set {
		s.begin(f.start)
	}
}

func (s *stretches) begin(at instant) {
	if !s.since.set {
		s.since = at
	}
}

func (s *stretches) end(at instant) {
	if s.since.set && at.set {
		s.done = append(s.done, watch.Span{From: s.since.Duration, To: at.Duration})
		s.since = instant{}
	}
}

// within ends what goes on at the end of the track, joins what touches, and
// leaves out what is too short, unless it touches an end of the track: then it
// may have begun before, or go on after it.
func (s *stretches) within(from, to, shortest time.Duration) []watch.Span {
	s.end(instant{to, true})
	slices.SortFunc(s.done, func(a, b watch.Span) int { return cmp.Compare(a.From, b.From) })
	var joined []watch.Span
	for _, span := range s.done {
		span.From, span.To = max(span.From, from), min(span.To, to)
		if span.From >= span.To {
			continue
		}
		if n := len(joined); n > 0 && span.From-joined[n-1].To <= joint {
			joined[n-1].To = max(joined[n-1].To, span.To)
			continue
		}
		joined = append(joined, span)
	}
	return slices.DeleteFunc(joined, func(span watch.Span) bool {
		return span.To-span.From < shortest-joint && span.From > from && span.To < to
	})
}
