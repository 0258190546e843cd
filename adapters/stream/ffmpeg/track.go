package ffmpeg

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// defaultFrameDuration is how long the only frame of a track is taken to last.
var defaultFrameDuration = map[detector.Track]time.Duration{
	detector.Video: time.Second / 30,
	detector.Audio: 1024 * time.Second / 48000,
}

// tolerance is the precision of printed times: ffmpeg 5.1 prints six digits.
const tolerance = time.Millisecond

// decodedTrack is what ffmpeg printed of a track.
type decodedTrack struct {
	detector.DecodedTrack

	found   intervals // of its detectors
	samples []sample  // its measurements

	gap time.Duration // if it is Screened: the longest time between two frames
}

// readTrack reads what ffmpeg printed of a track. A track without frames is not
// Present; the log says whether it is announced.
func readTrack(track detector.Track, output iter.Seq[printed], chain []trackFilter) decodedTrack {
	var (
		t         decodedTrack
		last      time.Duration // latest presentation time
		distances []time.Duration
		found     = make([]intervalBuilder, len(chain))
	)
	for f := range output {
		if f.measured {
			if f.pts.set {
				t.samples = append(t.samples, sample{f.pts.Duration, f.value})
			}
			continue
		}
		if f.pts.set {
			if !t.Present {
				t.Present, t.From, last = true, f.pts.Duration, f.pts.Duration
			}
			if d := f.pts.Duration - last; d > 0 {
				distances = append(distances, d)
			}
			t.From, last = min(t.From, f.pts.Duration), max(last, f.pts.Duration)
		}
		for i := range found {
			found[i].add(f.frame, f.tags[i])
		}
	}
	if !t.Present {
		return decodedTrack{}
	}
	t.To = last + frameDuration(distances, defaultFrameDuration[track])
	t.found = intervals{}
	for i, filter := range chain {
		if within := found[i].within(t.From, t.To, filter.minDuration); len(within) > 0 {
			t.found[filter.detector] = within
		}
	}
	return t
}

// frameDuration returns the median distance between frames, which is taken as the
// duration of the last one. Not every version of ffmpeg prints durations. The median
// is not affected by a frame that was dropped before the last.
func frameDuration(distances []time.Duration, fallback time.Duration) time.Duration {
	if len(distances) == 0 {
		return fallback
	}
	slices.Sort(distances)
	return distances[len(distances)/2]
}

// intervalBuilder collects the intervals of one detector from the tags of frames.
type intervalBuilder struct {
	closed []detector.Interval
	start  timestamp // of the open interval
}

func (b *intervalBuilder) add(f frame, t tag) {
	// When the format changes, ffmpeg builds new filters, which know nothing of what
	// the old ones saw. They tag the beginning again if the condition goes on.
	if f.number == 0 {
		b.end(f.pts)
	}
	// One long frame can have both tags: the earlier one comes first.
	if t.start.set && t.end.set && t.start.Duration < t.end.Duration {
		b.begin(t.start)
		b.end(t.end)
		return
	}
	if t.end.set {
		b.end(t.end)
	}
	if t.start.set {
		b.begin(t.start)
	}
}

func (b *intervalBuilder) begin(at timestamp) {
	if !b.start.set {
		b.start = at
	}
}

func (b *intervalBuilder) end(at timestamp) {
	if b.start.set && at.set {
		b.closed = append(b.closed, detector.Interval{From: b.start.Duration, To: at.Duration})
		b.start = timestamp{}
	}
}

// within returns the intervals of a track that lasts from from to to. An open one
// ends with the track, and touching ones are joined. Intervals shorter than
// minDuration are dropped unless they touch an end of the track.
func (b *intervalBuilder) within(from, to, minDuration time.Duration) []detector.Interval {
	b.end(timestamp{to, true})
	slices.SortFunc(b.closed, func(a, b detector.Interval) int { return cmp.Compare(a.From, b.From) })
	var joined []detector.Interval
	for _, span := range b.closed {
		span.From, span.To = max(span.From, from), min(span.To, to)
		if span.From >= span.To {
			continue
		}
		if n := len(joined); n > 0 && span.From-joined[n-1].To <= tolerance {
			joined[n-1].To = max(joined[n-1].To, span.To)
			continue
		}
		joined = append(joined, span)
	}
	return slices.DeleteFunc(joined, func(span detector.Interval) bool {
		return span.To-span.From < minDuration-tolerance && span.From > from && span.To < to
	})
}
