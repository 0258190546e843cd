package ffmpeg_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// Boxes that lie, and too many of them.
var hostileMP4 = map[string]func(t *testing.T) []byte{
	"fragments that say they have 4 billion samples": func(t *testing.T) []byte {
		return patched(t, moving(t), "trun", 4, 0xff, 0xff, 0xff, 0xff)
	},
	"fragments of 16 million samples without a table": func(t *testing.T) []byte {
		return patched(t, moving(t), "trun", 0, append([]byte{0, 0, 0, 1}, u32(16<<20, 0)...)...)
	},
	"samples of 2 GB": func(t *testing.T) []byte {
		return patched(t, patched(t, moving(t), "trun", 0, append([]byte{0, 0, 2, 1}, u32(4, 0, 0x7fffffff, 0x7fffffff)...)...), "tfhd", 0, 0, 0, 0, 0)
	},
	"a table of 4 billion sizes": func(t *testing.T) []byte { return patched(t, still(t), "stsz", 4, u32(0, 0xffffffff)...) },
	"50 million samples of one byte": func(t *testing.T) []byte {
		return patched(t, still(t), "stsz", 4, u32(1, 50_000_000)...)
	},
	"4 million samples of one byte": func(t *testing.T) []byte {
		return patched(t, patched(t, still(t), "stsz", 4, u32(1, 4_000_000)...), "stsc", 8, u32(1, 4_000_000, 1)...)
	},
	"a table of 4 billion times":   func(t *testing.T) []byte { return patched(t, still(t), "stts", 4, u32(0xffffffff)...) },
	"a time for 4 billion samples": func(t *testing.T) []byte { return patched(t, still(t), "stts", 8, u32(0xffffffff, 0)...) },
	"a table of 4 billion chunks":  func(t *testing.T) []byte { return patched(t, still(t), "stco", 4, u32(0xffffffff)...) },
	"4 million real entries of times": func(t *testing.T) []byte {
		table := append(u32(0, 4_000_000), bytes.Repeat(u32(1, 1), 4_000_000)...)
		return replacing(t, still(t), "stts", box("stts", table), "moov", "trak", "mdia", "minf", "stbl")
	},
	"7 million real entries of offsets": func(t *testing.T) []byte {
		table := append(u32(0, 7_000_000), bytes.Repeat(u32(1, 0x7fffffff), 7_000_000)...)
		stts := boxOf(t, still(t), "stts")
		return replacing(t, still(t), "stts", append(bytes.Clone(stts), box("ctts", table)...), "moov", "trak", "mdia", "minf", "stbl")
	},
	"a list of a million edits": func(t *testing.T) []byte {
		list := box("edts", box("elst", u32(0, 1_000_000), bytes.Repeat(u32(1, 0, 0x10000), 1_000_000)))
		return replacing(t, still(t), "edts", list, "moov", "trak")
	},
	"a list of edits that say they are 4 billion": func(t *testing.T) []byte {
		return patched(t, still(t), "elst", 4, 0xff, 0xff, 0xff, 0xff)
	},
	"five thousand tracks": func(t *testing.T) []byte {
		track := boxOf(t, still(t), "trak")
		return replacing(t, still(t), "trak", bytes.Repeat(track, 5000), "moov")
	},
	"boxes in boxes, a hundred thousand deep": func(t *testing.T) []byte {
		var open []byte
		for i := range uint32(100_000) {
			open = append(append(open, u32(8*(100_000-i))...), "moov"...)
		}
		return slices.Concat(box("ftyp", []byte("isom"), u32(0)), open)
	},
	"twenty thousand fragments": func(t *testing.T) []byte {
		m := moving(t)
		fragment := slices.Concat(boxOf(t, m, "moof"), box("mdat"))
		return slices.Concat(m, bytes.Repeat(fragment, 20_000))
	},
	"a header of 60 MB": func(t *testing.T) []byte {
		return slices.Concat(box("ftyp", []byte("isom"), u32(0)), box("moov", make([]byte, 60<<20)))
	},
	"text of 60 MB": func(t *testing.T) []byte {
		return slices.Concat(box("ftyp", []byte("isom"), u32(0)), box("moov", box("udta", box("\xa9nam", []byte{0xff, 0xff, 0, 0}, bytes.Repeat([]byte("a"), 60<<20)))))
	},
	"a compressed header of which 2 GB are promised": func(t *testing.T) []byte {
		return slices.Concat(box("ftyp", []byte("qt  "), u32(0)), box("moov", box("cmov", box("dcom", []byte("zlib")), box("cmvd", u32(0x7ffffff0), make([]byte, 1000)))))
	},
	"a header that ends at once, and then noise": func(t *testing.T) []byte {
		return slices.Concat(box("ftyp", []byte("isom"), u32(0)), box("moov"), noise(1<<20))
	},
	"noise in place of the samples": func(t *testing.T) []byte {
		m := moving(t)
		i := bytes.Index(m, []byte("mdat"))
		copy(m[i+4:], noise(len(m)-i-4))
		return m
	},
	"five hundred renewed headers": func(t *testing.T) []byte {
		return bytes.Repeat(moving(t), 500)
	},
}

// moving is a short fragmented MP4; still has its tables at the beginning.
func moving(t *testing.T) []byte {
	t.Helper()
	return bytes.Clone(scene{seconds: 1, mux: []string{"-movflags", "empty_moov+default_base_moof+frag_keyframe", "-f", "mp4"}}.make(t))
}

func still(t *testing.T) []byte {
	t.Helper()
	return scene{seconds: 1, codec: []string{"-an"}, mux: []string{"-movflags", "faststart", "-f", "mp4"}}.make(t)
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(b)
	return b
}
