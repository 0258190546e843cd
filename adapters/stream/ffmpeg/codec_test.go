package ffmpeg_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// The options of encoders.
var (
	hevc = []string{"-c:v", "libx265", "-x265-params", "log-level=none"}
	vp9  = []string{"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"}
	av1  = []string{"-c:v", "libsvtav1", "-preset", "12"}
)

// Picture and sound are bad at the beginning, in the middle and at the end. A segment that a
// decoder leaves to the command costs twenty times as much.
func TestEveryKindOfStreamIsAnalysed(t *testing.T) {
	codec := func(args ...string) []string { return args }
	var (
		every = keyFramesEvery("30")
		deep  = codec("-pix_fmt", "yuv420p10le")
		opus  = codec("-c:a", "libopus")
		mp3   = codec("-c:a", "libmp3lame")
		// Packed audio may have an ID3 tag with its time (RFC 8216, 3.4).
		tagged = codec("-write_id3v2", "1", "-metadata", "title=a", "-f", "adts")
	)
	for name, s := range map[string]scene{
		"H.264 and AAC in MPEG-TS":            {codec: every},
		"large timestamps":                    {codec: every, offset: 71_234},
		"open groups of pictures":             {codec: slices.Concat(every, codec("-bf", "3", "-x264-params", "open-gop=1"))},
		"full-range luma":                     {codec: slices.Concat(every, codec("-pix_fmt", "yuvj420p"))},
		"one channel at 44.1 kHz":             {codec: slices.Concat(every, codec("-ar", "44100")), layout: "mono"},
		"5.1 channels":                        {codec: every, layout: "5.1"},
		"H.264 of 10 bits and MP3 in MPEG-TS": {codec: slices.Concat(deep, mp3)},
		"H.264 and Opus in MPEG-TS":           {codec: opus},
		"HEVC of 10 bits in MPEG-TS":          {codec: slices.Concat(hevc, deep)},
		"H.264 in MP4 with an init section":   {codec: every, mux: fragmentedMP4},
		"H.264 of 10 bits and MP3 in MP4":     {codec: slices.Concat(deep, mp3), mux: fragmentedMP4},
		"HEVC and Opus in MP4":                {codec: slices.Concat(hevc, opus), mux: fragmentedMP4},
		"VP9 and Opus in MP4":                 {codec: slices.Concat(vp9, opus), mux: fragmentedMP4},
		"VP9 of 10 bits in MP4":               {codec: slices.Concat(vp9, deep), mux: fragmentedMP4},
		"AV1 and AAC in MP4":                  {codec: av1, mux: fragmentedMP4},
		"AV1 of 10 bits and Opus in MP4":      {codec: slices.Concat(av1, deep, opus), mux: fragmentedMP4},
		"AV1 alone in MP4":                    {codec: slices.Concat(av1, codec("-an")), mux: fragmentedMP4},
		"the picture alone":                   {codec: slices.Concat(every, codec("-an"))},
		"the sound alone in MPEG-TS":          {codec: codec("-vn")},
		"the sound alone in MP4":              {codec: codec("-vn"), mux: fragmentedMP4},
		"Opus alone in MP4":                   {codec: slices.Concat(opus, codec("-vn")), mux: fragmentedMP4},
		"packed AAC":                          {codec: codec("-vn"), mux: codec("-f", "adts")},
		"packed AAC after a tag":              {codec: codec("-vn"), mux: tagged},
		"packed MP3":                          {codec: slices.Concat(mp3, codec("-vn")), mux: codec("-f", "mp3")},
		"Vorbis in Ogg":                       {codec: codec("-vn", "-c:a", "libvorbis"), mux: codec("-f", "ogg")},
		"Opus in Ogg":                         {codec: slices.Concat(opus, codec("-vn")), mux: codec("-f", "ogg")},
		"FLAC in Ogg":                         {codec: codec("-vn", "-c:a", "flac"), mux: codec("-f", "ogg")},
	} {
		t.Run(name, func(t *testing.T) {
			s.black = during(0, 0.6, 1, 1.8, 2.3, 9)
			s.silent = s.black
			segment := s.make(t)
			for _, calm := range []watch.Look{{}, calmest} {
				got := look(t, realTool(t), calm, segment)
				checkScene(t, got, !slices.Contains(s.codec, "-vn"), !slices.Contains(s.codec, "-an"))
				if !checkDecoder(t, calm, segment, got) {
					t.Errorf("%+v: the decoder left it to the command", calm)
				}
			}
			checkNoSubprocess(t)
		})
	}
}

// checkScene checks a scene of 3 s that is bad until 0.6 s, from 1 s to 1.8 s, and from 2.3 s on.
// The encoders decide where it begins.
func checkScene(t *testing.T, a watch.Analysis, hasVideo, hasAudio bool) {
	t.Helper()
	video, audio := ffmpeg.Results(a)
	if video.Present != hasVideo || audio.Present != hasAudio {
		t.Fatalf("present: video %v, audio %v", video.Present, audio.Present)
	}
	zero := 0.025 // an encoder's priming
	if hasVideo {
		zero = video.From.Seconds()
		compareTrack(t, "video", video, track{from: zero, to: zero + 3, intervals: during(zero, zero+0.6, zero+1, zero+1.8, zero+2.3, zero+3)}, printPrecision)
	}
	if hasAudio { // it may be silent from its priming on
		from := audio.From.Seconds()
		compareTrack(t, "audio", audio, track{from: zero, to: zero + 3, intervals: during(from, zero+0.6, zero+1, zero+1.8, zero+2.3, zero+3)}, 50*time.Millisecond)
	}
}

// ffmpeg has no HE-AAC encoder, so AAC-LC at 24 kHz is declared as HE-AAC at 48 kHz. The
// decoder then runs its SBR part: without SBR data in a frame, which is allowed, it
// doubles the rate all the same (ISO/IEC 14496-3, 4.6.18.5).
func TestHEAACIsDecoded(t *testing.T) {
	lc := scene{
		codec:  []string{"-vn", "-ar", "24000"},
		mux:    fragmentedMP4,
		silent: during(1, 2),
	}.make(t)
	// AudioSpecificConfig: first AAC-LC, 24 kHz, stereo, no SBR; then SBR, 24 kHz,
	// stereo, extended to 48 kHz, over AAC-LC.
	he := bytes.Replace(lc, []byte{0x13, 0x10, 0x56, 0xe5, 0}, []byte{0x2b, 0x11, 0x88, 0, 0}, 1)
	if bytes.Equal(lc, he) {
		t.Fatal("AudioSpecificConfig not found")
	}
	// A frame has 1024 samples at 24 kHz, and so has the priming.
	const p = 1024. / 24000
	_, audio := analyse(t, he)
	compareTrack(t, "audio", audio, track{to: 3 + p, intervals: during(1+p, 2+p)}, 2*audioFrame)
}
