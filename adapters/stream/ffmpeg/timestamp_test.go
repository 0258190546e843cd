package ffmpeg_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// The segment joins two clips. Black and silence last from half a second before the
// joint to half a second after it.
func TestIntervalsContinueAcrossAJumpOfTimestamps(t *testing.T) {
	first := scene{seconds: 2, offset: 100, black: [][2]float64{{1.5, 9}}, silent: [][2]float64{{1.5, 9}}}
	for name, c := range map[string]struct {
		to  float64
		gap float64
	}{
		"back to the beginning":                   {5, 0},
		"back by half a second":                   {101.5, 0},
		"back by all but 0.2 s":                   {100.2, 0},
		"forward by an hour":                      {3702, 0},
		"forward, past 33 bits":                   {95_440, 0},
		"forward by five seconds, which is a gap": {107, 5},
	} {
		t.Run(name, func(t *testing.T) {
			second := scene{seconds: 2, offset: c.to, black: [][2]float64{{0, 0.5}}, silent: [][2]float64{{0, 0.5}}}
			got := analyse(t, slices.Concat(first.make(t), second.make(t)))
			compareTrack(t, "video", got.Video, track{from: primingSeconds, to: 4 + c.gap + primingSeconds, intervals: [][2]float64{{1.5 + primingSeconds, 2.5 + c.gap + primingSeconds}}}, printPrecision)
			compareTrack(t, "audio", got.Audio, track{to: 4 + c.gap + primingSeconds, intervals: [][2]float64{{1.5 + primingSeconds, 2.5 + c.gap + primingSeconds}}}, audioFrame)
		})
	}
}

func TestIntervalsContinueWhenTheEncoderRestartsWithOtherSettings(t *testing.T) {
	first := scene{seconds: 2, offset: 100, black: [][2]float64{{1.5, 9}}, silent: [][2]float64{{1.5, 9}}}
	for name, second := range map[string]scene{
		"a larger one":             {size: "640x360"},
		"a smaller one":            {size: "160x90"},
		"at another rate":          {rate: 60},
		"with another profile":     {codec: []string{"-profile:v", "baseline"}},
		"with ten bits":            {codec: []string{"-pix_fmt", "yuv420p10le"}},
		"with full-range luma":     {codec: []string{"-pix_fmt", "yuvj420p"}},
		"with one channel":         {layout: "mono"},
		"with sound of other rate": {codec: []string{"-ar", "44100"}},
	} {
		for where, c := range map[string]struct {
			offset    float64
			tolerance time.Duration // of the joint
		}{"with continuous timestamps": {102, audioFrame}, "with timestamps from zero": {0, 3 * time.Second / 30}} {
			if c.offset == 0 && second.size == "" && second.layout == "" {
				continue // the picture's and the sound's other format are enough
			}
			t.Run(name+", "+where, func(t *testing.T) {
				second.seconds, second.offset = 2, c.offset
				second.black, second.silent = [][2]float64{{0, 0.5}}, [][2]float64{{0, 0.5}}
				got := analyse(t, slices.Concat(first.make(t), second.make(t)))
				compareTrack(t, "video", got.Video, track{from: primingSeconds, to: 4 + primingSeconds, intervals: [][2]float64{{1.5 + primingSeconds, 2.5 + primingSeconds}}}, c.tolerance)
				compareTrack(t, "audio", got.Audio, track{to: 4 + primingSeconds, intervals: [][2]float64{{1.5 + primingSeconds, 2.5 + primingSeconds}}}, c.tolerance)
			})
		}
	}
}

func TestAFragmentWithLargeTimestampsIsDecoded(t *testing.T) {
	for _, offset := range []int{0, 100_000, 200_000_000} { // beyond 33 bits of 90 kHz, and beyond 32 of milliseconds
		init, media := encodeFragments(t,
			"-f", "lavfi", "-i", "testsrc2=s=256x144:r=30:d=6", "-f", "lavfi", "-i", "sine=f=440:r=48000:d=6",
			"-vf", "drawbox=c=black:t=fill:enable='gte(t,2.99)'", "-af", "volume=0:enable='gte(t,3)'",
			"-c:v", "libx264", "-preset", "veryfast", "-g", "60", "-pix_fmt", "yuv420p", "-c:a", "aac", "-ac", "2",
			"-output_ts_offset", fmt.Sprint(offset))
		got := analyse(t, slices.Concat(init, media[1]))
		v := got.Video
		if min(v.From, got.Audio.From) != 0 || v.To-v.From < time.Second || len(v.Found) != 1 || v.Found[0].To != v.To || (v.To-v.Found[0].From-time.Second).Abs() > printPrecision {
			t.Errorf("from %d s on: video = %+v, audio from %v; want its last second black", offset, v, got.Audio.From)
		}
	}
}
