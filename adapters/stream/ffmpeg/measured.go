package ffmpeg

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg/decoder"
	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// measured returns what a Decoder measured of a segment, with this picture. Taken is all that was asked for.
// A measurement that is not there could not be taken: the segment has no such track, or was not decoded whole.
func measured(r decoder.Result, j decoder.Job, picture detector.DecodedTrack) detector.Measured {
	m := detector.Measured{Taken: j.Measure, Pictures: r.Pictures, Movement: r.Movement}
	if j.Measure&detector.Sound != 0 {
		m.Sound = r.Sound
	}
	if j.Measure&detector.Tone != 0 {
		m.Tone = r.Tone
	}
	if j.Measure&detector.Captions != 0 && r.VideoAnnounced {
		m.Captions = &r.Captions
	}
	if j.Measure&detector.Damage != 0 && r.VideoAnnounced {
		m.Damage = damageOf(r.Video, picture)
	}
	return m
}

// damageOf returns the damaged parts of a picture. A decoder flags the frame that is broken; what it predicts
// from that frame is broken, too, up to the next key frame.
func damageOf(records []decoder.Record, picture detector.DecodedTrack) *detector.DamageMeasure {
	m := &detector.DamageMeasure{}
	var frames, keys, broken []time.Duration
	for _, r := range records {
		switch r.Kind {
		case decoder.Frame:
			frames = append(frames, r.At)
		case decoder.KeyFrame:
			keys = append(keys, r.At)
		case decoder.DamagedFrame:
			m.Frames++
			broken = append(broken, r.At)
		case decoder.DamagedPacket:
			m.Packets++
			broken = append(broken, r.At)
		case decoder.Begins, decoder.Ends, decoder.Measurement:
		}
	}
	slices.Sort(keys)
	for _, from := range broken {
		to := picture.To
		if next, _ := slices.BinarySearch(keys, from+1); next < len(keys) {
			to = keys[next]
		}
		m.Intervals = append(m.Intervals, detector.Interval{From: max(from, picture.From), To: to})
	}
	if !picture.Screened {
		gaps, missing := gapsBetween(frames)
		m.Intervals, m.Missing = append(m.Intervals, gaps...), missing
	}
	m.Intervals = join(m.Intervals)
	return m
}

// A frame rate is steady if at least the share steady of the distances between frames differs from their
// median by at most likeMedian of it. Frames are missing where a distance is at least gapFrom medians.
const (
	gapFrom    = 1.5
	steady     = 0.9
	likeMedian = 0.1
)

// gapsBetween returns where frames are missing, and how many.
func gapsBetween(frames []time.Duration) (gaps []detector.Interval, missing int) {
	if len(frames) < 3 {
		return nil, 0
	}
	slices.Sort(frames)
	var distances []time.Duration
	for i, at := range frames[1:] {
		distances = append(distances, at-frames[i])
	}
	median := slices.Sorted(slices.Values(distances))[len(distances)/2]
	alike := 0
	for i, distance := range distances {
		ratio := float64(distance) / float64(max(median, 1))
		if math.Abs(ratio-1) <= likeMedian {
			alike++
		}
		if ratio >= gapFrom {
			gaps = append(gaps, detector.Interval{From: frames[i] + median, To: frames[i+1]})
			missing += int(math.Round(ratio)) - 1
		}
	}
	if float64(alike) < steady*float64(len(distances)) {
		return nil, 0
	}
	return gaps, missing
}

// join sorts intervals and joins those that touch. Empty ones are dropped.
func join(intervals []detector.Interval) (joined []detector.Interval) {
	slices.SortFunc(intervals, func(a, b detector.Interval) int { return cmp.Compare(a.From, b.From) })
	for _, i := range intervals {
		if n := len(joined); n > 0 && i.From <= joined[n-1].To {
			joined[n-1].To = max(joined[n-1].To, i.To)
		} else if i.To > i.From {
			joined = append(joined, i)
		}
	}
	return joined
}
