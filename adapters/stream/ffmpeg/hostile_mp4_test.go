package ffmpeg_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// hostileMP4 has boxes with false counts and sizes, or too many boxes.
var hostileMP4 = map[string]func(t *testing.T) []byte{
	"fragments that say they have 4 billion samples": func(t *testing.T) []byte {
		return patchBoxes(t, shortFragmentedMP4(t), "trun", 4, 0xff, 0xff, 0xff, 0xff)
	},
	"fragments of 16 million samples without a table": func(t *testing.T) []byte {
		return patchBoxes(t, shortFragmentedMP4(t), "trun", 0, append([]byte{0, 0, 0, 1}, u32(16<<20, 0)...)...)
	},
	"samples of 2 GB": func(t *testing.T) []byte {
		return patchBoxes(t, patchBoxes(t, shortFragmentedMP4(t), "trun", 0, append([]byte{0, 0, 2, 1}, u32(4, 0, 0x7fffffff, 0x7fffffff)...)...), "tfhd", 0, 0, 0, 0, 0)
	},
	"a table of 4 billion sizes": func(t *testing.T) []byte { return patchBoxes(t, shortMP4(t), "stsz", 4, u32(0, 0xffffffff)...) },
	"50 million samples of one byte": func(t *testing.T) []byte {
		return patchBoxes(t, shortMP4(t), "stsz", 4, u32(1, 50_000_000)...)
	},
	"4 million samples of one byte": func(t *testing.T) []byte {
		return patchBoxes(t, patchBoxes(t, shortMP4(t), "stsz", 4, u32(1, 4_000_000)...), "stsc", 8, u32(1, 4_000_000, 1)...)
	},
	"a table of 4 billion times":   func(t *testing.T) []byte { return patchBoxes(t, shortMP4(t), "stts", 4, u32(0xffffffff)...) },
	"a time for 4 billion samples": func(t *testing.T) []byte { return patchBoxes(t, shortMP4(t), "stts", 8, u32(0xffffffff, 0)...) },
	"a table of 4 billion chunks":  func(t *testing.T) []byte { return patchBoxes(t, shortMP4(t), "stco", 4, u32(0xffffffff)...) },
	"4 million real entries of times": func(t *testing.T) []byte {
		table := append(u32(0, 4_000_000), bytes.Repeat(u32(1, 1), 4_000_000)...)
		return replaceBox(t, shortMP4(t), "stts", mp4Box("stts", table), "moov", "trak", "mdia", "minf", "stbl")
	},
	"7 million real entries of offsets": func(t *testing.T) []byte {
		table := append(u32(0, 7_000_000), bytes.Repeat(u32(1, 0x7fffffff), 7_000_000)...)
		stts := findBox(t, shortMP4(t), "stts")
		return replaceBox(t, shortMP4(t), "stts", append(bytes.Clone(stts), mp4Box("ctts", table)...), "moov", "trak", "mdia", "minf", "stbl")
	},
	"a list of a million edits": func(t *testing.T) []byte {
		list := mp4Box("edts", mp4Box("elst", u32(0, 1_000_000), bytes.Repeat(u32(1, 0, 0x10000), 1_000_000)))
		return replaceBox(t, shortMP4(t), "edts", list, "moov", "trak")
	},
	"a list of edits that say they are 4 billion": func(t *testing.T) []byte {
		return patchBoxes(t, shortMP4(t), "elst", 4, 0xff, 0xff, 0xff, 0xff)
	},
	"five thousand tracks": func(t *testing.T) []byte {
		track := findBox(t, shortMP4(t), "trak")
		return replaceBox(t, shortMP4(t), "trak", bytes.Repeat(track, 5000), "moov")
	},
	"boxes in boxes, a hundred thousand deep": func(t *testing.T) []byte {
		var open []byte
		for i := range uint32(100_000) {
			open = append(append(open, u32(8*(100_000-i))...), "moov"...)
		}
		return slices.Concat(mp4Box("ftyp", []byte("isom"), u32(0)), open)
	},
	"twenty thousand fragments": func(t *testing.T) []byte {
		m := shortFragmentedMP4(t)
		fragment := slices.Concat(findBox(t, m, "moof"), mp4Box("mdat"))
		return slices.Concat(m, bytes.Repeat(fragment, 20_000))
	},
	"a header of 60 MB": func(t *testing.T) []byte {
		return slices.Concat(mp4Box("ftyp", []byte("isom"), u32(0)), mp4Box("moov", make([]byte, 60<<20)))
	},
	"text of 60 MB": func(t *testing.T) []byte {
		return slices.Concat(mp4Box("ftyp", []byte("isom"), u32(0)), mp4Box("moov", mp4Box("udta", mp4Box("\xa9nam", []byte{0xff, 0xff, 0, 0}, bytes.Repeat([]byte("a"), 60<<20)))))
	},
	"a compressed header that announces 2 GB": func(t *testing.T) []byte {
		return slices.Concat(mp4Box("ftyp", []byte("qt  "), u32(0)), mp4Box("moov", mp4Box("cmov", mp4Box("dcom", []byte("zlib")), mp4Box("cmvd", u32(0x7ffffff0), make([]byte, 1000)))))
	},
	"a header that ends at once, and then noise": func(t *testing.T) []byte {
		return slices.Concat(mp4Box("ftyp", []byte("isom"), u32(0)), mp4Box("moov"), randomBytes(1<<20))
	},
	"noise in place of the samples": func(t *testing.T) []byte {
		m := shortFragmentedMP4(t)
		i := bytes.Index(m, []byte("mdat"))
		copy(m[i+4:], randomBytes(len(m)-i-4))
		return m
	},
	"five hundred renewed headers": func(t *testing.T) []byte {
		return bytes.Repeat(shortFragmentedMP4(t), 500)
	},
}

// shortFragmentedMP4 returns one second in fragments.
func shortFragmentedMP4(t *testing.T) []byte {
	t.Helper()
	return bytes.Clone(scene{seconds: 1, mux: []string{"-movflags", "empty_moov+default_base_moof+frag_keyframe", "-f", "mp4"}}.make(t))
}

// shortMP4 returns one second of video with all tables at the beginning.
func shortMP4(t *testing.T) []byte {
	t.Helper()
	return scene{seconds: 1, codec: []string{"-an"}, mux: []string{"-movflags", "faststart", "-f", "mp4"}}.make(t)
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(b)
	return b
}
