package ffmpeg_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// Time that makes no sense, and too many frames in too little of it.
var hostileTimes = map[string]func(t *testing.T) []byte{
	"thirty thousand pictures in a second": func(t *testing.T) []byte {
		return encode(t, "-f", "lavfi", "-i", "color=s=16x16:r=30000:d=1", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-movflags", "empty_moov+frag_keyframe", "-f", "mp4")
	},
	"fifty thousand pictures": func(t *testing.T) []byte {
		return encode(t, "-f", "lavfi", "-i", "color=s=16x16:r=90000:d=0.5", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-muxrate", "0", "-f", "mpegts")
	},
	"random timestamps": func(t *testing.T) []byte {
		random := rand.New(rand.NewPCG(5, 6))
		return restamped(t, scene{seconds: 5}.make(t), func(uint64) uint64 { return random.Uint64() })
	},
	"timestamps that run backwards": func(t *testing.T) []byte {
		return restamped(t, scene{seconds: 5}.make(t), func(at uint64) uint64 { return 1<<33 - at })
	},
	"timestamps that jump by a day": func(t *testing.T) []byte {
		n := uint64(0)
		return restamped(t, scene{seconds: 5}.make(t), func(at uint64) uint64 { n++; return at + n%2*24*3600*90000 })
	},
	"fragments of all times": func(t *testing.T) []byte {
		m := moving(t)
		var out []byte
		for i := range uint32(500) {
			out = append(out, patched(t, m, "tfdt", 0, append([]byte{1, 0, 0, 0}, u32(i*0x01234567, i*0x89abcdef)...)...)...)
		}
		return out
	},
}

// restamped changes the timestamps of an MPEG-TS.
func restamped(t *testing.T, ts []byte, change func(uint64) uint64) []byte {
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
