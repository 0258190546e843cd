package ffmpeg_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// calmest is a look that lets as much as possible stay undecoded.
var calmest = watch.Look{Video: time.Hour, Audio: time.Hour}

// lookCalmly analyses a segment with the real ffmpeg. A decoder must see the same, or leave the
// segment to the command.
func lookCalmly(t *testing.T, segment []byte, calm watch.Look) watch.Analysis {
	t.Helper()
	got := look(t, realTool(t), calm, segment)
	checkDecoder(t, calm, segment, got)
	return got
}

// decodeCalmly analyses a segment of 3 s with the decoder alone.
func decodeCalmly(t *testing.T, segment []byte, calm watch.Look) watch.Analysis {
	t.Helper()
	a := ffmpeg.New(ffmpeg.Config{Path: noCommand, Timeout: patience, Decoder: newStream(newPool(t, nil))})
	got, err := a.Analyse(t.Context(), watch.Segment{Duration: 3 * time.Second}, calm, bytes.NewReader(segment), settings)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// keyFramesEvery returns the options of an H.264 encoder that makes every nth frame a key
// frame.
func keyFramesEvery(n string) []string {
	return []string{"-g", n, "-keyint_min", n, "-sc_threshold", "0"}
}

func TestAScreenSeesTheKeyFramesOfEveryKindOfStream(t *testing.T) { // S18
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
		"HEVC with open groups":        {[]string{"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:keyint=30:min-keyint=30:scenecut=0:open-gop=1"}, nil, 3, time.Second},
		"VP9":                          {[]string{"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-g", "30", "-keyint_min", "30"}, fragmentedMP4, 3, time.Second},
		"AV1":                          {[]string{"-c:v", "libsvtav1", "-preset", "12", "-g", "30"}, fragmentedMP4, 3, time.Second},
		"MPEG-2":                       {[]string{"-c:v", "mpeg2video", "-g", "30", "-sc_threshold", "1000000000"}, nil, 3, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			segment := scene{codec: c.codec, mux: c.mux}.make(t)
			last := time.Duration(c.keyFrames-1) * c.gap
			calm := lookCalmly(t, segment, watch.Look{Video: max(c.gap, priming) + printPrecision})
			if !calm.Video.Screened || (calm.Video.To-calm.Video.From-last-time.Second/30).Abs() > 2*printPrecision || len(calm.Intervals) > 0 {
				t.Errorf("saw %+v and %v, want %d key frames at most %v apart", calm.Video, calm.Intervals, c.keyFrames, c.gap)
			}
			if c.gap > 0 {
				if closer := lookCalmly(t, segment, watch.Look{Video: c.gap - printPrecision}); closer.Video.Screened {
					t.Errorf("key frames were enough, though they are %v apart", c.gap)
				}
			}
			if strings.HasPrefix(name, "H.264 ") {
				return // one of its kinds is enough
			}
			black := lookCalmly(t, scene{codec: c.codec, mux: c.mux, black: during(0, 9)}.make(t), calmest)
			if black.Video.Screened || len(black.Intervals[detector.Blackout]) == 0 {
				t.Errorf("no black was seen in %+v", black.Video)
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
		"the first one is black":              {during(0, 0.5), true},
		"one in the middle is black":          {during(0.9, 1.1), true},
		"the last one is black":               {during(1.9, 9), true},
		"black between two of them is hidden": {during(0.1, 0.9), false},
		"black after the last one is hidden":  {during(2.1, 9), false},
	} {
		t.Run(name, func(t *testing.T) {
			got := lookCalmly(t, scene{codec: every, black: c.black}.make(t), calmest)
			if dark := len(got.Intervals[detector.Blackout]) > 0; dark != c.dark || got.Video.Screened == c.dark {
				t.Errorf("found %v in %+v", got.Intervals, got.Video)
			}
			// The last key frame is at second 2.
			if last := seconds(2 + primingSeconds + 1./30); !c.dark && (got.Video.To-last).Abs() > printPrecision {
				t.Errorf("the last key frame ends at %v, want %v", got.Video.To, last)
			}
		})
	}
}

func TestALookAtKeyFramesDecodesNothingElse(t *testing.T) { // S22
	keyFrames := watch.LookAtRendition(watch.Segment{Duration: 3 * time.Second}, false)
	for name, c := range map[string]struct {
		black [][2]float64
		mux   []string
		dark  bool
	}{
		"bright":                            {nil, nil, false},
		"black, which needs no closer look": {during(0, 9), nil, true},
		"black, in MP4":                     {during(0, 9), fragmentedMP4, true},
	} {
		t.Run(name, func(t *testing.T) {
			whole := scene{codec: keyFramesEvery("30"), mux: c.mux, black: c.black}.make(t)
			for what, segment := range map[string][]byte{"the whole segment": whole, "its first half": whole[:len(whole)/2]} {
				for how, got := range map[string]watch.Analysis{"the decoder": decodeCalmly(t, segment, keyFrames), "the command": look(t, realTool(t), keyFrames, segment)} {
					if dark := len(got.Intervals[detector.Blackout]) > 0; !got.Video.Decoded() || !got.Video.Screened || dark != c.dark {
						t.Errorf("%s of %s: %+v, %v", how, what, got.Video, got.Intervals)
					}
					if how == "the decoder" && got.Audio.Decoded() {
						t.Errorf("it has decoded the sound: %+v", got.Audio)
					}
				}
			}
		})
	}
}

func TestAScreenOfTheSoundMissesNoSilenceThatCounts(t *testing.T) { // S18
	for name, c := range map[string]struct {
		scene
		screened bool
	}{
		"loud":                            {scene{}, true},
		"loud enough":                     {scene{volume: -27}, true},
		"too quiet":                       {scene{volume: -30}, false},
		"silent for a moment":             {scene{silent: during(1, 1.15)}, true},
		"silent for half a second":        {scene{silent: during(1, 1.55)}, false},
		"silent from the beginning":       {scene{silent: during(0, 0.6)}, false},
		"silent to the end":               {scene{silent: during(2.4, 9)}, false},
		"loud for moments":                {scene{silent: during(0.1, 1.1, 1.2, 2.2, 2.3, 9)}, false},
		"silent throughout":               {scene{silent: during(0, 9)}, false},
		"no sound":                        {scene{codec: []string{"-an"}}, false},
		"one channel of 8 kHz":            {scene{layout: "mono", codec: []string{"-ar", "8000"}}, true},
		"5.1 channels of 44.1 kHz":        {scene{layout: "5.1", codec: []string{"-ar", "44100"}}, true},
		"the sound before the picture":    {scene{audioLead: 0.3}, true},
		"in MP4":                          {scene{mux: fragmentedMP4}, true},
		"packed":                          {scene{codec: []string{"-vn"}, mux: []string{"-f", "adts"}}, true},
		"with prediction between frames":  {scene{codec: []string{"-profile:a", "aac_main"}}, false},
		"with prediction of a long term":  {scene{codec: []string{"-profile:a", "aac_ltp", "-strict", "-2"}}, false},
		"Opus, which needs all of before": {scene{codec: []string{"-c:a", "libopus"}, mux: fragmentedMP4}, false},
	} {
		t.Run(name, func(t *testing.T) {
			segment := c.make(t)
			got, whole := decodeCalmly(t, segment, calmest), decodeCalmly(t, segment, watch.Look{})
			if got.Audio.Screened != c.screened {
				t.Fatalf("screened: %+v with %v", got.Audio, got.Intervals[detector.Silence])
			}
			if heard := got.Intervals[detector.Silence]; !c.screened && (!slices.Equal(heard, whole.Intervals[detector.Silence]) || got.Audio != whole.Audio) || c.screened && len(heard) > 0 {
				t.Errorf("found %v in %+v, every frame has %v in %+v", heard, got.Audio, whole.Intervals[detector.Silence], whole.Audio)
			}
			for _, i := range whole.Intervals[detector.Silence] {
				if c.screened && i.To-i.From >= seconds(0.5) {
					t.Errorf("%v was hidden", i)
				}
			}
			if c.screened && (got.Audio.From > seconds(0.15) || whole.Audio.To-got.Audio.To > seconds(0.3)) {
				t.Errorf("heard %+v of %+v", got.Audio, whole.Audio)
			}
			for i := 1; i < min(len(got.Measures), len(whole.Measures)); i++ { // the first frame of all is a part of one
				if a, b := got.Measures[i].Level, whole.Measures[i].Level; c.screened && (a == nil || b == nil || max(*a-*b, *b-*a) > 2) {
					t.Errorf("second %d: measured %+v, of every frame %+v", i, got.Measures[i], whole.Measures[i])
				}
			}
		})
	}
}

// A silence of any place and length is found by a calm look, unless it is shorter than half a second.
func TestAScreenOfTheSoundFindsEverySilence(t *testing.T) { // S18
	c := ffmpeg.Config{Path: noCommand, Timeout: patience, Decoder: newStream(newPool(t, nil))}
	for length := 0.45; length < 0.9; length += 0.09 {
		for from := 0.5; from < 1; from += 0.17 {
			segment := scene{silent: during(from, from+length), codec: []string{"-vn"}}.make(t)
			found := func(calm watch.Look) []detector.Interval {
				short := func(i detector.Interval) bool { return i.To-i.From < seconds(0.5) }
				return slices.DeleteFunc(look(t, c, calm, segment).Intervals[detector.Silence], short)
			}
			if calm, every := found(calmest), found(watch.Look{}); !slices.Equal(calm, every) {
				t.Errorf("silent for %v s from %v s: found %v, every frame has %v", length, from, calm, every)
			}
		}
	}
}

func TestASegmentWithoutKeyFramesIsDecodedWhole(t *testing.T) { // S18
	segment := scene{codec: slices.Concat(keyFramesEvery("90"), []string{"-bsf:v", "noise=amount=0:drop=key"})}.make(t)
	if got := lookCalmly(t, segment, calmest); got.Video.Screened || !got.Video.Present {
		t.Errorf("saw %+v", got.Video)
	}
}

func TestADamagedSegmentIsDecodedWhole(t *testing.T) { // S18
	segment := bytes.Clone(scene{codec: keyFramesEvery("30")}.make(t))
	for at := len(segment) / 2; at < len(segment)/2+20*188; at++ {
		segment[at] ^= 0x5a
	}
	for name, got := range map[string]watch.Analysis{"the command": lookCalmly(t, segment, calmest), "the decoder": decodeCalmly(t, segment, calmest)} {
		if got.Video.Screened || got.Audio.Screened {
			t.Errorf("%s saw %+v, heard %+v", name, got.Video, got.Audio)
		}
	}
}
