package ffmpeg

import (
	"iter"
	"regexp"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// skipOthers makes the decoder skip all frames but key frames. Not every decoder can, so
// onlyKeyFrames drops the others before the detectors.
var skipOthers = []string{"-skip_frame:v", "nokey"}

const onlyKeyFrames = "select=key,"

// maxUnheard is the silence that may hide between loud moments of a screen: less than the shortest
// that section 6.4 knows.
const maxUnheard = 500 * time.Millisecond

// seen is what was seen of a segment, maybe of some frames only.
type seen struct {
	watch.Analysis

	videoGap, audioGap time.Duration // of a track that is Screened
	damaged            bool          // a demuxer or decoder complained
}

// announce records which tracks the container announces. Of any other track, more frames would
// show nothing.
func (a *seen) announce(video, audio bool) {
	a.Video.Present, a.Audio.Present = a.Video.Present || video, a.Audio.Present || audio
	a.Video.Screened, a.Audio.Screened = a.Video.Screened && a.Video.Present, a.Audio.Screened && a.Audio.Present
}

// inDoubt returns the tracks of which every frame has to be decoded, because bad media that
// matter may hide between those that were.
func (a *seen) inDoubt(s watch.Segment, look watch.Look) (video, audio bool) {
	if look.KeyFrames {
		return false, false
	}
	hides := func(t detector.DecodedTrack, gap, limit time.Duration) bool {
		return t.Screened && (a.damaged || t.To <= t.From || max(t.From, gap, s.Duration-t.To) > limit)
	}
	video = hides(a.Video, a.videoGap, look.Video)
	for _, f := range ofTrack(detector.Video) {
		video = video || a.Video.Screened && len(a.Intervals[f.detector]) > 0
	}
	return video, hides(a.Audio, a.audioGap, min(look.Audio, maxUnheard))
}

// readScreen reads what is known of the key frames, or of the loud moments of the sound. A detector
// that tagged any of them has an interval as long as the track. Times between tags would say nothing:
// in open groups of pictures, the H.264 decoder of ffmpeg 5.1 outputs key frames in reverse order.
func readScreen(track detector.Track, output iter.Seq[printed]) decodedTrack {
	chain := ofTrack(track)
	t := decodedTrack{DecodedTrack: detector.DecodedTrack{Screened: true}, found: intervals{}}
	var times []time.Duration
	tagged := make([]bool, len(chain))
	for f := range output {
		switch {
		case !f.pts.set:
		case f.measured:
			t.samples = append(t.samples, sample{f.pts.Duration, f.value})
		default:
			times = append(times, f.pts.Duration)
			for i := range tagged {
				tagged[i] = tagged[i] || f.tags[i].start.set
			}
		}
	}
	if len(times) == 0 {
		return t
	}
	slices.Sort(times)
	for i := range times[1:] {
		t.gap = max(t.gap, times[i+1]-times[i])
	}
	t.Present, t.From, t.To = true, times[0], times[len(times)-1]
	if track == detector.Video {
		t.To += defaultFrameDuration[track]
	}
	for i, filter := range chain {
		if tagged[i] {
			t.found[filter.detector] = []detector.Interval{{From: t.From, To: t.To}}
		}
	}
	return t
}

// damage matches a message about damaged media. A false alarm costs a closer look.
var damage = regexp.MustCompile(`(?i)error|corrupt|invalid|missing|mismatch|conceal|non-existing|truncat|overread`)

// damaged reports whether a demuxer or decoder complained about the segment.
func damaged(log []byte) bool {
	for line := range lines(log) {
		if logPrefix.MatchString(line) && damage.MatchString(logPrefix.ReplaceAllString(line, "")) {
			return true
		}
	}
	return false
}
