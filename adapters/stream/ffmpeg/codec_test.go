package ffmpeg_test

import (
	"bytes"
	"slices"
	"testing"
	"time"
)

// Black lasts from 1 s to 2.5 s, silence from 1 s to 2 s.
func TestCodecsOfLiveStreamsAreDecoded(t *testing.T) {
	codec := func(args ...string) []string { return args }
	var (
		hevc = codec("-c:v", "libx265", "-x265-params", "log-level=none")
		vp9  = codec("-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8")
		av1  = codec("-c:v", "libsvtav1", "-preset", "12")
		deep = codec("-pix_fmt", "yuv420p10le")
		opus = codec("-c:a", "libopus")
		mp3  = codec("-c:a", "libmp3lame")
		none = []string{}
	)
	var (
		ts   []string // the default of a scene
		mp4  = []string{"-movflags", "empty_moov+delay_moov+default_base_moof+frag_keyframe", "-f", "mp4"}
		adts = []string{"-f", "adts"}
		// Packed audio has an ID3 tag with its time (RFC 8216, 3.4).
		tagged = []string{"-write_id3v2", "1", "-metadata", "title=a", "-f", "adts"}
		packed = []string{"-f", "mp3"}
	)
	for name, c := range map[string]struct {
		video, audio, mux []string
	}{
		"HEVC and AAC in MPEG-TS":             {hevc, none, ts},
		"HEVC of 10 bits and AAC in MPEG-TS":  {slices.Concat(hevc, deep), none, ts},
		"H.264 of 10 bits and MP3 in MPEG-TS": {deep, mp3, ts},
		"H.264 and Opus in MPEG-TS":           {none, opus, ts},
		"HEVC and Opus in MP4":                {hevc, opus, mp4},
		"H.264 of 10 bits and MP3 in MP4":     {deep, mp3, mp4},
		"VP9 and Opus in MP4":                 {vp9, opus, mp4},
		"VP9 of 10 bits and AAC in MP4":       {slices.Concat(vp9, deep), none, mp4},
		"AV1 and AAC in MP4":                  {av1, none, mp4},
		"AV1 of 10 bits and Opus in MP4":      {slices.Concat(av1, deep), opus, mp4},
		"AV1 alone in MP4":                    {av1, nil, mp4},
		"H.264 alone in MPEG-TS":              {none, nil, ts},
		"Opus alone in MP4":                   {nil, opus, mp4},
		"AAC alone in MPEG-TS":                {nil, none, ts},
		"packed AAC":                          {nil, none, adts},
		"packed AAC after a tag":              {nil, none, tagged},
		"packed MP3":                          {nil, mp3, packed},
	} {
		t.Run(name, func(t *testing.T) {
			s := scene{mux: c.mux, black: [][2]float64{{1, 2.5}}, silent: [][2]float64{{1, 2}}}
			s.codec = slices.Concat(c.video, c.audio)
			if c.video == nil {
				s.codec = append(s.codec, "-vn")
			}
			if c.audio == nil {
				s.codec = append(s.codec, "-an")
			}
			checkScene(t, analyse(t, s.make(t)), c.video != nil, c.audio != nil)
		})
	}
}

// checkScene checks a scene of 3 s with black from 1 s to 2.5 s and silence from 1 s to
// 2 s. The encoders decide where it begins.
func checkScene(t *testing.T, got result, video, audio bool) {
	t.Helper()
	if got.Video.Present != video || got.Audio.Present != audio {
		t.Fatalf("present: video %v, audio %v", got.Video.Present, got.Audio.Present)
	}
	zero := got.Video.From.Seconds()
	if video {
		compareTrack(t, "video", got.Video, track{from: zero, to: zero + 3, intervals: [][2]float64{{zero + 1, zero + 2.5}}}, printPrecision)
	} else {
		zero = 0.025 // an encoder's priming
	}
	if audio {
		compareTrack(t, "audio", got.Audio, track{from: zero, to: zero + 3, intervals: [][2]float64{{zero + 1, zero + 2}}}, 50*time.Millisecond)
	}
}

// ffmpeg has no HE-AAC encoder, so AAC-LC at 24 kHz is declared as HE-AAC at 48 kHz. The
// decoder then runs its SBR part: without SBR data in a frame, which is allowed, it
// doubles the rate all the same (ISO/IEC 14496-3, 4.6.18.5).
func TestHEAACIsDecoded(t *testing.T) {
	lc := scene{
		codec:  []string{"-vn", "-ar", "24000"},
		mux:    []string{"-movflags", "empty_moov+delay_moov+default_base_moof+frag_keyframe", "-f", "mp4"},
		silent: [][2]float64{{1, 2}},
	}.make(t)
	// AudioSpecificConfig: first AAC-LC, 24 kHz, stereo, no SBR; then SBR, 24 kHz,
	// stereo, extended to 48 kHz, over AAC-LC.
	he := bytes.Replace(lc, []byte{0x13, 0x10, 0x56, 0xe5, 0}, []byte{0x2b, 0x11, 0x88, 0, 0}, 1)
	if bytes.Equal(lc, he) {
		t.Fatal("AudioSpecificConfig not found")
	}
	// A frame has 1024 samples at 24 kHz, and so has the priming.
	const p = 1024. / 24000
	compareTrack(t, "audio", analyse(t, he).Audio, track{to: 3 + p, intervals: [][2]float64{{1 + p, 2 + p}}}, 2*audioFrame)
}
