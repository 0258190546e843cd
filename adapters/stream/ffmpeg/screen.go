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

// possibleLook returns the look itself, or EveryFrame if a filter of the picture needs
// every frame.
func possibleLook(look watch.Look) watch.Look {
	for _, f := range ofTrack(detector.Video) {
		if !f.singleFrames {
			return watch.EveryFrame
		}
	}
	return look
}

// readKeyFrames reads what is known of the key frames. A detector that tagged any of
// them has an interval as long as the track. Times between tags would say nothing: in open
// groups of pictures, the H.264 decoder of ffmpeg 5.1 outputs key frames in reverse order.
func readKeyFrames(output iter.Seq[printed]) (decodedTrack, *watch.Screen) {
	chain := ofTrack(detector.Video)
	var t decodedTrack
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
		return decodedTrack{}, &watch.Screen{}
	}
	slices.Sort(times)
	s := &watch.Screen{KeyFrames: len(times)}
	for i := range times[1:] {
		s.Gap = max(s.Gap, times[i+1]-times[i])
	}
	t.Track = watch.Track{Present: true, From: times[0], To: times[len(times)-1] + defaultFrameDuration[detector.Video]}
	t.found = intervals{}
	for i, filter := range chain {
		if tagged[i] {
			t.found[filter.detector] = []watch.Interval{{From: t.From, To: t.To}}
		}
	}
	return t, s
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
