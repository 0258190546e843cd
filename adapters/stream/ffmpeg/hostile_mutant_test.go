package ffmpeg_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// mutants are real segments of each kind with some bytes changed.
func mutants() map[string]func(t *testing.T) []byte {
	all := map[string]func(t *testing.T) []byte{}
	for name, s := range map[string]scene{
		"H.264 in MPEG-TS": {seconds: 1},
		"HEVC in MPEG-TS":  {seconds: 1, codec: []string{"-c:v", "libx265", "-x265-params", "log-level=none"}},
		"H.264 in MP4":     {seconds: 1, mux: fragmented},
		"VP9 in MP4":       {seconds: 1, codec: []string{"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-c:a", "libopus"}, mux: fragmented},
		"AV1 in MP4":       {seconds: 1, codec: []string{"-c:v", "libsvtav1", "-preset", "12"}, mux: fragmented},
		"AAC":              {seconds: 1, codec: []string{"-vn"}, mux: []string{"-f", "adts"}},
		"MP3":              {seconds: 1, codec: []string{"-vn", "-c:a", "libmp3lame"}, mux: []string{"-f", "mp3"}},
	} {
		for seed := range uint64(4) {
			all[fmt.Sprintf("%s, mutant %d", name, seed)] = func(t *testing.T) []byte {
				b, random := bytes.Clone(s.make(t)), rand.New(rand.NewPCG(seed, 9))
				reach := len(b)
				if seed%2 == 0 {
					reach = min(reach, 1500) // the headers
				}
				for range 3 << seed {
					b[random.IntN(reach)] = byte(random.Uint32())
				}
				return b
			}
		}
	}
	return all
}
