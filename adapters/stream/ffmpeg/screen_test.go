package ffmpeg_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// screen looks at the key frames of a segment with the real ffmpeg. It must succeed. A
// decoder must see the same, or leave the segment to the command.
func screen(t *testing.T, segment []byte) watch.Analysis {
	t.Helper()
	got, err := ffmpeg.New(ffmpeg.Config{Path: ffmpegPath(t)}).Analyse(t.Context(), watch.Segment{}, watch.KeyFrames, bytes.NewReader(segment), settings)
	if err != nil {
		t.Fatal(err)
	}
	if got.Screen == nil {
		t.Fatal("every frame was decoded")
	}
	checkDecoder(t, watch.Segment{}, watch.KeyFrames, segment, settings, got)
	return got
}

// keyFramesEvery returns the options of an H.264 encoder that makes every nth frame a key
// frame.
func keyFramesEvery(n string) []string {
	return []string{"-g", n, "-keyint_min", n, "-sc_threshold", "0"}
}

func TestAScreenSeesTheKeyFramesOfEveryKindOfStream(t *testing.T) { // S18
	fragmented := []string{"-movflags", "empty_moov+delay_moov+default_base_moof+frag_keyframe", "-f", "mp4"}
	every := keyFramesEvery("30")
	for name, c := range map[string]struct {
		codec, mux []string
		keyFrames  int
		gap        time.Duration
	}{
		"H.264":                        {every, nil, 3, time.Second},
		"H.264 with reordered frames":  {append(every, "-bf", "3"), nil, 3, time.Second},
		"H.264 with open groups":       {append(every, "-bf", "3", "-x264-params", "open-gop=1"), nil, 3, time.Second},
		"H.264 with key frames only":   {[]string{"-g", "1"}, nil, 90, time.Second / 30},
		"H.264 with one key frame":     {keyFramesEvery("300"), nil, 1, 0},
		"H.264 that refreshes columns": {append(every, "-x264-params", "intra-refresh=1"), nil, 1, 0},
		"HEVC with open groups":        {[]string{"-c:v", "libx265", "-x265-params", "log-level=none:keyint=30:min-keyint=30:scenecut=0:open-gop=1"}, nil, 3, time.Second},
		"VP9":                          {[]string{"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-g", "30", "-keyint_min", "30"}, fragmented, 3, time.Second},
		"AV1":                          {[]string{"-c:v", "libsvtav1", "-preset", "12", "-g", "30"}, fragmented, 3, time.Second},
		"MPEG-2":                       {[]string{"-c:v", "mpeg2video", "-g", "30", "-sc_threshold", "1000000000"}, nil, 3, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			calm := screen(t, scene{codec: c.codec, mux: c.mux}.make(t))
			if calm.Screen.KeyFrames != c.keyFrames || (calm.Screen.Gap-c.gap).Abs() > printPrecision || calm.Screen.Damaged {
				t.Errorf("saw %+v, want %d key frames at most %v apart", *calm.Screen, c.keyFrames, c.gap)
			}
			if len(calm.Intervals) > 0 {
				t.Errorf("found %v", calm.Intervals)
			}
			if black := screen(t, scene{codec: c.codec, mux: c.mux, black: [][2]float64{{0, 9}}}.make(t)); len(black.Intervals[detector.Blackout]) == 0 {
				t.Error("no black key frame was seen")
			}
		})
	}
}

func TestAScreenSeesWhatIsOnKeyFrames(t *testing.T) { // S18
	every := keyFramesEvery("30")
	for name, c := range map[string]struct {
		black [][2]float64
		dark  bool
	}{
		"the first one is black":              {[][2]float64{{0, 0.5}}, true},
		"one in the middle is black":          {[][2]float64{{0.9, 1.1}}, true},
		"the last one is black":               {[][2]float64{{1.9, 9}}, true},
		"black between two of them is hidden": {[][2]float64{{0.1, 0.9}}, false},
		"black after the last one is hidden":  {[][2]float64{{2.1, 9}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := screen(t, scene{codec: every, black: c.black}.make(t))
			if dark := len(got.Intervals[detector.Blackout]) > 0; dark != c.dark {
				t.Errorf("found %v", got.Intervals)
			}
			// The last key frame is at second 2.
			if last := seconds(2 + primingSeconds + 1./30); (got.Video.To - last).Abs() > printPrecision {
				t.Errorf("the last key frame ends at %v, want %v", got.Video.To, last)
			}
		})
	}
}

func TestAScreenHearsEverything(t *testing.T) { // S18
	segment := scene{codec: keyFramesEvery("90"), silent: [][2]float64{{0.4, 0.7}, {2, 9}}}.make(t)
	got, whole := screen(t, segment), analyse(t, segment)
	if heard := got.Intervals[detector.Silence]; len(heard) != 2 || !slices.Equal(heard, whole.Audio.Found) || got.Audio != whole.Audio.Track {
		t.Errorf("found %v in %v, every frame has %v in %v", heard, got.Audio, whole.Audio.Found, whole.Audio.Track)
	}
}

func TestAScreenSaysWhenItSawNoKeyFrame(t *testing.T) { // S18
	segment := scene{codec: slices.Concat(keyFramesEvery("90"), []string{"-bsf:v", "noise=amount=0:drop=key"})}.make(t)
	got := screen(t, segment)
	if got.Screen.KeyFrames != 0 || got.Video.To > got.Video.From || !got.Video.Present {
		t.Errorf("saw %+v of %+v", *got.Screen, got.Video)
	}
}

func TestAScreenSaysThatASegmentIsDamaged(t *testing.T) { // S18
	segment := bytes.Clone(scene{codec: keyFramesEvery("30")}.make(t))
	for at := len(segment) / 2; at < len(segment)/2+20*188; at++ {
		segment[at] ^= 0x5a
	}
	if got := screen(t, segment); !got.Screen.Damaged {
		t.Errorf("saw %+v", *got.Screen)
	}
}

func TestADetectorOfManyFramesHasThemAllDecoded(t *testing.T) { // S18
	ffmpeg.AddFilter(t, detector.Blackout, func(ffmpeg.Settings) string { return "freezedetect=d=0.5" }, "lavfi.freezedetect.freeze_start", "lavfi.freezedetect.freeze_end")
	got, err := ffmpeg.New(ffmpeg.Config{Path: ffmpegPath(t)}).Analyse(t.Context(), watch.Segment{}, watch.KeyFrames, bytes.NewReader(scene{}.make(t)), settings)
	if err != nil {
		t.Fatal(err)
	}
	if got.Screen != nil {
		t.Errorf("saw only %+v", *got.Screen)
	}
}
