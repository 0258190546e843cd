package ffmpeg_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestATrackThatIsAnnouncedButCannotBeDecodedIsPresentAndEmpty(t *testing.T) {
	ts := scene{black: [][2]float64{{1, 9}}, silent: [][2]float64{{1, 9}}}.make(t)
	for name, c := range map[string]struct {
		segment                []byte
		emptyVideo, emptyAudio bool
	}{
		"video without a packet": {withoutTrack(ts, pidVideo), true, false},
		"sound without a packet": {withoutTrack(ts, pidAudio), false, true},
		"video of random bytes":  {corruptTrack(ts, pidVideo), true, false},
		"sound of random bytes":  {corruptTrack(ts, pidAudio), false, true},
		"both tracks intact":     {ts, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := analyse(t, c.segment)
			for name, track := range map[string]struct {
				ffmpeg.TrackResult
				empty bool
			}{"video": {got.Video, c.emptyVideo}, "audio": {got.Audio, c.emptyAudio}} {
				if !track.Present {
					t.Errorf("%s: not present", name)
				}
				if track.empty != (track.To == track.From) {
					t.Errorf("%s: from %v to %v, want empty: %v", name, track.From, track.To, track.empty)
				}
				if !track.empty && (len(track.Found) != 1 || track.Found[0].To != track.To) {
					t.Errorf("%s: intervals = %v, want one until %v", name, track.Found, track.To)
				}
			}
		})
	}
}

func TestIntervalsContinueAcrossAChangeOfFormat(t *testing.T) {
	first := scene{seconds: 2, offset: 10, black: [][2]float64{{1.5, 9}}, silent: [][2]float64{{1.5, 9}}}
	second := scene{seconds: 2, offset: 12, size: "320x180", layout: "5.1", black: [][2]float64{{0, 0.5}}, silent: [][2]float64{{0, 9}}}

	t.Run("black and silence that continue are one interval", func(t *testing.T) {
		got := analyse(t, slices.Concat(first.make(t), second.make(t)))
		compareTrack(t, "video", got.Video, track{from: primingSeconds, to: 4 + primingSeconds, intervals: [][2]float64{{1.5 + primingSeconds, 2.5 + primingSeconds}}}, printPrecision)
		compareTrack(t, "audio", got.Audio, track{to: 4 + primingSeconds, intervals: [][2]float64{{1.5 + primingSeconds, 4 + primingSeconds}}}, audioFrame)
	})
	t.Run("black and silence that do not continue end there", func(t *testing.T) {
		second := second
		second.black, second.silent = nil, nil
		got := analyse(t, slices.Concat(first.make(t), second.make(t)))
		compareTrack(t, "video", got.Video, track{from: primingSeconds, to: 4 + primingSeconds, intervals: [][2]float64{{1.5 + primingSeconds, 2 + primingSeconds}}}, printPrecision)
		// The second encoder begins with silence (priming).
		compareTrack(t, "audio", got.Audio, track{to: 4 + primingSeconds, intervals: [][2]float64{{1.5 + primingSeconds, 2 + primingSeconds}}}, audioFrame)
	})
}

// primingSeconds is priming in seconds.
const primingSeconds = float64(priming) / float64(time.Second)

func TestAFragmentIsDecodedWithItsInitSection(t *testing.T) {
	init, media := encodeFragments(t,
		"-f", "lavfi", "-i", "testsrc2=s=256x144:r=30:d=6", "-f", "lavfi", "-i", "sine=f=440:r=48000:d=6",
		"-vf", "drawbox=c=black:t=fill:enable='gte(t,2.99)'", "-af", "volume=0:enable='gte(t,3)'",
		"-c:v", "libx264", "-preset", "veryfast", "-g", "60", "-pix_fmt", "yuv420p", "-c:a", "aac", "-ac", "2")
	if len(media) < 3 {
		t.Fatalf("%d fragments", len(media))
	}
	got := analyse(t, slices.Concat(init, media[1]))

	// The muxer decides where a fragment's sound begins, so times are relative to the
	// start of the track.
	if v := got.Video; !v.Present || len(v.Found) != 1 || v.Found[0].To != v.To ||
		(v.To-v.From-2*time.Second).Abs() > printPrecision || (v.Found[0].From-v.From-time.Second).Abs() > printPrecision {
		t.Errorf("video = %+v, want 2 s of which the second is black", v)
	}
	if a := got.Audio; !a.Present || len(a.Found) != 1 || a.Found[0].To != a.To ||
		(a.Found[0].From-got.Video.Found[0].From).Abs() > 2*audioFrame {
		t.Errorf("audio = %+v, want silence from the same moment (%v) to the end", a, got.Video.Found[0].From)
	}
	if min(got.Video.From, got.Audio.From) != 0 {
		t.Errorf("tracks begin at %v and %v, want one at 0", got.Video.From, got.Audio.From)
	}

	t.Run("a fragment alone is undecodable", func(t *testing.T) {
		wantFailure(t, media[1], watch.FailureUndecodable)
	})
}

func TestATruncatedSegmentIsDecodedToItsEnd(t *testing.T) {
	ts := scene{silent: [][2]float64{{1, 9}}}.make(t)
	got := analyse(t, ts[:len(ts)/2+77])
	for name, track := range map[string]ffmpeg.TrackResult{"video": got.Video, "audio": got.Audio} {
		if !track.Present || track.To < 500*time.Millisecond || track.To > 2500*time.Millisecond {
			t.Errorf("%s ends at %v, want about half of 3 s", name, track.To)
		}
	}
	if n := len(got.Audio.Found); n != 1 || got.Audio.Found[0].To != got.Audio.To {
		t.Errorf("silence = %v, want one that ends at %v", got.Audio.Found, got.Audio.To)
	}
}

func TestVideoBeginsAtTheFirstKeyFrame(t *testing.T) {
	const group = 30 // frames, a second
	ts := scene{codec: []string{"-g", "30", "-bf", "2"}, black: [][2]float64{{2.5, 9}}}.make(t)
	// The program tables, then everything from a quarter on, within a group of pictures.
	all := packets(ts)
	cut := slices.Concat(all[0], all[1], all[2], slices.Concat(all[len(all)/4:]...))
	if !strings.HasPrefix(string(cut), "\x47") {
		t.Fatal("the cut is not in step")
	}
	got := analyse(t, cut)
	if got.Video.From > time.Second+printPrecision {
		t.Errorf("the picture begins at %v, want at the next key frame, at most %d frames on", got.Video.From, group)
	}
	if n := len(got.Video.Found); n != 1 || got.Video.Found[0].To != got.Video.To {
		t.Fatalf("black = %v, want one interval until %v", got.Video.Found, got.Video.To)
	}
	if d := got.Video.To - got.Video.Found[0].From - 500*time.Millisecond; d.Abs() > printPrecision {
		t.Errorf("black lasts %v more than 0.5 s", d)
	}
}
