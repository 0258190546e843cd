package ffmpeg_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// hostileTS has tables that announce too much.
var hostileTS = map[string]func(t *testing.T) []byte{
	"two hundred programs of two hundred tracks": func(t *testing.T) []byte {
		out := programAssociationTable(0x20, 200, 0)
		for i := range 200 {
			out = append(out, programMapTable(0x20+i, i+1, 0x1b, 0x200+i*30, 200, 0)...)
		}
		return slices.Concat(out, scene{}.make(t))
	},
	"seven thousand tracks, each with packets": func(t *testing.T) []byte {
		out := programAssociationTable(0x20, 40, 0)
		for i := range 40 {
			out = append(out, programMapTable(0x20+i, i+1, 0x0f, 0x100+i*190, 190, 0)...)
		}
		for range 5 {
			for p := 0x100; p < 0x1ff0; p++ {
				pes := []byte{0x47, 0x40 | byte(p>>8), byte(p), 0x10, 0, 0, 1, 0xc0, 0, 0, 0x80, 0x80, 5, 0x21, 0, 1, 0, 1}
				out = append(out, append(pes, randomBytes(packetSize-len(pes))...)...)
			}
		}
		return out
	},
	"tables that change in every packet": func(t *testing.T) []byte {
		var out []byte
		for i := range 20_000 {
			out = append(append(out, programAssociationTable(0x20+i%500, 1, i)...), programMapTable(0x20+i%500, 1, []byte{0x1b, 0x24, 0x0f, 0x03}[i%4], 0x100+i%4000, 100, i)...)
		}
		return slices.Concat(out, scene{}.make(t))
	},
	"a table over and over, without any media": func(t *testing.T) []byte {
		return bytes.Repeat(slices.Concat(programAssociationTable(0x20, 1, 0), programMapTable(0x20, 1, 0x1b, 0x100, 2, 0)), 60_000)
	},
	"random packets on every track": func(t *testing.T) []byte {
		b := randomBytes(20 << 20 / packetSize * packetSize)
		for i := 0; i < len(b); i += packetSize {
			b[i] = 0x47
			b[i+1] &= 0x7f
		}
		return slices.Concat(scene{}.make(t), b)
	},
	"random bits in sound and picture": func(t *testing.T) []byte {
		return corruptTrack(corruptTrack(scene{}.make(t), pidVideo), pidAudio)
	},
	"a video track that is announced and never comes": func(t *testing.T) []byte {
		return bytes.Repeat(withoutTrack(scene{seconds: 20}.make(t), pidVideo), 30)
	},
}

// hostileTimes has wrong timestamps, or too many frames for their time.
var hostileTimes = map[string]func(t *testing.T) []byte{
	"thirty thousand pictures in a second": func(t *testing.T) []byte {
		return encode(t, "-f", "lavfi", "-i", "color=s=16x16:r=30000:d=1", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-movflags", "empty_moov+frag_keyframe", "-f", "mp4")
	},
	"fifty thousand pictures": func(t *testing.T) []byte {
		return encode(t, "-f", "lavfi", "-i", "color=s=16x16:r=90000:d=0.5", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-muxrate", "0", "-f", "mpegts")
	},
	"random timestamps": func(t *testing.T) []byte {
		random := rand.New(rand.NewPCG(5, 6))
		return changeTimestamps(t, scene{seconds: 5}.make(t), func(uint64) uint64 { return random.Uint64() })
	},
	"timestamps that run backwards": func(t *testing.T) []byte {
		return changeTimestamps(t, scene{seconds: 5}.make(t), func(at uint64) uint64 { return 1<<33 - at })
	},
	"timestamps that jump by a day": func(t *testing.T) []byte {
		n := uint64(0)
		return changeTimestamps(t, scene{seconds: 5}.make(t), func(at uint64) uint64 { n++; return at + n%2*24*3600*90000 })
	},
	"fragments at random times": func(t *testing.T) []byte {
		m := shortFragmentedMP4(t)
		var out []byte
		for i := range uint32(500) {
			out = append(out, patchBoxes(t, m, "tfdt", 0, append([]byte{1, 0, 0, 0}, u32(i*0x01234567, i*0x89abcdef)...)...)...)
		}
		return out
	},
}

// changeTimestamps changes the presentation timestamps of an MPEG-TS.
func changeTimestamps(t *testing.T, ts []byte, change func(uint64) uint64) []byte {
	t.Helper()
	ts = bytes.Clone(ts)
	found := false
	for _, p := range packets(ts) {
		from := 4
		if p[3]&0x20 != 0 {
			from += 1 + int(p[4])
		}
		if p[1]&0x40 == 0 || from+19 > len(p) || binary.BigEndian.Uint32(p[from:])>>8 != 1 || p[from+7]&0x80 == 0 {
			continue
		}
		b := p[from+9:]
		at := uint64(b[0]>>1&7)<<30 | uint64(b[1])<<22 | uint64(b[2]>>1)<<15 | uint64(b[3])<<7 | uint64(b[4]>>1)
		at = change(at)
		copy(b, []byte{b[0]&0xf0 | byte(at>>30&7)<<1 | 1, byte(at >> 22), byte(at>>15)<<1 | 1, byte(at >> 7), byte(at)<<1 | 1})
		found = true
	}
	if !found {
		t.Fatal("no timestamps")
	}
	return ts
}
