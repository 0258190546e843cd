package ffmpeg_test

import (
	"bytes"
	"slices"
	"testing"
)

// Tables that announce too much.
var hostileTS = map[string]func(t *testing.T) []byte{
	"two hundred programs of two hundred tracks": func(t *testing.T) []byte {
		out := programs(0x20, 200, 0)
		for i := range 200 {
			out = append(out, tracks(0x20+i, i+1, 0x1b, 0x200+i*30, 200, 0)...)
		}
		return slices.Concat(out, scene{}.make(t))
	},
	"seven thousand tracks, each with packets": func(t *testing.T) []byte {
		out := programs(0x20, 40, 0)
		for i := range 40 {
			out = append(out, tracks(0x20+i, i+1, 0x0f, 0x100+i*190, 190, 0)...)
		}
		for range 5 {
			for p := 0x100; p < 0x1ff0; p++ {
				pes := []byte{0x47, 0x40 | byte(p>>8), byte(p), 0x10, 0, 0, 1, 0xc0, 0, 0, 0x80, 0x80, 5, 0x21, 0, 1, 0, 1}
				out = append(out, append(pes, noise(packetSize-len(pes))...)...)
			}
		}
		return out
	},
	"tables that change in every packet": func(t *testing.T) []byte {
		var out []byte
		for i := range 20_000 {
			out = append(append(out, programs(0x20+i%500, 1, i)...), tracks(0x20+i%500, 1, []byte{0x1b, 0x24, 0x0f, 0x03}[i%4], 0x100+i%4000, 100, i)...)
		}
		return slices.Concat(out, scene{}.make(t))
	},
	"a table over and over, without any media": func(t *testing.T) []byte {
		return bytes.Repeat(slices.Concat(programs(0x20, 1, 0), tracks(0x20, 1, 0x1b, 0x100, 2, 0)), 60_000)
	},
	"random packets on every track": func(t *testing.T) []byte {
		b := noise(20 << 20 / packetSize * packetSize)
		for i := 0; i < len(b); i += packetSize {
			b[i] = 0x47
			b[i+1] &= 0x7f
		}
		return slices.Concat(scene{}.make(t), b)
	},
	"random bits in sound and picture": func(t *testing.T) []byte {
		return spoilt(spoilt(scene{}.make(t), pidVideo), pidAudio)
	},
	"a sound that is announced and a picture that never comes": func(t *testing.T) []byte {
		return bytes.Repeat(without(scene{seconds: 20}.make(t), pidVideo), 30)
	},
}
