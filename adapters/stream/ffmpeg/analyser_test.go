package ffmpeg_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

const (
	// exact is what ffmpeg's printing of times with six digits costs.
	exact = time.Millisecond
	// audioFrame is one AAC frame at 48 kHz: the end of a track is a whole number
	// of them, and its transform smears the edges of silence over one.
	audioFrame = 1024*time.Second/48000 + exact
)

// settings are the defaults of a registration: silence is below -50 dB (section 6.4).
func settings(field string) float64 {
	if field != detector.SilenceDB {
		panic("a setting that no detector has: " + field)
	}
	return -50
}

// result is what an analysis says of each track.
type result struct{ Video, Audio ffmpeg.TrackResult }

// track is what is expected of one.
type track struct {
	absent   bool
	from, to float64 // seconds
	bad      [][2]float64
}

func TestTracksAndTheirBadStretchesAreFoundToTheFrame(t *testing.T) {
	const p = float64(priming) / float64(time.Second)
	const mp2 = 481. / 48000 // an MP2 encoder's priming
	whole := track{from: p, to: 3 + p}
	heard := track{from: 0, to: 3 + p}
	nothing := track{absent: true}
	bad := func(t track, parts ...[2]float64) track { t.bad = parts; return t }

	for name, c := range map[string]struct {
		scene        scene
		video, audio track
	}{
		"picture and sound throughout": {scene{}, whole, heard},
		"black in the middle": {
			scene{black: [][2]float64{{1, 2.5}}},
			bad(whole, [2]float64{1 + p, 2.5 + p}), heard,
		},
		"black from the start": {
			scene{black: [][2]float64{{0, 1}}},
			bad(whole, [2]float64{p, 1 + p}), heard,
		},
		"black until the end reaches the end of the last frame": {
			scene{black: [][2]float64{{2, 9}}},
			bad(whole, [2]float64{2 + p, 3 + p}), heard,
		},
		"black all along": {
			scene{black: [][2]float64{{0, 9}}},
			bad(whole, [2]float64{p, 3 + p}), heard,
		},
		"one black frame at the end may go on and is reported": {
			scene{black: [][2]float64{{3 - 1./30, 9}}},
			bad(whole, [2]float64{3 - 1./30 + p, 3 + p}), heard,
		},
		"one black frame at the start may be the rest of more and is reported": {
			scene{black: [][2]float64{{0, 1. / 30}}},
			bad(whole, [2]float64{p, 1./30 + p}), heard,
		},
		"black of 67 ms in the middle is too short": {
			scene{black: [][2]float64{{1, 1 + 2./30}}},
			whole, heard,
		},
		"black of 100 ms in the middle is long enough": {
			scene{black: [][2]float64{{1, 1.1}}},
			bad(whole, [2]float64{1 + p, 1.1 + p}), heard,
		},
		"two black stretches": {
			scene{black: [][2]float64{{0.5, 1}, {2, 2.2}}},
			bad(whole, [2]float64{0.5 + p, 1 + p}, [2]float64{2 + p, 2.2 + p}), heard,
		},
		"silence in the middle": {
			scene{silent: [][2]float64{{1, 2}}},
			whole, bad(heard, [2]float64{1 + p, 2 + p}),
		},
		"silence until the end reaches the end of the track": {
			scene{silent: [][2]float64{{1.5, 9}}},
			whole, bad(heard, [2]float64{1.5 + p, 3 + p}),
		},
		"silence of 0.2 s at the end, shorter than the specification's minimum": {
			scene{silent: [][2]float64{{2.8, 9}}},
			whole, bad(heard, [2]float64{2.8 + p, 3 + p}),
		},
		"silence all along": {
			scene{silent: [][2]float64{{0, 9}}},
			whole, bad(heard, [2]float64{0, 3 + p}),
		},
		"black and silence apart": {
			scene{black: [][2]float64{{0, 2}}, silent: [][2]float64{{1, 9}}},
			bad(whole, [2]float64{p, 2 + p}), bad(heard, [2]float64{1 + p, 3 + p}),
		},
		"no sound track": {
			scene{black: [][2]float64{{1, 9}}, codec: []string{"-an"}},
			track{from: 0, to: 3, bad: [][2]float64{{1, 3}}}, nothing,
		},
		"no video track": {
			scene{silent: [][2]float64{{2, 9}}, codec: []string{"-vn"}},
			nothing, bad(heard, [2]float64{2 + p, 3 + p}),
		},
		"timestamps as large as YouTube's": {
			scene{offset: 71_234, black: [][2]float64{{1, 9}}, silent: [][2]float64{{1, 9}}},
			bad(whole, [2]float64{1 + p, 3 + p}), bad(heard, [2]float64{1 + p, 3 + p}),
		},
		"33-bit timestamps that wrap within the segment": {
			scene{offset: 95_443.7 - 1.4 - 1.5, black: [][2]float64{{1, 9}}, silent: [][2]float64{{1, 9}}},
			bad(whole, [2]float64{1 + p, 3 + p}), bad(heard, [2]float64{1 + p, 3 + p}),
		},
		"sound that begins half a second before the picture": {
			scene{lead: 0.5, black: [][2]float64{{1, 9}}, silent: [][2]float64{{1, 2}}},
			track{from: 0.5 + p, to: 3.5 + p, bad: [][2]float64{{1.5 + p, 3.5 + p}}},
			track{to: 3.5 + p, bad: [][2]float64{{1 + p, 2 + p}}},
		},
		"60 frames a second": {
			scene{rate: 60, black: [][2]float64{{1.25, 9}}},
			bad(whole, [2]float64{1.25 + p, 3 + p}), heard,
		},
		"5 frames a second": {
			scene{rate: 5, black: [][2]float64{{1, 9}}},
			bad(whole, [2]float64{1 + p, 3 + p}), heard,
		},
		"B frames and open groups of pictures": {
			scene{codec: []string{"-g", "15", "-bf", "3", "-x264-params", "open-gop=1"}, black: [][2]float64{{1, 2}}},
			bad(whole, [2]float64{1 + p, 2 + p}), heard,
		},
		"surround sound": {
			scene{layout: "5.1", silent: [][2]float64{{1, 9}}},
			whole, bad(heard, [2]float64{1 + p, 3 + p}),
		},
		"one silent channel of two is no silence": {
			scene{pan: "pan=stereo|c0=c0"},
			whole, heard,
		},
		"sound just louder than the threshold": {
			scene{volume: -26}, whole, heard,
		},
		"sound softer than the threshold": {
			scene{volume: -38}, whole, bad(heard, [2]float64{0, 3 + p}),
		},
		"MPEG-2 video and MP2 sound": {
			scene{codec: []string{"-c:v", "mpeg2video", "-c:a", "mp2"}, black: [][2]float64{{1, 9}}},
			track{from: mp2, to: 3 + mp2, bad: [][2]float64{{1 + mp2, 3 + mp2}}}, track{to: 3},
		},
		"an MP4 in fragments": {
			scene{mux: []string{"-movflags", "empty_moov+delay_moov+default_base_moof+frag_keyframe", "-f", "mp4"}, black: [][2]float64{{1, 9}}, silent: [][2]float64{{2, 9}}},
			bad(whole, [2]float64{1 + p, 3 + p}), bad(heard, [2]float64{2 + p, 3 + p}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := analyse(t, c.scene.make(t))
			same(t, "video", got.Video, c.video, exact)
			same(t, "audio", got.Audio, c.audio, audioFrame)
		})
	}
}

// analyse runs a real ffmpeg over a segment that must be analysable.
func analyse(t *testing.T, segment []byte) result {
	t.Helper()
	s := watch.Segment{URI: "https://media.example/7.ts"}
	got, err := ffmpeg.New(ffmpeg.Config{Path: tool(t)}).Analyse(t.Context(), s, bytes.NewReader(segment), settings)
	if err != nil {
		t.Fatalf("Analyse: %v", err)
	}
	noChildren(t)
	video, audio := ffmpeg.Results(got)
	return result{video, audio}
}

func same(t *testing.T, name string, got ffmpeg.TrackResult, want track, tolerance time.Duration) {
	t.Helper()
	if got.Present == want.absent {
		t.Fatalf("%s: present = %v", name, got.Present)
	}
	near := func(what string, got time.Duration, want float64) {
		t.Helper()
		if d := got - seconds(want); d.Abs() > tolerance {
			t.Errorf("%s: %s at %v, want %v ± %v", name, what, got, seconds(want), tolerance)
		}
	}
	near("begins", got.From, want.from)
	near("ends", got.To, want.to)
	if len(got.Found) != len(want.bad) {
		t.Fatalf("%s: bad = %v, want %v", name, got.Found, want.bad)
	}
	for i, b := range got.Found {
		near("bad begins", b.From, want.bad[i][0])
		near("bad ends", b.To, want.bad[i][1])
		if goesOn := want.bad[i][1] >= want.to; goesOn != (b.To == got.To) {
			t.Errorf("%s: bad ends at %v, the track at %v; equal means that it goes on, want %v", name, b.To, got.To, goesOn)
		}
	}
}
