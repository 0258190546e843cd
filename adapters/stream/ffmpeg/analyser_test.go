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
	// printPrecision is the precision of the times that ffmpeg prints with six digits.
	printPrecision = time.Millisecond
	// audioFrame is the precision of audio: the length of one AAC frame at 48 kHz. A
	// track ends with a whole frame, and silence may begin or end within one.
	audioFrame = 1024*time.Second/48000 + printPrecision
)

// settings returns the defaults of a registration: silence is below -50 dB (section 6.4).
func settings(field string) float64 {
	if field != detector.SilenceDB {
		panic("no detector has the setting " + field)
	}
	return -50
}

// result is the result of an analysis by track.
type result struct{ Video, Audio ffmpeg.TrackResult }

// track is an expected track with the intervals of its detector. Times are seconds.
type track struct {
	absent    bool
	from, to  float64
	intervals [][2]float64
}

// The tracks of a scene without black and silence.
var (
	videoTrack  = track{from: primingSeconds, to: 3 + primingSeconds}
	audioTrack  = track{from: 0, to: 3 + primingSeconds}
	absentTrack = track{absent: true}
)

// with returns the track with these intervals.
func (t track) with(intervals ...[2]float64) track { t.intervals = intervals; return t }

// analysisCase is a scene of 3 s with its expected tracks.
type analysisCase struct {
	scene        scene
	video, audio track
}

func checkAnalyses(t *testing.T, cases map[string]analysisCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := analyse(t, c.scene.make(t))
			compareTrack(t, "video", got.Video, c.video, printPrecision)
			compareTrack(t, "audio", got.Audio, c.audio, audioFrame)
		})
	}
}

func TestBlackIsFoundToTheFrame(t *testing.T) {
	const p = primingSeconds // the video begins after it
	checkAnalyses(t, map[string]analysisCase{
		"picture and sound throughout": {scene{}, videoTrack, audioTrack},
		"black in the middle": {
			scene{black: [][2]float64{{1, 2.5}}},
			videoTrack.with([2]float64{1 + p, 2.5 + p}), audioTrack,
		},
		"black from the start": {
			scene{black: [][2]float64{{0, 1}}},
			videoTrack.with([2]float64{p, 1 + p}), audioTrack,
		},
		"black until the end reaches the end of the last frame": {
			scene{black: [][2]float64{{2, 9}}},
			videoTrack.with([2]float64{2 + p, 3 + p}), audioTrack,
		},
		"black throughout": {
			scene{black: [][2]float64{{0, 9}}},
			videoTrack.with([2]float64{p, 3 + p}), audioTrack,
		},
		"one black frame at the end may continue and is reported": {
			scene{black: [][2]float64{{3 - 1./30, 9}}},
			videoTrack.with([2]float64{3 - 1./30 + p, 3 + p}), audioTrack,
		},
		"one black frame at the start may continue an earlier one and is reported": {
			scene{black: [][2]float64{{0, 1. / 30}}},
			videoTrack.with([2]float64{p, 1./30 + p}), audioTrack,
		},
		"black of 67 ms in the middle is too short": {
			scene{black: [][2]float64{{1, 1 + 2./30}}},
			videoTrack, audioTrack,
		},
		"black of 100 ms in the middle is long enough": {
			scene{black: [][2]float64{{1, 1.1}}},
			videoTrack.with([2]float64{1 + p, 1.1 + p}), audioTrack,
		},
		"two black intervals": {
			scene{black: [][2]float64{{0.5, 1}, {2, 2.2}}},
			videoTrack.with([2]float64{0.5 + p, 1 + p}, [2]float64{2 + p, 2.2 + p}), audioTrack,
		},
	})
}

func TestSilenceIsFoundToTheFrame(t *testing.T) {
	const p = primingSeconds // the video begins after it
	checkAnalyses(t, map[string]analysisCase{
		"silence in the middle": {
			scene{silent: [][2]float64{{1, 2}}},
			videoTrack, audioTrack.with([2]float64{1 + p, 2 + p}),
		},
		"silence until the end reaches the end of the track": {
			scene{silent: [][2]float64{{1.5, 9}}},
			videoTrack, audioTrack.with([2]float64{1.5 + p, 3 + p}),
		},
		"silence of 0.2 s at the end, shorter than the specification's minimum": {
			scene{silent: [][2]float64{{2.8, 9}}},
			videoTrack, audioTrack.with([2]float64{2.8 + p, 3 + p}),
		},
		"silence throughout": {
			scene{silent: [][2]float64{{0, 9}}},
			videoTrack, audioTrack.with([2]float64{0, 3 + p}),
		},
		"black and silence that overlap": {
			scene{black: [][2]float64{{0, 2}}, silent: [][2]float64{{1, 9}}},
			videoTrack.with([2]float64{p, 2 + p}), audioTrack.with([2]float64{1 + p, 3 + p}),
		},
		"surround sound": {
			scene{layout: "5.1", silent: [][2]float64{{1, 9}}},
			videoTrack, audioTrack.with([2]float64{1 + p, 3 + p}),
		},
		"one silent channel of two is not silence": {
			scene{pan: "pan=stereo|c0=c0"},
			videoTrack, audioTrack,
		},
		"sound just louder than the threshold": {
			scene{volume: -26}, videoTrack, audioTrack,
		},
		"sound softer than the threshold": {
			scene{volume: -38}, videoTrack, audioTrack.with([2]float64{0, 3 + p}),
		},
	})
}

func TestIntervalsAreFoundInEveryKindOfSegment(t *testing.T) {
	const p = primingSeconds // the video begins after it
	const mp2 = 481. / 48000 // an MP2 encoder's priming
	checkAnalyses(t, map[string]analysisCase{
		"no audio track": {
			scene{black: [][2]float64{{1, 9}}, codec: []string{"-an"}},
			track{from: 0, to: 3, intervals: [][2]float64{{1, 3}}}, absentTrack,
		},
		"no video track": {
			scene{silent: [][2]float64{{2, 9}}, codec: []string{"-vn"}},
			absentTrack, audioTrack.with([2]float64{2 + p, 3 + p}),
		},
		"timestamps as large as YouTube's": {
			scene{offset: 71_234, black: [][2]float64{{1, 9}}, silent: [][2]float64{{1, 9}}},
			videoTrack.with([2]float64{1 + p, 3 + p}), audioTrack.with([2]float64{1 + p, 3 + p}),
		},
		"33-bit timestamps that wrap within the segment": {
			scene{offset: 95_443.7 - 1.4 - 1.5, black: [][2]float64{{1, 9}}, silent: [][2]float64{{1, 9}}},
			videoTrack.with([2]float64{1 + p, 3 + p}), audioTrack.with([2]float64{1 + p, 3 + p}),
		},
		"sound that begins half a second before the picture": {
			scene{audioLead: 0.5, black: [][2]float64{{1, 9}}, silent: [][2]float64{{1, 2}}},
			track{from: 0.5 + p, to: 3.5 + p, intervals: [][2]float64{{1.5 + p, 3.5 + p}}},
			track{to: 3.5 + p, intervals: [][2]float64{{1 + p, 2 + p}}},
		},
		"60 frames a second": {
			scene{rate: 60, black: [][2]float64{{1.25, 9}}},
			videoTrack.with([2]float64{1.25 + p, 3 + p}), audioTrack,
		},
		"5 frames a second": {
			scene{rate: 5, black: [][2]float64{{1, 9}}},
			videoTrack.with([2]float64{1 + p, 3 + p}), audioTrack,
		},
		"B frames and open groups of pictures": {
			scene{codec: []string{"-g", "15", "-bf", "3", "-x264-params", "open-gop=1"}, black: [][2]float64{{1, 2}}},
			videoTrack.with([2]float64{1 + p, 2 + p}), audioTrack,
		},
		"MPEG-2 video and MP2 sound": {
			scene{codec: []string{"-c:v", "mpeg2video", "-c:a", "mp2"}, black: [][2]float64{{1, 9}}},
			track{from: mp2, to: 3 + mp2, intervals: [][2]float64{{1 + mp2, 3 + mp2}}}, track{to: 3},
		},
		"an MP4 in fragments": {
			scene{mux: fragmentedMP4, black: [][2]float64{{1, 9}}, silent: [][2]float64{{2, 9}}},
			videoTrack.with([2]float64{1 + p, 3 + p}), audioTrack.with([2]float64{2 + p, 3 + p}),
		},
	})
}

// analyse analyses a segment with the real ffmpeg. It must succeed. A decoder must find
// the same, or leave the segment to the command.
func analyse(t *testing.T, segment []byte) result {
	t.Helper()
	s := watch.Segment{URI: "https://media.example/7.ts"}
	got, err := ffmpeg.New(realTool(t)).Analyse(t.Context(), s, watch.Calm{}, bytes.NewReader(segment), settings)
	if err != nil {
		t.Fatalf("Analyse: %v", err)
	}
	checkDecoder(t, s, watch.Calm{}, segment, settings, got)
	checkNoSubprocess(t)
	video, audio := ffmpeg.Results(got)
	return result{video, audio}
}

// compareTrack compares a track and its intervals. An interval that touches the end of
// the track must end exactly there.
func compareTrack(t *testing.T, name string, got ffmpeg.TrackResult, want track, tolerance time.Duration) {
	t.Helper()
	if got.Present == want.absent {
		t.Fatalf("%s: present = %v", name, got.Present)
	}
	checkTime := func(what string, got time.Duration, want float64) {
		t.Helper()
		if d := got - seconds(want); d.Abs() > tolerance {
			t.Errorf("%s: %s at %v, want %v ± %v", name, what, got, seconds(want), tolerance)
		}
	}
	checkTime("begins", got.From, want.from)
	checkTime("ends", got.To, want.to)
	if len(got.Found) != len(want.intervals) {
		t.Fatalf("%s: intervals = %v, want %v", name, got.Found, want.intervals)
	}
	for i, found := range got.Found {
		checkTime("interval begins", found.From, want.intervals[i][0])
		checkTime("interval ends", found.To, want.intervals[i][1])
		if atEnd := want.intervals[i][1] >= want.to; atEnd != (found.To == got.To) {
			t.Errorf("%s: the interval ends at %v, the track at %v; want equal: %v", name, found.To, got.To, atEnd)
		}
	}
}
