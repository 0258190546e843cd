package ffmpeg_test

import (
	"bytes"
	"fmt"
	"slices"
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

// track is an expected track with the intervals of its detector. Times are seconds.
type track struct {
	absent    bool
	from, to  float64
	intervals [][2]float64
}

var absentTrack = track{absent: true}

// during returns the parts between pairs of edges, in seconds.
func during(edges ...float64) (parts [][2]float64) {
	for i := 0; i < len(edges); i += 2 {
		parts = append(parts, [2]float64{edges[i], edges[i+1]})
	}
	return parts
}

// picture returns the video of a scene of 3 s, with the black between these edges.
func picture(edges ...float64) track {
	return track{from: primingSeconds, to: 3 + primingSeconds}.with(edges)
}

// sound returns the audio of a scene of 3 s, with the silence between these edges. It begins
// with its priming.
func sound(edges ...float64) track { return track{to: 3 + primingSeconds}.with(edges) }

// with returns the track with the intervals between these edges, in seconds of the scene. 0 is
// the beginning of the track, and 9 its end.
func (t track) with(edges []float64) track {
	for i, edge := range edges {
		switch edge {
		case 0:
			edges[i] = t.from
		case 9:
			edges[i] = t.to
		default:
			edges[i] += primingSeconds
		}
	}
	t.intervals = during(edges...)
	return t
}

// checkAnalyses compares what is found in scenes of 3 s.
func checkAnalyses(t *testing.T, cases map[string]struct {
	scene        scene
	video, audio track
},
) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { checkAnalysis(t, c.scene.make(t), c.video, c.audio, printPrecision, audioFrame) })
	}
}

func TestBlackAndSilenceAreFoundToTheFrame(t *testing.T) {
	const frame = 1. / 30
	checkAnalyses(t, map[string]struct {
		scene        scene
		video, audio track
	}{
		"picture and sound throughout":                          {scene{}, picture(), sound()},
		"black in the middle":                                   {scene{black: during(1, 2.5)}, picture(1, 2.5), sound()},
		"black from the start":                                  {scene{black: during(0, 1)}, picture(0, 1), sound()},
		"black until the end reaches the end of the last frame": {scene{black: during(2, 9)}, picture(2, 9), sound()},
		"black throughout":                                      {scene{black: during(0, 9)}, picture(0, 9), sound()},
		"one black frame at the end may continue":               {scene{black: during(3-frame, 9)}, picture(3-frame, 9), sound()},
		"one black frame at the start may continue another":     {scene{black: during(0, frame)}, picture(0, frame), sound()},
		"black of 67 ms in the middle is too short":             {scene{black: during(1, 1+2*frame)}, picture(), sound()},
		"black of 100 ms in the middle is long enough":          {scene{black: during(1, 1.1)}, picture(1, 1.1), sound()},
		"two black intervals":                                   {scene{black: during(0.5, 1, 2, 2.2)}, picture(0.5, 1, 2, 2.2), sound()},

		"silence in the middle":                              {scene{silent: during(1, 2)}, picture(), sound(1, 2)},
		"silence until the end reaches the end of the track": {scene{silent: during(1.5, 9)}, picture(), sound(1.5, 9)},
		"silence of 0.2 s at the end may continue":           {scene{silent: during(2.8, 9)}, picture(), sound(2.8, 9)},
		"silence throughout":                                 {scene{silent: during(0, 9)}, picture(), sound(0, 9)},
		"black and silence that overlap":                     {scene{black: during(0, 2), silent: during(1, 9)}, picture(0, 2), sound(1, 9)},
		"surround sound":                                     {scene{layout: "5.1", silent: during(1, 9)}, picture(), sound(1, 9)},
		"one silent channel of two is not silence":           {scene{pan: "pan=stereo|c0=c0"}, picture(), sound()},
		"sound just louder than the threshold":               {scene{volume: -26}, picture(), sound()},
		"sound softer than the threshold":                    {scene{volume: -38}, picture(), sound(0, 9)},
	})
}

func TestIntervalsAreFoundInEveryKindOfSegment(t *testing.T) {
	const p = primingSeconds
	const mp2 = 481. / 48000 // an MP2 encoder's priming
	both := func(s scene) scene { s.black, s.silent = during(1, 9), during(1, 9); return s }
	checkAnalyses(t, map[string]struct {
		scene        scene
		video, audio track
	}{
		"no audio track":                   {both(scene{codec: []string{"-an"}}), track{to: 3, intervals: during(1, 3)}, absentTrack},
		"no video track":                   {both(scene{codec: []string{"-vn"}}), absentTrack, sound(1, 9)},
		"timestamps as large as YouTube's": {both(scene{offset: 71_234}), picture(1, 9), sound(1, 9)},
		"33-bit timestamps that wrap":      {both(scene{offset: 95_443.7 - 1.4 - 1.5}), picture(1, 9), sound(1, 9)},
		"sound that begins half a second before the picture": {
			scene{audioLead: 0.5, black: during(1, 9), silent: during(1, 2)},
			track{from: 0.5 + p, to: 3.5 + p, intervals: during(1.5+p, 3.5+p)}, track{to: 3.5 + p, intervals: during(1+p, 2+p)},
		},
		"60 frames a second":                   {scene{rate: 60, black: during(1.25, 9)}, picture(1.25, 9), sound()},
		"5 frames a second":                    {scene{rate: 5, black: during(1, 9)}, picture(1, 9), sound()},
		"B frames and open groups of pictures": {scene{codec: []string{"-g", "15", "-bf", "3", "-x264-params", "open-gop=1"}, black: during(1, 2)}, picture(1, 2), sound()},
		"MPEG-2 video and MP2 sound": {
			scene{codec: []string{"-c:v", "mpeg2video", "-c:a", "mp2"}, black: during(1, 9)},
			track{from: mp2, to: 3 + mp2, intervals: during(1+mp2, 3+mp2)}, track{to: 3},
		},
		"an MP4 in fragments": {both(scene{mux: fragmentedMP4}), picture(1, 9), sound(1, 9)},
	})
}

// The luma of black is at most a tenth of its range, which is 16 to 235, in 98 % of the
// picture (section 6.3).
func TestDarkPicturesAreBlack(t *testing.T) {
	for name, c := range map[string]struct {
		luma, width, height int // of the picture, and of a white box in it
		black               bool
	}{
		"a little darker than a tenth":   {36, 16, 16, true},
		"a little brighter than a tenth": {40, 16, 16, false},
		"white in 1.4 % of the picture":  {16, 32, 16, true},
		"white in 2.8 % of the picture":  {16, 32, 32, false},
	} {
		t.Run(name, func(t *testing.T) {
			video, _ := analyse(t, encode(t, "-f", "lavfi", "-i", "color=s=256x144:r=30:d=1",
				"-vf", fmt.Sprintf("geq=lum=%d:cb=128:cr=128,drawbox=x=0:y=0:w=%d:h=%d:c=white:t=fill", c.luma, c.width, c.height),
				"-c:v", "libx264", "-qp", "1", "-pix_fmt", "yuv420p", "-f", "mpegts"))
			if black := len(video.Found) == 1; black != c.black {
				t.Errorf("black = %v, want %v", video.Found, c.black)
			}
		})
	}
}

func TestTheSettingDecidesWhatIsSilence(t *testing.T) {
	ts := scene{volume: -26}.make(t) // a tone of -47 dBFS
	for silenceDB, silent := range map[float64]bool{-45.5: true, -48.5: false} {
		got, err := ffmpeg.New(realTool(t)).Analyse(t.Context(), watch.Segment{}, watch.Look{}, bytes.NewReader(ts), func(string) float64 { return silenceDB })
		if found := got.Intervals[detector.Silence]; err != nil || (len(found) == 1) != silent {
			t.Errorf("below %g dBFS: silence = %v, %v; want %v", silenceDB, found, err, silent)
		}
	}
}

// look analyses a segment, which must succeed.
func look(t *testing.T, c ffmpeg.Config, calm watch.Look, segment []byte) watch.Analysis {
	t.Helper()
	got, err := ffmpeg.New(c).Analyse(t.Context(), watch.Segment{}, calm, bytes.NewReader(segment), settings)
	if err != nil {
		t.Fatalf("Analyse: %v", err)
	}
	return got
}

// analyse analyses a segment with the real ffmpeg. A decoder must find the same, or leave
// the segment to the command.
func analyse(t *testing.T, segment []byte) (video, audio ffmpeg.TrackResult) {
	t.Helper()
	got := look(t, realTool(t), watch.Look{}, segment)
	checkDecoder(t, watch.Look{}, segment, got)
	checkNoSubprocess(t)
	return ffmpeg.Results(got)
}

// checkAnalysis analyses a segment and compares its tracks with the tolerances of each.
func checkAnalysis(t *testing.T, segment []byte, video, audio track, ofVideo, ofAudio time.Duration) {
	t.Helper()
	gotVideo, gotAudio := analyse(t, segment)
	compareTrack(t, "video", gotVideo, video, ofVideo)
	compareTrack(t, "audio", gotAudio, audio, ofAudio)
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

// The segment joins two scenes of 2 s, of which the first is black and silent for its last half second.
func TestIntervalsContinueAcrossAJoint(t *testing.T) {
	first := scene{seconds: 2, offset: 100, black: during(1.5, 9), silent: during(1.5, 9)}
	const loose = 3 * time.Second / 30 // the joint of timestamps that begin again
	half := during(0, 0.5)
	next := scene{offset: 102, black: half, silent: half}
	changed := func(s scene) scene { s.offset, s.black, s.silent = 102, half, half; return s }
	restarted := func(s scene) scene { s.black, s.silent = half, half; return s }
	at := func(offset float64) scene { s := next; s.offset = offset; return s }

	for name, c := range map[string]struct {
		second        scene
		gap           float64
		black, silent float64 // until when
		tolerance     time.Duration
	}{
		"timestamps jump back to the beginning":   {at(5), 0, 2.5, 2.5, 0},
		"timestamps jump back by half a second":   {at(101.5), 0, 2.5, 2.5, 0},
		"timestamps jump back by all but 0.2 s":   {at(100.2), 0, 2.5, 2.5, 0},
		"timestamps jump forward by an hour":      {at(3702), 0, 2.5, 2.5, 0},
		"timestamps jump forward, past 33 bits":   {at(95_440), 0, 2.5, 2.5, 0},
		"five seconds are missing":                {at(107), 5, 7.5, 7.5, 0},
		"another format, in which nothing is bad": {scene{offset: 102, size: "320x180", layout: "5.1"}, 0, 2, 2, 0},
		"the sound alone stays silent":            {scene{offset: 102, size: "320x180", layout: "5.1", black: half, silent: during(0, 9)}, 0, 2.5, 4, 0},

		"a larger picture":             {changed(scene{size: "640x360"}), 0, 2.5, 2.5, audioFrame},
		"a larger picture, from zero":  {restarted(scene{size: "640x360"}), 0, 2.5, 2.5, loose},
		"a smaller picture":            {changed(scene{size: "160x90"}), 0, 2.5, 2.5, audioFrame},
		"a smaller picture, from zero": {restarted(scene{size: "160x90"}), 0, 2.5, 2.5, loose},
		"a picture at another rate":    {changed(scene{rate: 60}), 0, 2.5, 2.5, audioFrame},
		"another profile":              {changed(scene{codec: []string{"-profile:v", "baseline"}}), 0, 2.5, 2.5, audioFrame},
		"a picture with ten bits":      {changed(scene{codec: []string{"-pix_fmt", "yuv420p10le"}}), 0, 2.5, 2.5, audioFrame},
		"full-range luma":              {changed(scene{codec: []string{"-pix_fmt", "yuvj420p"}}), 0, 2.5, 2.5, audioFrame},
		"sound of one channel":         {changed(scene{layout: "mono"}), 0, 2.5, 2.5, audioFrame},
		"one channel, from zero":       {restarted(scene{layout: "mono"}), 0, 2.5, 2.5, loose},
		"sound of another sample rate": {changed(scene{codec: []string{"-ar", "44100"}}), 0, 2.5, 2.5, audioFrame},
	} {
		t.Run(name, func(t *testing.T) {
			c.second.seconds = 2
			const p = primingSeconds
			end := 4 + c.gap + p
			video := track{from: p, to: end, intervals: during(1.5+p, c.black+p)}
			audio := track{to: end, intervals: during(1.5+p, c.silent+p)}
			checkAnalysis(t, slices.Concat(first.make(t), c.second.make(t)), video, audio, max(c.tolerance, printPrecision), max(c.tolerance, audioFrame))
		})
	}
}
