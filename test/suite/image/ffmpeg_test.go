//go:build image

package image_test

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg/decoder"
	"github.com/stream-monitor/stream-monitor/application/worker/collector"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/docker"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
	_ "github.com/stream-monitor/stream-monitor/test/harness/testtools/launcher" // it starts tools
)

// The image's ffmpeg has few codecs. It and segment-decoder must find the same blackouts
// and silences as the ffmpeg of this machine, which also encodes the clips. Black lasts from 1 s to
// 2.5 s, silence from 1 s to 2 s.
func TestTheImagesFFmpegFindsWhatAFullFFmpegFinds(t *testing.T) {
	hostFFmpeg, err := testtools.Tool("ffmpeg", "")
	if err != nil {
		t.Fatal(err)
	}
	imageFFmpeg, imageDecoder := extract(t, "ffmpeg"), extract(t, "segment-decoder")
	pool := decoder.New(decoder.Config{Path: imageDecoder}, slog.New(slog.DiscardHandler))
	defer pool.Close()
	var (
		h264     = []string{"-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p"}
		h264deep = []string{"-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p10le"}
		h264high = []string{"-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv444p"}
		hevc     = []string{"-c:v", "libx265", "-x265-params", "log-level=none", "-pix_fmt", "yuv420p"}
		hevcdeep = []string{"-c:v", "libx265", "-x265-params", "log-level=none", "-pix_fmt", "yuv420p10le"}
		vp9      = []string{"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-pix_fmt", "yuv420p"}
		vp9deep  = []string{"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-pix_fmt", "yuv420p10le"}
		av1      = []string{"-c:v", "libsvtav1", "-preset", "12", "-pix_fmt", "yuv420p"}
		av1deep  = []string{"-c:v", "libsvtav1", "-preset", "12", "-pix_fmt", "yuv420p10le"}
		mpeg2    = []string{"-c:v", "mpeg2video"}
		mpeg4    = []string{"-c:v", "mpeg4"}
		noVideo  = []string{"-vn"}

		aac      = []string{"-c:a", "aac"}
		opus     = []string{"-c:a", "libopus"}
		mp3      = []string{"-c:a", "libmp3lame"}
		mp2      = []string{"-c:a", "mp2"}
		ac3      = []string{"-c:a", "ac3"}
		eac3     = []string{"-c:a", "eac3"}
		flac     = []string{"-c:a", "flac", "-strict", "experimental"}
		vorbis   = []string{"-c:a", "libvorbis"}
		surround = []string{"-c:a", "aac", "-ac", "6"}
		noAudio  = []string{"-an"}

		ts      = []string{"-f", "mpegts"}
		mp4     = []string{"-movflags", "empty_moov+delay_moov+default_base_moof+frag_keyframe", "-f", "mp4"}
		rotated = append([]string{"-metadata:s:v:0", "rotate=90"}, mp4...)
		adts    = []string{"-f", "adts"}
		packed  = []string{"-f", "mp3"}
		ogg     = []string{"-f", "ogg"}
	)
	for name, c := range map[string][3][]string{
		"H.264 and AAC in MPEG-TS":            {h264, aac, ts},
		"H.264 and AAC in MP4":                {h264, aac, mp4},
		"H.264 and AAC in MP4, rotated":       {h264, aac, rotated},
		"H.264 of 10 bits and MP3 in MPEG-TS": {h264deep, mp3, ts},
		"H.264 of 4:4:4 and AAC in MPEG-TS":   {h264high, aac, ts},
		"H.264 and Opus in MPEG-TS":           {h264, opus, ts},
		"H.264 and AC-3 in MPEG-TS":           {h264, ac3, ts},
		"H.264 and E-AC-3 in MP4":             {h264, eac3, mp4},
		"H.264 and FLAC in MP4":               {h264, flac, mp4},
		"H.264 and surround sound in MPEG-TS": {h264, surround, ts},
		"HEVC and AAC in MPEG-TS":             {hevc, aac, ts},
		"HEVC of 10 bits and Opus in MP4":     {hevcdeep, opus, mp4},
		"VP9 and Opus in MP4":                 {vp9, opus, mp4},
		"VP9 of 10 bits and AAC in MP4":       {vp9deep, aac, mp4},
		"AV1 and AAC in MP4":                  {av1, aac, mp4},
		"AV1 of 10 bits and Opus in MP4":      {av1deep, opus, mp4},
		"MPEG-2 and MP2 in MPEG-TS":           {mpeg2, mp2, ts},
		"MPEG-4 part 2 and AAC in MP4":        {mpeg4, aac, mp4},
		"H.264 alone in MPEG-TS":              {h264, noAudio, ts},
		"AAC alone in MPEG-TS":                {noVideo, aac, ts},
		"packed AAC":                          {noVideo, aac, adts},
		"packed MP3":                          {noVideo, mp3, packed},
		"Vorbis in Ogg":                       {noVideo, vorbis, ogg},
		"Opus in Ogg":                         {noVideo, opus, ogg},
		"FLAC in Ogg":                         {noVideo, flac, ogg},
	} {
		t.Run(name, func(t *testing.T) {
			clip := encode(t, hostFFmpeg, c[0], c[1], c[2])
			want, got := analyse(t, ffmpeg.Config{Path: hostFFmpeg}, clip), analyse(t, ffmpeg.Config{Path: imageFFmpeg}, clip)
			expectSame(t, got, want)
			// It leaves nothing of these to ffmpeg.
			expectSame(t, analyse(t, ffmpeg.Config{Path: "/nonexistent/ffmpeg", Decoder: pool.Stream(slog.New(slog.DiscardHandler))}, clip), want)
			black, silent := want.Intervals[detector.Blackout], want.Intervals[detector.Silence]
			expectEvidence(t, imageFFmpeg, clip, want)
			if !want.Video.Present && !want.Audio.Present || want.Video.Present && len(black) == 0 || want.Audio.Present && len(silent) == 0 {
				t.Errorf("the clip has no blackout or no silence: %+v", want)
			}
		})
	}
}

// extract copies a program of the image, which is linked statically, to this machine.
func extract(t *testing.T, program string) (path string) {
	t.Helper()
	container := docker.Run(t, "create", image)
	defer docker.Run(t, "rm", container)
	path = filepath.Join(t.TempDir(), program)
	if _, err := docker.Try("cp", container+":/usr/local/bin/"+program, path); err != nil {
		t.Fatalf("the image was not built with FFMPEG=static: %v", err)
	}
	return path
}

func encode(t *testing.T, tool string, video, audio, mux []string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "clip")
	args := []string{"-nostdin", "-v", "error", "-y",
		"-f", "lavfi", "-i", "testsrc2=s=256x144:r=30:d=3", "-f", "lavfi", "-i", "sine=f=440:r=48000:d=3",
		"-vf", "drawbox=c=black:t=fill:enable='between(t,0.99,2.49)'", "-af", "volume=0:enable='between(t,1,2)',aformat=channel_layouts=stereo"}
	for _, more := range [][]string{video, audio, mux, {out}} {
		args = append(args, more...)
	}
	if output, err := exec.CommandContext(t.Context(), tool, args...).CombinedOutput(); err != nil {
		t.Fatalf("make a clip: %v\n%s", err, output)
	}
	clip, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return clip
}

func analyse(t *testing.T, c ffmpeg.Config, clip []byte) watch.Analysis {
	t.Helper()
	got, err := ffmpeg.New(c).Analyse(t.Context(), watch.Segment{URI: "https://media.example/7"}, watch.Look{}, bytes.NewReader(clip), func(string) float64 { return -50 })
	if err != nil {
		t.Fatalf("%s: %v", c.Path, err)
	}
	return got
}

// expectSame fails the test unless two analyses found the same, with instants that differ by at most one
// audio frame: decoders differ in the first frame.
func expectSame(t *testing.T, got, want watch.Analysis) {
	t.Helper()
	near := func(a, b time.Duration) bool { return (a - b).Abs() <= 25*time.Millisecond }
	for what, tracks := range map[string][2]detector.DecodedTrack{"video": {got.Video, want.Video}, "audio": {got.Audio, want.Audio}} {
		if is, wanted := tracks[0], tracks[1]; is.Present != wanted.Present || !near(is.From, wanted.From) || !near(is.To, wanted.To) {
			t.Errorf("%s: %+v, want %+v", what, is, wanted)
		}
	}
	for _, d := range detector.Table {
		is, wanted := got.Intervals[d.Name], want.Intervals[d.Name]
		if !slices.EqualFunc(is, wanted, func(a, b detector.Interval) bool { return near(a.From, b.From) && near(a.To, b.To) }) {
			t.Errorf("%s: %+v, want %+v", d.Name, is, wanted)
		}
	}
}

// expectEvidence fails the test unless a picture, the sound level and an MP4 can be made
// of a clip.
func expectEvidence(t *testing.T, tool string, clip []byte, tracks watch.Analysis) {
	t.Helper()
	c := ffmpeg.NewCapturer(ffmpeg.Config{Path: tool})
	m := collector.Media{Open: func() io.Reader { return bytes.NewReader(clip) }}
	if tracks.Video.Present {
		if _, err := c.Picture(t.Context(), m, time.Second); err != nil {
			t.Errorf("picture: %v", err)
		}
	}
	if tracks.Audio.Present {
		if levels, err := c.Levels(t.Context(), m); err != nil || len(levels) < 3 {
			t.Errorf("levels: %v %v", levels, err)
		}
	}
	var out bytes.Buffer
	if err := c.Remux(t.Context(), []collector.Media{m}, func() (io.Writer, error) { out.Reset(); return &out, nil }, 20<<20); err != nil || out.Len() == 0 {
		t.Errorf("an MP4 of %d bytes: %v", out.Len(), err)
	}
}
